//! Whatever packets and numbers others make up, with the communicator's key: a rank may fail with an error, but does not
//! crash.

use super::*;
use crate::protocol::options::CoRoots;
use crate::wire::{Offer, Region};
use proptest::collection::vec;
use proptest::prelude::*;

const LEN: usize = 95;
/// The first operation, so that those around it wrap.
const FIRST: OpId = OpId(u32::MAX);

/// Something that comes from outside.
#[derive(Clone, Debug)]
enum Noise {
    Packet {
        via: Via,
        header: Header,
        payload: Vec<u8>,
    },
    Number {
        from: Rank,
        counter: Counter,
        value: u64,
    },
    /// A read of another rank's memory finds this.
    Found {
        header: Header,
        payload: Vec<u8>,
    },
    /// Time passes, in microseconds.
    Pause(u64),
}

/// Mostly near what makes sense, as far-fetched values are refused early.
fn near<T: Arbitrary + Copy + 'static>(
    sane: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = T> {
    prop_oneof![8 => sane, 1 => any::<T>()]
}

fn header() -> impl Strategy<Value = Header> {
    let kinds: Vec<_> = (0..=u8::MAX).filter_map(Kind::from_wire).collect();
    (
        prop_oneof![3 => Just(Kind::Fragment), 2 => prop::sample::select(kinds)],
        near(0..4_u32),
        near((0..5_u32).prop_map(|ahead| FIRST.0.wrapping_add(ahead).wrapping_sub(1))),
        near(0..12_u32),
        prop_oneof![8 => Just(LEN as u64), 1 => Just(Header::UNTOLD), 1 => 0..Header::UNTOLD],
        prop_oneof![4 => Just(0), 4 => number(), 1 => any::<u64>()],
        any::<bool>(),
    )
        .prop_map(|(kind, source, op, fragment, message_len, report, asks)| Header {
            kind,
            source: Rank(source),
            key: KEY,
            op: OpId(op),
            fragment: Fragment(fragment),
            message_len,
            report,
            asks,
        })
}

/// A report of the window family near where it begins, or any number.
fn number() -> impl Strategy<Value = u64> {
    let report = (0..60_u64, 0..60_u64, any::<u8>()).prop_map(|(have, lag, lost)| {
        let have = Seq(u64::from(FIRST.0) + have);
        Report { have, credit: Seq(have.0 - lag), lost }.emit()
    });
    prop_oneof![4 => report, 1 => any::<u64>(), 1 => (0..30_u64).prop_map(|few| 1 << 63 | few)]
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    let notice = any::<u32>().prop_map(|rank| notice(rank, "no"));
    let offer = any::<Option<(u64, u32)>>()
        .prop_map(|memory| Offer { memory: memory.map(|(address, key)| Region { address, key }) });
    let written = near(0..100_u32).prop_map(|len| Written { len, crc: None });
    prop_oneof![
        8 => vec(any::<u8>(), FRAGMENT_LEN),
        2 => vec(any::<u8>(), 0..40),
        1 => notice,
        1 => offer.prop_map(|offer| offer.emit()),
        1 => written.prop_map(|written| written.emit()),
    ]
}

fn noise() -> impl Strategy<Value = Noise> {
    let vias = prop::sample::select(vec![Via::Multicast, Via::Reliable]);
    let packet = (vias, header(), payload()).prop_map(|(via, header, payload)| Noise::Packet {
        via,
        header,
        payload,
    });
    let others = prop::sample::select(vec![Rank(0), Rank(2)]);
    let number = (others, prop::sample::select(Counter::ALL.to_vec()), number())
        .prop_map(|(from, counter, value)| Noise::Number { from, counter, value });
    let found =
        (header(), payload()).prop_map(|(header, payload)| Noise::Found { header, payload });
    prop_oneof![
        8 => packet,
        3 => number,
        2 => found,
        1 => (0..200_000_u64).prop_map(Noise::Pause)
    ]
}

/// Each algorithm, and the window with co-roots.
fn options() -> impl Iterator<Item = Options> {
    let of = |(_, algorithm)| Options { table: Table::uniform(algorithm), ..Options::default() };
    let co_roots = Options { co_roots: CoRoots::Groups(2), ..of(("window", Algorithm::Window)) };
    Algorithm::NAMES.into_iter().map(of).chain([co_roots])
}

/// A driver in the midst of three broadcasts, one from each rank.
fn busy(options: &Options) -> Driver<Suite, Notes> {
    let mut driver = assembled(1, FIRST, options);
    for root in 0..3 {
        driver.start_owned(Instant::ZERO, Rank(root), vec![0; LEN]).unwrap();
    }
    driver
}

/// What a packet is when it arrives.
fn bytes(header: &Header, payload: &[u8]) -> Vec<u8> {
    [&header.emit(payload, true), payload].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_others_make_up_crashes_no_rank(noise in vec(noise(), 1..80)) {
        for options in options() {
            let mut driver = busy(&options);
            let mut now = Instant::ZERO;
            for noise in &noise {
                match noise {
                    Noise::Packet { via, header, payload } => {
                        let buffer = driver.transport.arrives(bytes(header, payload));
                        driver.transport.arrivals.push_back(Arrival::Packet { via: *via, buffer });
                    }
                    Noise::Number { from, counter, value } => {
                        let (from, counter, value) = (*from, *counter, *value);
                        driver.transport.arrivals.push_back(Arrival::Reported { from, counter, value });
                    }
                    Noise::Found { header, payload } => {
                        let Some((from, token)) = driver.transport.fetched.pop() else { continue };
                        let buffer = driver.transport.arrives(bytes(header, payload));
                        driver.transport.arrivals.push_back(Arrival::Fetched { from, token, buffer });
                    }
                    Noise::Pause(micros) => now = now + Duration::from_micros(*micros),
                }
                // Whoever notices that ranks disagree, or hears that one has given up, fails.
                if driver.turn(now, None).is_err() {
                    break;
                }
            }
        }
    }
}
