//! What figures say: each curve beside that of the proposed scheme.

use super::acks::{Acks, Shown};
use super::args::FiguresArgs;
use super::catalogue::Means;
use super::speedup::Speedup;
use super::sweep::{Figure, Numbers};
use crate::fabric::link_args::LinkReport;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Serialize)]
pub struct Summary {
    pub links: LinkReport,
    pub groups: String,
    pub order: String,
    pub unicast: String,
    /// Bytes of a packet; none where a message is one.
    pub packet_bytes: Option<u64>,
    pub draws: u32,
    pub seed: u64,
    pub figures: Vec<Compared>,
    pub run: Run,
}

/// A figure's curves.
#[derive(Debug, Serialize)]
pub struct Compared {
    pub file: String,
    pub title: String,
    pub curves: Vec<Times>,
}

/// How many times as long a curve takes as the proposed scheme by service level, at the smallest and the
/// largest size, and at least and at most over all. In figure 17: how many times as long OpenSM takes, over
/// shares of members. For acknowledgements: as multiples of the times with co-roots, over numbers of ranks.
#[derive(Debug, Serialize)]
pub struct Times {
    pub name: String,
    pub first: Option<f64>,
    pub last: Option<f64>,
    pub least: Option<f64>,
    pub most: Option<f64>,
    /// Points without a time, as packets came to a standstill.
    pub stuck: usize,
}

/// The run itself.
#[derive(Debug, Default, Serialize)]
pub struct Run {
    pub events: u64,
    pub wall_seconds: f64,
    pub million_events_per_second: f64,
}

impl Times {
    fn of(name: &str, ratios: &[Option<f64>]) -> Times {
        let known = || ratios.iter().flatten().copied();
        Times {
            name: name.to_owned(),
            first: ratios.first().copied().flatten(),
            last: ratios.last().copied().flatten(),
            least: known().reduce(f64::min),
            most: known().reduce(f64::max),
            stuck: ratios.len() - known().count(),
        }
    }
}

/// The value's name on the command line.
fn name(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

impl Summary {
    pub fn new(args: &FiguresArgs) -> Summary {
        Summary {
            links: args.links.report(),
            groups: name(&args.groups),
            order: name(&args.order),
            unicast: name(&args.unicast),
            packet_bytes: args.packet,
            draws: args.draws,
            seed: args.seed,
            figures: Vec::new(),
            run: Run::default(),
        }
    }

    pub fn add(&mut self, file: &str, figure: &Figure) {
        let base = figure.curves.iter().find(|curve| curve.means == Means::Proposed);
        let times = |curve: &Numbers| {
            let base = base.map_or(&[][..], |base| &base.points);
            let ratios = curve
                .points
                .iter()
                .zip(base)
                .map(|(point, base)| Some(point.makespan_ns? / base.makespan_ns?));
            Times::of(&curve.name, &ratios.collect::<Vec<_>>())
        };
        self.figures.push(Compared {
            file: file.to_owned(),
            title: figure.title.clone(),
            curves: figure.curves.iter().map(times).collect(),
        });
        let points = figure.curves.iter().flat_map(|curve| &curve.points);
        self.run.events += points.map(|point| point.events).sum::<u64>();
    }

    pub fn add_speedup(&mut self, file: &str, figure: &Speedup) {
        let curves = figure.curves.iter().map(|curve| {
            let ratios: Vec<_> = curve.points.iter().map(|point| point.speedup).collect();
            Times::of(&format!("from {}", curve.sources), &ratios)
        });
        self.figures.push(Compared {
            file: file.to_owned(),
            title: figure.title.clone(),
            curves: curves.collect(),
        });
        self.run.events += figure.events();
    }

    pub fn add_acks(&mut self, file: &str, acks: &Acks, shown: &Shown) {
        let of = shown.of;
        let base = acks.curves.iter().find(|curve| curve.algorithm == "co-root");
        let base = base.map_or(&[][..], |curve| &curve.points);
        let curves = acks.curves.iter().map(|curve| {
            let points = curve.points.iter().zip(base);
            let ratios = points.map(|(point, base)| Some(of(point) / of(base)));
            Times::of(curve.algorithm, &ratios.collect::<Vec<_>>())
        });
        self.figures.push(Compared {
            file: file.to_owned(),
            title: shown.title.to_owned(),
            curves: curves.collect(),
        });
    }

    pub fn end(&mut self, wall: Duration) {
        self.run.wall_seconds = wall.as_secs_f64();
        self.run.million_events_per_second =
            self.run.events as f64 / 1e6 / self.run.wall_seconds.max(1e-9);
    }

    pub fn text(&self, folder: &Path) -> String {
        let mut text =
            "Times as multiples of those of the proposed scheme (cyclic, XY by SL); in figure 17, \
             OpenSM's over shares of members; for acks, of those with co-roots over ranks\n\n"
                .to_owned();
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "{:<13}{:<21}{:>10}{:>10}{:>10}{:>10}  of",
            "figure", "curve", "smallest", "largest", "least", "most"
        );
        for Compared { file, title, curves } in &self.figures {
            for Times { name, first, last, least, most, stuck } in curves {
                let number = |value: &Option<f64>| match value {
                    Some(value) => format!("{value:.2}"),
                    None => "-".to_owned(),
                };
                let [first, last, least, most] = [first, last, least, most].map(number);
                let stuck = match stuck {
                    0 => String::new(),
                    points => format!("; deadlock at {points} sizes"),
                };
                let _ = writeln!(
                    text,
                    "{file:<13}{name:<21}{first:>10}{last:>10}{least:>10}{most:>10}  {title}{stuck}"
                );
            }
        }
        let Run { events, wall_seconds, million_events_per_second: rate } = self.run;
        let _ = writeln!(
            text,
            "\n{} figures in {}: {events} events in {wall_seconds:.2} s, {rate:.2} million events/s",
            self.figures.len(),
            folder.display()
        );
        text
    }
}
