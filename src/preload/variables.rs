//! The counters that tools find by MPI's tool information interface, and others in a file.

use super::tally;
use super::totals;
use verbcast_core::driver::Statistics;

/// What a variable's value is (MPI 4.0, section 15.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// How often something has happened.
    Counter,
    /// A sum of bytes or of time.
    Aggregate,
}

/// A counter of this process, which only grows.
pub struct Variable {
    pub name: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
    pub class: Class,
    read: fn(&Values) -> u64,
}

/// What has been counted so far.
pub struct Values {
    counters: Statistics,
    ways: tally::Ways,
}

macro_rules! variables {
    ($($name:literal $class:ident $about:literal $read:expr;)*) => {
        [$(Variable { name: $name, about: $about, class: Class::$class, read: $read },)*]
    };
}

/// All of them. Tools know them by their names.
pub const VARIABLES: [Variable; 13] = variables! {
    "verbcast_broadcasts" Counter "broadcasts by multicast" |all| all.ways.multicast;
    "verbcast_broadcast_bytes" Aggregate "bytes of broadcasts by multicast"
        |all| all.ways.multicast_bytes;
    "verbcast_passed_broadcasts" Counter "broadcasts that were left to MPI" |all| all.ways.passed;
    "verbcast_passed_broadcast_bytes" Aggregate "bytes of broadcasts that were left to MPI"
        |all| all.ways.passed_bytes;
    "verbcast_datagrams_sent" Counter "fragments sent to groups" |all| all.counters.multicast_sent;
    "verbcast_datagrams_received" Counter "fragments received from groups, copies included"
        |all| all.counters.multicast_received;
    "verbcast_datagrams_lost" Counter "fragments whose multicast had not come when their broadcast was complete"
        |all| all.counters.lost;
    "verbcast_fragments_repaired" Counter "fragments that came first over a reliable connection"
        |all| all.counters.repaired;
    "verbcast_receives_ran_out" Counter "times that no receive was posted for datagrams of others"
        |all| all.counters.receives_ran_out;
    "verbcast_reliable_messages_sent" Counter "messages sent over reliable connections"
        |all| all.counters.reliable_sent;
    "verbcast_fetches" Counter "packets asked for in other ranks' rings" |all| all.counters.fetches;
    "verbcast_call_microseconds" Aggregate "microseconds in calls that wait for broadcasts"
        |all| all.counters.in_calls_us;
    "verbcast_waiting_microseconds" Aggregate "microseconds of these without anything to do"
        |all| all.counters.waited_us;
};

impl Values {
    /// Those of now. What a thread is broadcasting on just then counts as it was before.
    pub fn now() -> Values {
        Values { counters: totals::now(), ways: tally::ways() }
    }

    /// The value of a variable.
    pub fn of(&self, variable: &Variable) -> u64 {
        (variable.read)(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_and_a_value_of_its_own() {
        let names: std::collections::HashSet<_> = VARIABLES.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), VARIABLES.len());
        let counters = Statistics {
            multicast_sent: 1,
            multicast_received: 2,
            lost: 3,
            repaired: 4,
            receives_ran_out: 5,
            reliable_sent: 6,
            fetches: 7,
            in_calls_us: 8,
            waited_us: 9,
            ..Statistics::default()
        };
        let ways = tally::Ways { multicast: 10, multicast_bytes: 11, passed: 12, passed_bytes: 13 };
        let values = Values { counters, ways };
        let mut all: Vec<_> = VARIABLES.iter().map(|one| values.of(one)).collect();
        all.sort_unstable();
        assert_eq!(all, (1..=13).collect::<Vec<_>>());
    }
}
