//! Every algorithm and option, and how each is tried on a device.

#![allow(dead_code, reason = "each test uses a part of it")]

use crate::needs;
use crate::ranks;
use verbcast::broadcast::Config;
use verbcast_core::driver::Statistics;
use verbcast_core::protocol::Depths;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::OpId;
use verbcast_core::wire::HEADER_LEN;

/// Bytes of a message in a fragment, at SoftRoCE's MTU.
pub const FRAGMENT: usize = 4096 - HEADER_LEN;
/// What is long.
pub const LONG: usize = 8 << 20;

/// Numbers of ranks to try each with, and to try some with.
pub const SIZES: &[u32] = &[2, 3, 8];
pub const MORE: &[u32] = &[16];
/// A tenth of the datagrams is lost.
pub const LOSSY: Option<&str> = Some("loss=0.1,seed=3");

/// Queues that messages of moderate length fill.
const DEPTHS: Depths =
    Depths { receive: 64, send: 32, ring: Depths::SHALLOW_RING, ..Depths::DEFAULT };

/// Options by name and value.
pub type Variant = &'static [(&'static str, &'static str)];

pub const TWO_STAGE: &[Variant] = &[
    &[("algorithm", "two-stage")],
    &[("algorithm", "two-stage"), ("sync", "random")],
    &[("algorithm", "two-stage"), ("sync", "adaptive")],
    &[("algorithm", "two-stage"), ("sync", "delay:200"), ("run-ahead", "3")],
    &[("algorithm", "two-stage-on-demand")],
    &[("algorithm", "two-stage-on-demand"), ("acknowledge", "every:4")],
];
pub const WINDOW: &[Variant] = &[
    &[("algorithm", "basic")],
    &[("algorithm", "window")],
    &[("algorithm", "window"), ("acknowledge", "each")],
    &[("algorithm", "window"), ("repair", "push")],
    &[("algorithm", "window"), ("repair", "push"), ("repair-after", "200"), ("window", "4")],
    &[("algorithm", "window"), ("window", "1")],
    &[("algorithm", "window"), ("credits", "off")],
    &[("algorithm", "window"), ("repair-tree", "1")],
    &[("algorithm", "window"), ("repair-tree", "2"), ("window", "8")],
    &[("algorithm", "window"), ("repair-tree", "2"), ("repair", "push")],
];
pub const ACKNOWLEDGEMENTS: &[Variant] = &[
    &[("algorithm", "aggregate")],
    &[("algorithm", "aggregate"), ("repair", "push"), ("acknowledge-after", "200")],
    &[("algorithm", "window"), ("acknowledge", "skewed:4")],
    &[("algorithm", "window"), ("acknowledge", "skewed:4"), ("piggyback", "on")],
    &[("algorithm", "window"), ("acknowledge-by", "message")],
    &[("algorithm", "window"), ("acknowledge-by", "message"), ("repair", "push")],
];
pub const CO_ROOTS: &[Variant] = &[
    &[("algorithm", "co-root")],
    &[("algorithm", "window"), ("co-roots", "2")],
    &[("algorithm", "window"), ("co-roots", "4"), ("repair", "push")],
    &[("algorithm", "aggregate"), ("co-roots", "4"), ("piggyback", "on")],
    &[("algorithm", "basic"), ("co-roots", "3")],
];
pub const UNICAST: &[Variant] = &[
    &[("algorithm", "binomial")],
    &[("algorithm", "chain")],
    &[("algorithm", "scatter-allgather")],
    &[("algorithm", "binomial"), ("segment", "3")],
    &[("algorithm", "chain"), ("segment", "off")],
    &[("algorithm", "scatter-allgather"), ("segment", "10000")],
];

/// All of these.
pub const ALL: [&[Variant]; 5] = [TWO_STAGE, WINDOW, ACKNOWLEDGEMENTS, CO_ROOTS, UNICAST];
/// One of each kind.
pub const SOME: &[Variant] = &[
    &[("algorithm", "two-stage")],
    &[("algorithm", "window")],
    &[("algorithm", "window"), ("repair", "push")],
    &[("algorithm", "window"), ("co-roots", "4"), ("repair", "push")],
    &[("algorithm", "binomial")],
    &[("algorithm", "chain")],
    &[("algorithm", "scatter-allgather")],
];

/// Lengths of messages: nothing, a byte, and a byte either side of where a message takes another
/// fragment, or one more than a ring has slots.
fn lens() -> Vec<usize> {
    let around =
        [FRAGMENT, DEPTHS.ring as usize * FRAGMENT].into_iter().flat_map(|at| [at - 1, at, at + 1]);
    [0, 1].into_iter().chain(around).chain([8, 8, 8, 0]).collect()
}

/// Tries every variant with messages of all lengths but long ones.
pub fn try_options(sizes: &[u32], faults: &[Option<&str>]) {
    ALL.iter().for_each(|variants| try_short(variants, sizes, faults));
}

/// Tries these variants with messages of all lengths but long ones.
pub fn try_short(variants: &[Variant], sizes: &[u32], faults: &[Option<&str>]) {
    try_all(variants, sizes, faults, &lens());
}

/// The configuration of a variant, whose broadcasts' ids wrap.
pub fn config(devices: &[String], variant: Variant, faults: Option<&str>) -> Config {
    let mut config = ranks::flat();
    config.first_op = OpId(u32::MAX - 3);
    config.device.devices = devices.to_vec();
    config.device.depths = DEPTHS;
    config.protocol = options(variant);
    config.faults = faults.map(|faults| faults.parse().unwrap());
    config
}

fn options(variant: Variant) -> Options {
    let mut options = Options::default();
    for (name, value) in variant {
        options.set(name, value).unwrap();
    }
    options
}

/// Tries each variant among each number of ranks, with and without loss, and says what was moved how.
pub fn try_all(variants: &[Variant], sizes: &[u32], faults: &[Option<&str>], lens: &[usize]) {
    let Some(devices) = needs::devices() else { return };
    for variant in variants {
        for size in sizes {
            for faults in faults {
                let began = std::time::Instant::now();
                let config = config(&devices, variant, *faults);
                let what = format!("{variant:?}, {size} ranks, {}", faults.unwrap_or("no faults"));
                println!("{what}");
                let all = ranks::exchange(*size, |_| config.clone(), lens);
                let total = |counter: fn(&Statistics) -> u64| all.iter().map(counter).sum::<u64>();
                println!(
                    "  {} multicast, {} reliable, {} reports, {} fetched, {} lost; {:.1} s",
                    total(|one| one.multicast_sent),
                    total(|one| one.reliable_sent),
                    total(|one| one.reports_written),
                    total(|one| one.fetched),
                    total(|one| one.lost),
                    began.elapsed().as_secs_f64()
                );
                if faults.is_some() && total(|one| one.multicast_sent) > 0 {
                    assert!(total(|one| one.lost) > 0, "{what}: nothing was lost: {all:?}");
                }
            }
        }
    }
}
