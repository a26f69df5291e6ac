//! Jobs that share the links of a fabric, or a single one with a wire of its own.

use super::checkers;
use super::cluster::Cluster;
use super::faults::Faults;
use super::outcome::{Outcome, Violation};
use super::wire::{Fabric, OnLinks, Traffic, Wire};
use std::cell::RefCell;
use std::rc::Rc;
use verbcast_core::rank::Rank;

/// Clusters whose events happen in one order of time.
pub(super) struct Jobs<'a> {
    clusters: Vec<Cluster<'a>>,
    wire: Option<Rc<RefCell<Wire>>>,
}

impl<'a> Jobs<'a> {
    /// One job, whose packets take plain latencies.
    pub fn one(cluster: Cluster<'a>) -> Self {
        Jobs { clusters: vec![cluster], wire: None }
    }

    /// Jobs on a fabric, which has a place for each rank.
    pub fn on(fabric: Fabric, mut clusters: Vec<Cluster<'a>>) -> Result<Self, Violation> {
        let places = fabric.hosts.iter().map(Vec::len);
        if !places.eq(clusters.iter().map(|cluster| cluster.plan.size as usize)) {
            return Err(Violation("the fabric has not a host for each rank".to_owned()));
        }
        let wire = Rc::new(RefCell::new(Wire::new(fabric)?));
        for (job, cluster) in clusters.iter_mut().enumerate() {
            let links = OnLinks { wire: Rc::clone(&wire), job };
            cluster.network.borrow_mut().links = Some(links);
        }
        Ok(Jobs { clusters, wire: Some(wire) })
    }

    /// Runs until every rank has ended every broadcast, then until nothing is owed.
    pub fn run(mut self) -> Result<(Vec<Outcome>, Traffic), Violation> {
        self.run_until("a broadcast is open", |cluster| cluster.done >= cluster.expected())?;
        for cluster in &mut self.clusters {
            checkers::all_ended(cluster.plan, &cluster.outcome())?;
            if !cluster.plan.fails() {
                let mut network = cluster.network.borrow_mut();
                network.faults = Faults::default();
                for rank in (0..cluster.plan.size).map(Rank) {
                    network.port(rank).sleeps = false;
                    network.wake(rank);
                }
            }
        }
        self.run_until("something is owed", |cluster| cluster.plan.fails() || cluster.is_quiet())?;
        for cluster in &self.clusters {
            for (rank, member) in (0..).map(Rank).zip(&cluster.members) {
                let (out, kept) = (member.driver.transport().most_out(), member.driver.most_kept());
                checkers::bounded(cluster.plan, rank, out, kept)?;
            }
        }
        let traffic = self.wire.as_ref().map(|wire| wire.borrow().traffic()).unwrap_or_default();
        Ok((self.clusters.iter().map(Cluster::outcome).collect(), traffic))
    }

    fn run_until(
        &mut self,
        what: &str,
        mut ends: impl FnMut(&Cluster<'a>) -> bool,
    ) -> Result<(), Violation> {
        let ranks: u32 = self.clusters.iter().map(|cluster| cluster.plan.size).sum();
        // Looking at all ranks after each event would take most of the time.
        let mut look_in = 0_u32;
        loop {
            if look_in == 0 {
                if self.clusters.iter().all(&mut ends) {
                    return Ok(());
                }
                look_in = ranks / 4;
            } else {
                look_in -= 1;
            }
            if !self.step(what)? {
                return match self.clusters.iter().find(|cluster| !ends(cluster)) {
                    None => Ok(()),
                    Some(open) => Err(open.stuck(what, "nothing happens any more")),
                };
            }
        }
    }

    /// Lets the next event happen, on the links first; whether there was any.
    fn step(&mut self, what: &str) -> Result<bool, Violation> {
        if let ([cluster], None) = (&mut self.clusters[..], &self.wire) {
            return cluster.step(what);
        }
        let times = self.clusters.iter().enumerate();
        let times = times.filter_map(|(job, cluster)| Some((cluster.next_at()?, job)));
        let next = times.min();
        if let Some(wire) = &self.wire {
            let (at, is_stuck) = {
                let links = &wire.borrow().links;
                (links.next_at(), links.next_at().is_none() && links.on_the_way() > 0)
            };
            if is_stuck || at.is_some_and(|at| next.is_none_or(|(other, _)| at <= other)) {
                wire.borrow_mut().step()?;
                let now = wire.borrow().links.now();
                loop {
                    let happened = wire.borrow_mut().happened();
                    let Some((job, event)) = happened else { return Ok(true) };
                    self.clusters[job].happen(now, event)?;
                }
            }
        }
        let Some((_, job)) = next else { return Ok(false) };
        self.clusters[job].step(what)
    }
}
