//! The calls of a simulated program, and their ends.

use super::Cluster;
use crate::checkers;
use crate::outcome::Violation;
use crate::plan::Plan;
use crate::short;
use rand_chacha::rand_core::Rng;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;

impl Cluster<'_> {
    /// Draws when a rank calls its next broadcast.
    pub(super) fn plan_call(&mut self, rank: Rank) {
        let Plan { interval, skew, late, .. } = self.plan;
        let drawn = if *skew > 0 { self.draw.next_u64() % (skew + 1) } else { 0 };
        let late = late.iter().find(|(other, _)| *other == rank).map_or(0, |(_, nanos)| *nanos);
        let cpu = self.network.borrow_mut().port(rank).cpu;
        let member = &mut self.members[rank.index()];
        member.calls_at = cpu.max(member.next as u64 * interval + late) + drawn;
    }

    /// Calls the broadcasts whose time has come.
    pub(super) fn call(&mut self, rank: Rank, at: u64) -> Result<(), Violation> {
        loop {
            let member = &mut self.members[rank.index()];
            if !member.is_to_call(at, self.plan) {
                return Ok(());
            }
            let step = member.next;
            let root = self.plan.steps[step].root;
            let mistaken = self.plan.mistaken.filter(|(who, at, _)| (*who, *at) == (rank, step));
            let len = mistaken.map_or(self.plan.steps[step].len, |(.., len)| len);
            let mut message = match root == rank {
                true => self.plan.message(step),
                false => self.spare.take(step, len),
            };
            if self.call_short(rank, at, (step, root), &mut message)? {
                self.spare.give_back(step, message);
                continue;
            }
            if self.members[rank.index()].failure.is_some() {
                return Ok(());
            }
            let member = &mut self.members[rank.index()];
            let started = member.driver.start_owned(Instant::from_nanos(at), root, message);
            let op = started.map_err(|error| Violation(format!("{rank}: {error}")))?;
            member.flying.push_back((step, op));
            member.next += 1;
            self.calls[step][rank.index()].began = at;
            self.plan_call(rank);
        }
    }

    /// Ends a broadcast of `root` as soon as it is called, if its message is there and it is short; whether it did.
    fn call_short(
        &mut self,
        rank: Rank,
        at: u64,
        (step, root): (usize, Rank),
        message: &mut [u8],
    ) -> Result<bool, Violation> {
        let member = &mut self.members[rank.index()];
        let now = Instant::from_nanos(at);
        if !member.flying.is_empty() {
            return Ok(false);
        }
        match short::call(&mut member.driver, now, (root, root == rank), message) {
            Ok(None) => return Ok(false),
            Ok(Some(_)) => {}
            Err(failure) => {
                self.fail(rank, failure);
                return Ok(false);
            }
        }
        member.next += 1;
        self.calls[step][rank.index()].began = at;
        self.plan_call(rank);
        let cpu = self.network.borrow_mut().port(rank).cpu;
        self.note_end(rank, step, message, cpu)?;
        Ok(true)
    }

    /// Takes the broadcasts that have ended; whether there were any.
    pub(super) fn end(&mut self, rank: Rank) -> Result<bool, Violation> {
        let mut any = false;
        let cpu = self.network.borrow_mut().port(rank).cpu;
        while let Some((step, op)) = self.members[rank.index()].flying.front().copied() {
            let member = &mut self.members[rank.index()];
            if !member.driver.take_complete(op) {
                break;
            }
            any = true;
            member.flying.pop_front();
            let bytes = member.driver.take_message(op).unwrap_or_default();
            self.note_end(rank, step, &bytes, cpu)?;
            self.spare.give_back(step, bytes);
        }
        Ok(any)
    }

    /// A broadcast has ended at a rank, with these bytes.
    fn note_end(
        &mut self,
        rank: Rank,
        step: usize,
        bytes: &[u8],
        cpu: u64,
    ) -> Result<(), Violation> {
        let member = &mut self.members[rank.index()];
        checkers::in_order(rank, member.ended, step)?;
        member.ended += 1;
        checkers::same_bytes(self.plan, rank, step, bytes)?;
        self.calls[step][rank.index()].ended = cpu.max(1);
        (self.observe)(rank, step);
        let elsewhere = self.plan.computing.iter();
        for computing in elsewhere.filter(|one| one.rank == rank && one.after == step) {
            member.computes_until = cpu + computing.nanos;
        }
        if member.is_done(self.plan.steps.len()) {
            self.done += 1;
            self.network.borrow_mut().port(rank).sleeps = self.plan.leaves;
        } else if self.plan.at_once == 1 {
            self.plan_call(rank);
        }
        Ok(())
    }
}
