//! What a rank says at the end of what held it up.

use std::cmp::Reverse;

/// Ranks of which each says how long it waited for them, at most: those that held it up longest.
const MAX_AWAITED: usize = 4;
/// How long a rank waited for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// The other, by its rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Microseconds in all, and of these before anything of the broadcast had come.
    pub micros: u64,
    pub first: u64,
}

/// What a rank says of its broadcasts at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub host: String,
    pub received: u64,
    pub lost: u64,
    /// Times that it had no receives posted for what others multicast.
    pub ran_out: u64,
    /// Microseconds in calls that wait for broadcasts, and of these without anything to do.
    pub in_calls: u64,
    pub waited: u64,
    /// For whom.
    pub awaited: Vec<Awaited>,
    /// Milliseconds in which its port was down or its groups not joined.
    pub outage: u64,
}

/// Words of a host's name.
const HOST: usize = 4;
/// Words of a [`Summary`].
pub const WORDS: usize = 6 + 3 * MAX_AWAITED + HOST;

impl Summary {
    /// The share of datagrams that were lost.
    pub fn loss(&self) -> f64 {
        self.lost as f64 / (self.lost + self.received).max(1) as f64
    }

    /// In words that all ranks have as many of.
    pub fn emit(&self) -> [u64; WORDS] {
        let numbers =
            [self.received, self.lost, self.ran_out, self.in_calls, self.waited, self.outage];
        let mut awaited = self.awaited.clone();
        awaited.sort_unstable_by_key(|one| Reverse(one.micros));
        awaited.resize(MAX_AWAITED, Awaited::default());
        let awaited = awaited.into_iter().flat_map(|one| [one.rank.into(), one.micros, one.first]);
        let mut host = [0; HOST * 8];
        host.iter_mut().zip(self.host.bytes()).for_each(|(to, byte)| *to = byte);
        let (host, _) = host.as_chunks::<8>();
        let host = host.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let mut words = [0; WORDS];
        let all = numbers.into_iter().chain(awaited).chain(host);
        words.iter_mut().zip(all).for_each(|(to, word)| *to = word);
        words
    }

    /// Out of such words.
    pub fn parse(words: &[u64; WORDS]) -> Summary {
        let [received, lost, ran_out, in_calls, waited, outage, rest @ ..] = *words;
        let (awaited, host) = rest.split_at(3 * MAX_AWAITED);
        let (awaited, _) = awaited.as_chunks::<3>();
        let awaited = awaited.iter().map(|[rank, micros, first]| Awaited {
            rank: *rank as u32,
            micros: *micros,
            first: *first,
        });
        let awaited = awaited.filter(|one| one.micros > 0).collect();
        let host = host.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0);
        let host = String::from_utf8_lossy(&host.collect::<Vec<_>>()).into_owned();
        Summary { host, received, lost, ran_out, in_calls, waited, awaited, outage }
    }
}

#[cfg(test)]
mod tests {
    use super::{Awaited, Summary};

    #[test]
    fn a_summary_crosses_as_it_is_with_those_who_were_waited_for_longest() {
        let mut all = Summary {
            host: "node3".to_owned(),
            received: 1,
            lost: 2,
            ran_out: 3,
            in_calls: 4,
            waited: 5,
            awaited: vec![Awaited { rank: 7, micros: 6, first: 5 }],
            outage: 8,
        };
        assert_eq!(Summary::parse(&all.emit()), all);
        let awaited = |rank| Awaited { rank, micros: u64::from(rank) + 1, first: 0 };
        all.awaited = (0..9).map(awaited).collect();
        all.host = "a-host-with-a-name-of-more-than-32-bytes".to_owned();
        let crossed = Summary::parse(&all.emit());
        assert_eq!(crossed.awaited, [8, 7, 6, 5].map(awaited));
        assert_eq!(crossed.host, "a-host-with-a-name-of-more-than-");
    }
}
