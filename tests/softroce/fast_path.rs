//! What a broadcast costs besides its packets, on a device: memory that is allocated.

use crate::needs;
use crate::ranks;
use crate::variants;
use crate::variants::{FRAGMENT, Variant, config};
use allocation_counter::measure;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::Broadcaster;
use verbcast_core::rank::Rank;

const SIZE: u32 = 4;
/// Broadcasts before anything is counted: queues grow to the lengths that they need.
const WARM_UP: usize = 100;
/// Broadcasts that are counted together.
const COUNTED: usize = 25;
/// Counts until one is nothing: a wait that grows long asks whether others live, which allocates, and a
/// rank that was never so far behind before keeps more than ever.
const COUNTS: usize = 20;

/// The fewest allocations of each rank in broadcasts of `len` bytes, whose roots rotate.
fn allocations(variant: Variant, len: usize) -> Option<Vec<u64>> {
    let devices = needs::devices()?;
    let config = config(&devices, variant, None);
    Some(ranks::run(SIZE, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        let mut buffer = vec![7_u8; len];
        let mut broadcast = |count: usize| {
            let info = measure(|| {
                for op in 0..count {
                    broadcaster.broadcast_into(Rank(op as u32 % SIZE), &mut buffer).unwrap();
                }
                broadcaster.flush().unwrap();
            });
            info.count_total
        };
        broadcast(WARM_UP);
        let mut least = u64::MAX;
        for _ in 0..COUNTS {
            let count = broadcast(COUNTED);
            least = least.min(count);
            let all = bootstrap.all_gather(&[u8::from(least == 0)]).unwrap();
            if all.iter().all(|nothing| *nothing == [1]) {
                break;
            }
        }
        broadcaster.close().unwrap();
        least
    }))
}

#[test]
fn a_broadcast_allocates_nothing() {
    for variant in variants::SOME.iter().chain([&ON_DEMAND, &AGGREGATE]) {
        for len in [8, 3 * FRAGMENT] {
            let Some(allocations) = allocations(variant, len) else { return };
            println!("{variant:?}, {len} bytes: {allocations:?}");
            assert_eq!(allocations, [0; SIZE as usize], "{variant:?}, {len} bytes");
        }
    }
}

const ON_DEMAND: Variant = &[("algorithm", "two-stage-on-demand")];
const AGGREGATE: Variant = &[("algorithm", "aggregate")];
