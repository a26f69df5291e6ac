//! How far the clocks of two kernels are apart, by `verbcast bench` and by the machine that both run on.

mod page;

use super::{Folder, lines};
use page::{Echo, Sample};
use serde_json::Value;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::{env, fs};

/// What is compared was measured within so many nanoseconds of each other.
const AT_ONCE: i128 = 200_000_000;

/// Where one host's clock can be beside the machine's at about a time of the machine's, in nanoseconds: from the least to the most
/// that samples of then allow. `None` without any.
fn beside_machine(samples: &[Sample], about: i128) -> Option<RangeInclusive<i128>> {
    let near = || samples.iter().filter(|sample| (sample.machine - about).abs() < AT_ONCE);
    let least = near().map(|sample| sample.sent - sample.machine).min()?;
    let most = near().map(|sample| sample.received - sample.machine).max()?;
    Some(least..=most)
}

/// The comparisons of clocks in a file of results: when, on rank 0's clock, each rank's offset, and how wrong that may be.
fn comparisons(results: &Value) -> Vec<(i128, Vec<i128>, i128)> {
    let number = |value: &Value| i128::from(value.as_i64().unwrap());
    let points = results["points"].as_array().unwrap();
    let all = points.iter().flat_map(|point| point["clocks"].as_array().unwrap());
    all.map(|one| {
        let offsets = one["offsets"].as_array().unwrap().iter().map(number).collect();
        (number(&one["at"]), offsets, number(&one["error"]))
    })
    .collect()
}

#[test]
fn clocks_are_as_far_apart_as_the_machine_says_that_runs_the_hosts() {
    let Some(folder) = Folder::with_file("clocks", 0) else { return };
    let echo = Echo::start();
    let program = env::current_exe().unwrap();
    let script = format!(
        "{}=$PWD srun -N 2 --ntasks-per-node=1 \"$1\" --exact --nocapture {} >/dev/null &
         until [[ -e page-node1 && -e page-node2 ]]; do sleep 0.2; done
         srun -N 2 --ntasks-per-node=2 --kill-on-bad-exit verbcast bench latency --algorithms window \
             --sizes 8:8 --iterations 20 --methods clock --json results.json
         status=$?
         touch {}
         wait
         exit $status",
        page::VARIABLE, page::SELF, page::OVER,
    );
    let output = folder.run(&script, &[OsStr::new(program.as_os_str())]);
    drop(echo);
    assert!(output.status.success(), "{}", lines(&output));
    let [first, second] =
        ["node1", "node2"].map(|host| page::read(&folder.path.join(format!("page-{host}"))));
    let text = fs::read_to_string(folder.path.join("results.json")).unwrap();
    let results: Value = serde_json::from_str(&text).unwrap();
    let comparisons = comparisons(&results);
    assert!(comparisons.len() > 1, "{results}");
    for (at, offsets, error) in comparisons {
        let about = first.iter().min_by_key(|sample| (sample.received - at).abs()).unwrap().machine;
        let own = beside_machine(&first, about).expect("node1 was asked then");
        let other = beside_machine(&second, about).expect("node2 was asked then");
        let expected = other.start() - own.end()..=other.end() - own.start();
        println!("at {at}: by the machine {expected:?}, by the ranks {offsets:?} ± {error}");
        // Ranks 0 and 1 are on node1, which has one clock.
        assert!(offsets[0] == 0 && offsets[1].abs() <= error, "{offsets:?} ± {error}");
        for offset in &offsets[2..] {
            let (least, most) = (expected.start() - error, expected.end() + error);
            assert!((least..=most).contains(offset), "{offset} is not within {least} and {most}");
        }
    }
}
