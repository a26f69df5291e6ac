//! Who sends.

use std::fmt;
use std::str::FromStr;
use verbcast_core::rank::Rank;

/// Whose broadcasts they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    Fixed(u32),
    Rotate,
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Root::Fixed(rank) => write!(f, "fixed:{rank}"),
            Root::Rotate => f.write_str("rotate"),
        }
    }
}

impl FromStr for Root {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rank = text.strip_prefix("fixed:").and_then(|rank| rank.parse().ok());
        match rank {
            Some(rank) => Ok(Root::Fixed(rank)),
            None if text == "rotate" => Ok(Root::Rotate),
            None => Err("expected fixed:N or rotate".to_owned()),
        }
    }
}

impl Root {
    /// The root of a broadcast, counted from 0, among `size` ranks.
    pub fn of(self, broadcast: u64, size: u32) -> Rank {
        match self {
            Root::Fixed(rank) => Rank(rank),
            Root::Rotate => Rank((broadcast % u64::from(size)) as u32),
        }
    }

    /// Whether there is such a rank among `size`; or else what to say.
    pub fn check(self, size: u32) -> Result<(), String> {
        match self {
            Root::Fixed(rank) if rank >= size => Err(format!(
                "--root {self}: there is no such rank among {size} ranks, counted from 0"
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_read() {
        assert_eq!("fixed:3".parse(), Ok(Root::Fixed(3)));
        assert_eq!("rotate".parse(), Ok(Root::Rotate));
        for text in ["fixed:", "fixed:-1", "3", "rotates"] {
            assert!(text.parse::<Root>().is_err(), "{text}");
        }
    }

    #[test]
    fn roots_are_ranks() {
        assert_eq!([0, 1, 2, 3].map(|at| Root::Rotate.of(at, 3).0), [0, 1, 2, 0]);
        assert_eq!(Root::Fixed(2).of(7, 3), Rank(2));
        assert!(Root::Fixed(2).check(3).is_ok() && Root::Fixed(3).check(3).is_err());
    }
}
