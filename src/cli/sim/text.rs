//! The report as a table.

use super::fabric::LinksReport;
use super::report::{Compared, Report, Run, Simulated};
use super::totals::Totals;
use crate::units::{bytes, time};
use std::fmt::{self, Display, Formatter};
use verbcast_core::driver::Statistics;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.simulated, self.latency)?;
        self.throughput(f)?;
        self.penalty_rounds(f)?;
        self.model(f)?;
        write!(f, "\n{}\n", self.totals)?;
        if let Some(links) = &self.links {
            writeln!(f, "{links}")?;
        }
        write!(f, "{}", self.run)
    }
}

/// A name and what there is to say.
fn line(f: &mut Formatter<'_>, name: &str, value: impl Display) -> fmt::Result {
    writeln!(f, "{name:<22}{value}")
}

/// A name, a simulated value, the model's, and the ratio.
fn row(f: &mut Formatter<'_>, name: &str, columns: [&str; 3]) -> fmt::Result {
    let [simulated, model, ratio] = columns;
    let text = format!("{name:<22}{simulated:>14}{model:>14}{ratio:>9}");
    writeln!(f, "{}", text.trim_end())
}

impl Report {
    fn throughput(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(throughput) = &self.throughput else { return Ok(()) };
        let rate = |rate: Option<f64>, none: &str| {
            rate.map_or(none.to_owned(), |rate| format!("{rate:.0} /s"))
        };
        let simulated = rate(throughput.simulated_per_second, "-");
        let model = rate(throughput.model_per_second, "no model");
        let ratio = throughput.ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"));
        row(f, "throughput", [&simulated, &model, &ratio])?;
        for assumption in &throughput.model_assumes {
            writeln!(f, "  the model assumes: {assumption}")?;
        }
        if throughput.simulated_per_second.is_none() && self.simulated.operations > 1 {
            writeln!(f, "  to simulate throughput: --interval 0")?;
        }
        Ok(())
    }

    fn penalty_rounds(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(rounds) = &self.penalty_rounds else { return Ok(()) };
        let simulated = rounds.simulated.map_or("-".to_owned(), |rounds| format!("{rounds:.4}"));
        let ratio = rounds.simulated.map(|simulated| simulated / rounds.model);
        let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"));
        row(f, "penalty rounds", [&simulated, &format!("{:.4}", rounds.model), &ratio])
    }

    fn model(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(model) = &self.model else { return Ok(()) };
        writeln!(f, "\nThe model for {} ranks:", self.simulated.ranks)?;
        line(f, "  binomial", time(model.binomial_ns as f64))?;
        line(f, "  single root", time(model.single_root_ns as f64))?;
        line(f, "  optimal co-roots", model.optimal_co_roots)?;
        line(f, "  with these", time(model.co_roots_ns as f64))
    }
}

impl Display for Simulated {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        line(f, "ranks", self.ranks)?;
        let chosen = match self.algorithm == self.protocol {
            true => String::new(),
            false => format!(" ({})", self.protocol),
        };
        line(f, "algorithm", format!("{}{chosen}", self.algorithm))?;
        if let Some(groups) = self.groups.filter(|groups| *groups > 1) {
            line(f, "co-roots", groups)?;
        }
        for (name, value) in &self.options {
            line(f, &format!("option {name}"), value)?;
        }
        let Simulated { size_bytes, fragments, fragment_bytes, .. } = self;
        let each = format!("fragments of up to {fragment_bytes}: {fragments}");
        line(f, "size", format!("{size_bytes} bytes, {each}"))?;
        let apart = match self.interval_ns {
            0 => "back to back".to_owned(),
            interval => format!("one every {}", time(interval as f64)),
        };
        line(f, "operations", format!("{}, {apart}, root {}", self.operations, self.root))?;
        line(f, "loss", self.loss_share)?;
        if self.burst_begins_share > 0.0 {
            let (begins, ends) = (self.burst_begins_share, self.burst_ends_share);
            line(f, "bursts", format!("begin with {begins}, end with {ends}"))?;
        }
        if self.duplicate_share > 0.0 {
            line(f, "duplicated", self.duplicate_share)?;
        }
        if self.delay_share > 0.0 {
            let longest = time(self.longest_delay_ns as f64);
            line(f, "delayed", format!("{}, up to {longest}", self.delay_share))?;
        }
        line(f, "skew", time(self.skew_ns as f64))?;
        line(f, "seed", self.seed)
    }
}

impl Display for Compared {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Compared { simulated, expected } = self;
        let (mut model, mut ratio) = ("no model".to_owned(), String::new());
        if let (Some(nanos), Some(to_model)) = (expected.model_ns, expected.ratio) {
            (model, ratio) = (time(nanos as f64), format!("{to_model:.3}"));
        }
        row(f, "", ["simulated", "model", "ratio"])?;
        row(f, "latency, mean", [&time(simulated.mean_ns), &model, &ratio])?;
        row(f, "latency, p50", [&time(simulated.p50_ns as f64), "", ""])?;
        row(f, "latency, p99", [&time(simulated.p99_ns as f64), "", ""])?;
        row(f, "latency, max", [&time(simulated.max_ns as f64), "", ""])?;
        if let Some(why) = expected.no_model {
            writeln!(f, "  no model: {why}")?;
        }
        for assumption in &expected.model_assumes {
            writeln!(f, "  the model assumes: {assumption}")?;
        }
        if simulated.overlapping {
            writeln!(f, "  broadcasts overlap, and latencies hold their waits for one another")?;
        }
        Ok(())
    }
}

impl Display for Totals {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Totals { ranks, receive_queue_overflowed } = self;
        writeln!(f, "Over all ranks:")?;
        let Statistics { multicast_sent, multicast_received, lost, repaired, .. } = ranks;
        line(f, "  datagrams", format!("{multicast_sent} sent, {multicast_received} received"))?;
        line(f, "  repairs", format!("{repaired} fragments that came first another way"))?;
        line(f, "  lost", format!("{lost} fragments whose datagram had not come at the end"))?;
        line(f, "  acknowledgements", format!("{} written", ranks.reports_written))?;
        line(f, "  reliable messages", format!("{} sent", ranks.reliable_sent))?;
        let Statistics { redundant, duplicates, late, .. } = ranks;
        let more = format!("{redundant} by design, {duplicates} others, {late} late datagrams");
        line(f, "  second copies", more)?;
        let Statistics { fetches, fetched, missed, overflowed, .. } = ranks;
        line(f, "  fetches", format!("{fetches}, {fetched} found, {missed} missed"))?;
        let no_receive = format!("{receive_queue_overflowed} datagrams without a receive");
        line(f, "  overflow", format!("{no_receive}, {overflowed} too early to keep"))
    }
}

impl Display for LinksReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let LinksReport { fabric, busiest_from, busiest_port, .. } = self;
        writeln!(f, "The links:")?;
        line(f, "  fabric", format!("{}, {} switches", fabric.fabric, fabric.switches))?;
        line(f, "  tables", format!("{}, {}", fabric.routing, fabric.scheme))?;
        line(f, "  jobs", fabric.jobs)?;
        let busiest = time(self.busiest_ns as f64);
        line(f, "  busiest link", format!("{busiest} from {busiest_from} port {busiest_port}"))?;
        let (into, out) = (time(self.into_root_ns as f64), time(self.out_of_root_ns as f64));
        line(f, "  the root's", format!("{into} in, {out} out"))?;
        let Some(lifetime) = fabric.lifetime_ns else { return Ok(()) };
        let (dropped, resent) = (self.dropped, self.resent);
        let what = format!("{dropped} multicasts, and {resent} packets that were sent again");
        line(f, "  dropped", format!("{what}, after {}", time(lifetime as f64)))
    }
}

impl Display for Run {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "The run:")?;
        line(f, "  events", self.events)?;
        line(f, "  simulated time", time(self.simulated_ns as f64))?;
        line(f, "  wall time", time(self.wall_seconds * 1e9))?;
        line(f, "  events per second", format!("{:.0}", self.events_per_second))?;
        let memory = self.peak_memory_bytes.map_or("unknown".to_owned(), bytes);
        line(f, "  peak memory", memory)?;
        line(f, "  trace", &self.trace)
    }
}
