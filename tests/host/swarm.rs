//! Many small simulations, each drawn from a seed. `VERBCAST_SWARM_SEED` (a number, in hexadecimal
//! as commits have it) adds seeds of its own.

use crate::needs;
use verbcast_sim::swarm;

fn run(seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        if let Err(failed) = swarm::run(seed) {
            panic!("{failed}");
        }
    }
}

#[test]
fn a_fixed_set_of_seeds_runs_well() {
    run(0..4000);
}

#[test]
fn seeds_of_the_commit_run_well() {
    let Ok(text) = std::env::var("VERBCAST_SWARM_SEED") else {
        needs::skip("VERBCAST_SWARM_SEED is not set");
        return;
    };
    let digits = text.get(..12).unwrap_or(&text);
    let first = u64::from_str_radix(digits, 16).expect("VERBCAST_SWARM_SEED is hexadecimal");
    println!("seeds from {first}");
    run(first..first + 4000);
}

#[test]
fn a_seed_repeats_a_run() {
    for seed in 0..200 {
        let drawn = swarm::draw(seed);
        assert_eq!(drawn.run().unwrap(), drawn.run().unwrap());
    }
}
