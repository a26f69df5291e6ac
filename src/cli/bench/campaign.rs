//! The measurements of a benchmark, one after the other.

use super::clock::Estimate;
use super::contender::Contender;
use super::control::Control;
use super::lab::Lab;
use super::log::Log;
use super::measure::Bench;
use super::mpi::Mpi;
use super::order::Order;
use super::plan::{Plan, Series};
use super::validate;
use crate::launch::decide::{blame, collect};
use crate::message::{decode, encode};
use crate::progress::Progress;
use crate::results::{Point, Test};
use verbcast::bootstrap::{Bootstrap, Environment, Star};
use verbcast::broadcast::{Config, Endpoint};
use verbcast_core::rank::Rank;

/// A contender and its name.
struct Entry<'a> {
    name: String,
    contender: Box<dyn Contender + 'a>,
}

/// What came of all measurements.
#[derive(Default)]
pub struct Findings {
    /// At rank 0.
    pub points: Vec<Point>,
    /// Algorithms that could not be used, each with the number of ranks and why.
    pub left_out: Vec<String>,
}

/// All measurements of a benchmark, as one rank takes part in them.
pub struct Campaign<'a> {
    pub plan: &'a Plan,
    pub config: &'a Config,
    pub environment: &'a Environment,
    pub endpoint: &'a Endpoint,
    pub mpi: &'a Mpi,
    pub control: &'a mut Control,
    pub progress: &'a Progress,
}

impl Campaign<'_> {
    /// Measures everything. `star` joins all ranks. Collective.
    pub fn run(&mut self, star: &mut Star) -> Result<Findings, String> {
        let size = star.size();
        let mut findings = Findings::default();
        for &ranks in &self.plan.counts {
            if star.rank().0 < ranks {
                match ranks == size {
                    true => self.measure_among(star, &mut findings)?,
                    false => self.measure_among(&mut self.join_first(ranks)?, &mut findings)?,
                }
            }
            // The others wait here, for as long as it takes.
            self.control.barrier(size, &mut || Ok(()))?;
        }
        Ok(findings)
    }

    /// Brings the first ranks of the job together.
    fn join_first(&self, ranks: u32) -> Result<Star, String> {
        let token = format!("{} {ranks}", self.environment.token);
        let environment = Environment { size: ranks, token, ..self.environment.clone() };
        Star::join(&environment, self.config.device.timeout).map_err(|error| error.to_string())
    }

    fn measure_among(&mut self, star: &mut Star, findings: &mut Findings) -> Result<(), String> {
        let mut entries = Vec::new();
        for algorithm in &self.plan.algorithms {
            // Whether it can be used, all ranks have voted on.
            match algorithm.open(star, self.endpoint, self.config, self.mpi) {
                Ok(contender) => {
                    entries.push(Entry { name: algorithm.to_string(), contender });
                }
                Err(what) if self.plan.leaves_out => {
                    findings.left_out.push(format!("{} ranks: {what}", star.size()));
                }
                Err(what) => return Err(what),
            }
        }
        let outcome = self.measure(star, &mut entries);
        for Entry { mut contender, .. } in entries {
            match &outcome {
                Ok(_) => contender.close()?,
                Err(what) => contender.abort(what),
            }
        }
        findings.points.extend(outcome?);
        Ok(())
    }

    fn measure(
        &mut self,
        star: &mut Star,
        entries: &mut [Entry<'_>],
    ) -> Result<Vec<Point>, String> {
        let plan = self.plan;
        let mut lab = Lab {
            control: &mut *self.control,
            ranks: star.size(),
            root: plan.root,
            seed: plan.seed,
            clock: Estimate::default(),
        };
        // Makes the connections of barriers while no rank is in a call of somebody else's.
        lab.control.barrier(lab.ranks, &mut || Ok(()))?;
        let mut points = Vec::new();
        let mut order = Order::new(plan.seed);
        for &size in &plan.sizes {
            if plan.validate {
                for Entry { name, contender } in &mut *entries {
                    let valid = validate::validate(&mut lab, contender.as_mut(), size);
                    valid.map_err(|what| format!("{what} ({name})"))?;
                }
            }
            for &series in &plan.series {
                let run = Run { plan, series, size, progress: self.progress };
                points.extend(run.run(&mut lab, star, entries, &mut order)?);
            }
        }
        Ok(points)
    }
}

/// One series at one size: all contenders, slice by slice in turns whose order is drawn.
struct Run<'a> {
    plan: &'a Plan,
    series: Series,
    size: u64,
    progress: &'a Progress,
}

impl Run<'_> {
    fn run(
        &self,
        lab: &mut Lab<'_>,
        star: &mut Star,
        entries: &mut [Entry<'_>],
        order: &mut Order,
    ) -> Result<Vec<Point>, String> {
        let len = usize::try_from(self.size).map_err(|_| "a message is too long".to_owned())?;
        let mut logs: Vec<Log> = entries.iter().map(|_| Log::default()).collect();
        let mut messages: Vec<_> =
            entries.iter_mut().map(|entry| entry.contender.buffer(len)).collect();
        let mut clocks = Vec::new();
        let needs_clock = self.series.0.needs_clock();
        if needs_clock {
            lab.synchronise()?;
        }
        for (entry, message) in entries.iter_mut().zip(&mut messages) {
            validate::prepare(lab, entry.contender.as_mut(), message)?;
            let (contender, log) = (entry.contender.as_mut(), &mut Log::default());
            let mut bench = Bench { lab: &mut *lab, contender, message, log };
            bench.measure(self.series, 0..self.plan.warm_up(self.size))?;
        }
        for slice in self.plan.slices(self.size) {
            if needs_clock {
                clocks.extend(lab.synchronise()?);
            }
            for at in order.draw(entries.len()) {
                let (contender, log) = (entries[at].contender.as_mut(), &mut logs[at]);
                let mut bench =
                    Bench { lab: &mut *lab, contender, message: &mut messages[at], log };
                bench.measure(self.series, slice.clone())?;
                self.progress.advance();
            }
        }
        for ((entry, message), log) in entries.iter_mut().zip(&mut messages).zip(&logs) {
            if self.plan.validate && log.lost_messages == 0 {
                let checked = validate::check(lab, entry.contender.as_mut(), message);
                checked.map_err(|what| format!("{what} ({}, after the run)", entry.name))?;
            }
        }
        let mut points = Vec::new();
        for (entry, log) in entries.iter().zip(logs) {
            let log = encode(&log).map_err(|error| blame(lab.me(), error));
            let all = collect(star, log)?;
            if lab.me() != Rank(0) {
                continue;
            }
            let all: Result<Vec<Log>, _> = all.iter().map(|blob| decode(blob)).collect();
            let all = all.map_err(|why| format!("a rank's log cannot be read: it {why}"))?;
            let (test, skew) = self.series;
            let (algorithm, ranks) = (entry.name.clone(), lab.ranks);
            let mut point = Point { algorithm, ranks, size: self.size, skew, ..Point::new(test) };
            if test == Test::Clock {
                point.clock_error = clocks.iter().map(|one| one.error).max();
                point.clocks.clone_from(&clocks);
            }
            points.push(Log::merge(&all, point));
        }
        Ok(points)
    }
}
