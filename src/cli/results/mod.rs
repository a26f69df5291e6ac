//! What a benchmark has measured, as it is written to a file and read from one.

mod clocks;
mod cpu_time;
mod groups;
mod histogram;
mod point;

pub use clocks::Clocks;
pub use cpu_time::CpuTime;
pub use groups::{Axis, Group, along, bytes, groups, ratio};
pub use histogram::{Histogram, Summary};
pub use point::{Point, Test};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use verbcast_core::transport::Faults;

/// What the first member of the file says.
pub const FORMAT: &str = "verbcast bench 1";

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: String,
    pub system: System,
    pub configuration: Configuration,
    pub points: Vec<Point>,
    /// Algorithms that could not be used, each with the number of ranks and why.
    #[serde(default)]
    pub left_out: Vec<String>,
}

/// Where it was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct System {
    /// Seconds since 1970.
    pub time: u64,
    pub kernel: String,
    pub processor: String,
    /// That rank 0 may use.
    pub cpus: usize,
    /// The version of verbcast.
    pub verbcast: String,
    /// Whether this is a build for speed.
    pub is_optimised: bool,
    /// The MPI library, where one was measured too.
    pub mpi: Option<String>,
    /// Each rank's.
    pub devices: Vec<Device>,
    /// Of rank 0's port, in bytes.
    pub mtu: Option<u32>,
    /// Bytes of a message in a packet.
    pub fragment: usize,
}

/// What a rank used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device {
    pub host: String,
    pub device: String,
    pub port: u8,
    pub gid_index: u8,
}

/// What was asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Configuration {
    pub command: Vec<String>,
    pub ranks: u32,
    pub root: String,
    pub seed: u64,
    /// Whether what was received was compared with what was sent, before it was measured.
    pub is_validated: bool,
    pub faults: Option<Faults>,
    /// The transport's settings, in words.
    pub settings: String,
    /// `VERBCAST_*` variables that were set, and those of MPI at rank 0 where it was measured too.
    pub variables: BTreeMap<String, String>,
}

impl Results {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Results, String> {
        check_format(text.as_bytes(), FORMAT)?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

/// Makes sure that JSON says of itself, in its member `format`, that it is what is expected, in the version that is
/// read here; nothing else of it is read.
pub fn check_format(json: &[u8], expected: &str) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Head {
        format: Option<String>,
    }
    let head: Head = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    match head.format.as_deref() {
        Some(format) if format == expected => Ok(()),
        Some(other) => Err(format!("has the format {other:?}, not {expected:?}")),
        None => Err(format!("is not {expected:?}: it has no member \"format\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let mut histogram = Histogram::default();
        histogram.record(4711);
        let point =
            Point { algorithm: "window".to_owned(), ranks: 8, size: 64, ..Point::new(Test::Osu) };
        let results = Results {
            format: FORMAT.to_owned(),
            system: System { kernel: "6.12".to_owned(), ..System::default() },
            configuration: Configuration { seed: 5, ..Configuration::default() },
            points: vec![Point { histogram, ..point }],
            left_out: Vec::new(),
        };
        let text = serde_json::to_string(&results).unwrap();
        let again = Results::parse(&text).unwrap();
        assert_eq!((again.points, again.system.kernel), (results.points, "6.12".to_owned()));
        assert_eq!(again.configuration.seed, 5);
    }

    #[test]
    fn another_file_is_refused() {
        for (text, expected) in [
            ("{}", "no member \"format\""),
            ("{\"format\": \"verbcast bench 9\"}", "\"verbcast bench 9\", not"),
            ("{\"format\": \"verbcast bench 1\"}", "missing field"),
            ("hello", "expected value"),
        ] {
            let error = Results::parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    prop_compose! {
        fn point()(
            test in prop::sample::select(vec![Test::Acknowledge, Test::Throughput, Test::Skew]),
            algorithm: String,
            sizes: (u32, u64),
            skew: Option<u64>,
            numbers: (u64, u64),
            times in prop::collection::vec(1..10_000_000_000_u64, 0..20),
            milliseconds in prop::option::of(0..1_000_000_u32),
        ) -> Point {
            let mut histogram = Histogram::default();
            times.iter().for_each(|time| histogram.record(*time));
            let by_rank = vec![None, histogram.summary()];
            let ((ranks, size), (iterations, lost_messages)) = (sizes, numbers);
            let seconds = milliseconds.map(|count| f64::from(count) / 1e3);
            let rest = Point::new(test);
            Point {
                algorithm, ranks, size, skew, iterations, lost_messages, histogram, by_rank, seconds, ..rest
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 32,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn any_run_is_read_as_it_was_written(
            points in prop::collection::vec(point(), 0..3),
            left_out: Vec<String>,
            cut in any::<prop::sample::Index>(),
        ) {
            let (system, configuration) = (System::default(), Configuration::default());
            let format = FORMAT.to_owned();
            let results = Results { format, system, configuration, points, left_out };
            let text = serde_json::to_string(&results).unwrap();
            let again = Results::parse(&text).unwrap();
            prop_assert_eq!(serde_json::to_string(&again).unwrap(), text.clone());
            prop_assert_eq!((again.points, again.left_out), (results.points, results.left_out));
            let part = text.get(..cut.index(text.len())).unwrap_or_default();
            prop_assert!(Results::parse(part).is_err());
        }

        #[test]
        fn noise_is_no_run(text in ".{0,200}") {
            prop_assert!(Results::parse(&text).is_err());
        }
    }
}
