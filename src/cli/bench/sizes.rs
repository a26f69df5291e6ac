//! Ranges of message sizes, in the notation of OSU's benchmarks, and with larger steps.

use crate::units;
use std::fmt;
use std::str::FromStr;

/// The longest message: 1 GiB.
const LONGEST: u64 = 1 << 30;
/// The factor of those that name none.
const DOUBLED: u64 = 2;

/// `MIN:MAX`: from MIN bytes on, doubled as long as MAX is not passed. `MAX` alone begins at 1.
/// `MIN:MAX:FACTOR`: multiplied by something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    least: u64,
    most: u64,
    factor: u64,
}

impl Sizes {
    pub const fn new(least: u64, most: u64) -> Sizes {
        Sizes { least, most, factor: DOUBLED }
    }

    /// The sizes, in bytes.
    pub fn all(self) -> Vec<u64> {
        std::iter::successors(Some(self.least), |size| size.checked_mul(self.factor))
            .take_while(|size| *size <= self.most)
            .collect()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.least, self.most)?;
        match self.factor {
            DOUBLED => Ok(()),
            factor => write!(f, ":{factor}"),
        }
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        let (least, rest) = text.split_once(':').unwrap_or(("1", text));
        let (most, factor) = match rest.split_once(':') {
            Some((most, factor)) => (most, factor.parse().unwrap_or(0)),
            None => (rest, DOUBLED),
        };
        let (least, most) = (units::parse_bytes(least)?, units::parse_bytes(most)?);
        if (1..=most).contains(&least) && most <= LONGEST && factor >= 2 {
            Ok(Sizes { least, most, factor })
        } else {
            let what = "MIN:MAX or MIN:MAX:FACTOR with 1 <= MIN <= MAX <= 1G, 2 <= FACTOR";
            Err(format!("expected {what}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_up_to_the_last() {
        let all = |text: &str| text.parse::<Sizes>().map(Sizes::all);
        assert_eq!(all("1:16"), Ok(vec![1, 2, 4, 8, 16]));
        assert_eq!(all("8"), Ok(vec![1, 2, 4, 8]));
        assert_eq!(all("3:20"), Ok(vec![3, 6, 12]));
        assert_eq!(all("512K:1M"), Ok(vec![1 << 19, 1 << 20]));
        assert_eq!(all("1:4K:8"), Ok(vec![1, 8, 64, 512, 4096]));
        assert_eq!(all("1:1G:18446744073709551615"), Ok(vec![1]));
        for text in ["64:4096", "16:1024:4"] {
            assert_eq!(text.parse::<Sizes>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in
            ["", ":", "0:8", "16:8", "1:2G", "a:b", "1:2:1", "1:2:", "1:2:x", "1:2:4:8", "1:"]
        {
            assert!(text.parse::<Sizes>().is_err(), "{text}");
        }
    }
}
