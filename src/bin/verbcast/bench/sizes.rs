//! Ranges of message sizes, in the notation of OSU's benchmarks.

use crate::units;
use std::fmt;
use std::str::FromStr;

/// The longest message: 1 GiB.
const LONGEST: u64 = 1 << 30;

/// `MIN:MAX`: from MIN bytes on, doubled as long as MAX is not passed. `MAX` alone begins at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    least: u64,
    most: u64,
}

impl Sizes {
    pub const fn new(least: u64, most: u64) -> Sizes {
        Sizes { least, most }
    }

    /// The sizes, in bytes.
    pub fn all(self) -> Vec<u64> {
        std::iter::successors(Some(self.least), |size| Some(size * 2))
            .take_while(|size| *size <= self.most)
            .collect()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.least, self.most)
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        let (least, most) = text.split_once(':').unwrap_or(("1", text));
        let (least, most) = (units::parse_bytes(least)?, units::parse_bytes(most)?);
        if (1..=most).contains(&least) && most <= LONGEST {
            Ok(Sizes { least, most })
        } else {
            Err("expected MIN:MAX with 1 <= MIN <= MAX <= 1G".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_up_to_the_last() {
        let all = |text: &str| text.parse::<Sizes>().map(Sizes::all);
        assert_eq!(all("1:16"), Ok(vec![1, 2, 4, 8, 16]));
        assert_eq!(all("8"), Ok(vec![1, 2, 4, 8]));
        assert_eq!(all("3:20"), Ok(vec![3, 6, 12]));
        assert_eq!(all("512K:1M"), Ok(vec![1 << 19, 1 << 20]));
        assert_eq!("64:4K".parse::<Sizes>().unwrap().to_string(), "64:4096");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", ":", "0:8", "16:8", "1:2G", "a:b", "1:2:4", "1:"] {
            assert!(text.parse::<Sizes>().is_err(), "{text}");
        }
    }
}
