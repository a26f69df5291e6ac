//! What goes wrong on purpose, and how it is written.

use std::str::FromStr;

/// What goes wrong, with which probability for each received datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Faults {
    /// Probability that it is lost, from 0 to 1.
    pub loss: f64,
    /// Probability that it comes twice, from 0 to 1.
    pub duplicate: f64,
    /// Probability that up to four later ones overtake it, from 0 to 1.
    pub reorder: f64,
    /// Probability that one of its bits is another when it comes, from 0 to 1: of those that a CRC covers which is
    /// [checked](crate::wire::Checks), as every receiver notices.
    pub corrupt: f64,
    /// Seed of all ranks' faults.
    pub seed: u64,
}

impl Faults {
    /// Whether anything can go wrong.
    pub fn are_possible(&self) -> bool {
        [self.loss, self.duplicate, self.reorder, self.corrupt]
            .iter()
            .any(|probability| *probability > 0.0)
    }
}

/// A fault specification that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// A part without `=`.
    #[error("{part:?} has no value; {EXPECTED}")]
    NoValue {
        /// The part.
        part: String,
    },
    /// What stands behind `=` is not a probability.
    #[error("{part}: not a probability from 0 to 1; {EXPECTED}")]
    NotAProbability {
        /// The part.
        part: String,
    },
    /// What stands behind `=` is not a number.
    #[error("{part}: not a number; {EXPECTED}")]
    NotANumber {
        /// The part.
        part: String,
    },
    /// Nothing is called that.
    #[error("there is no fault {name:?}; {EXPECTED}")]
    Unknown {
        /// What stands before `=`.
        name: String,
    },
}

const EXPECTED: &str = "expected for example loss=0.05,dup=0.01,reorder=0.05,corrupt=0.01,seed=7";

impl FromStr for Faults {
    type Err = FaultError;

    /// Reads `loss=P,dup=P,reorder=P,corrupt=P,seed=N`; what is left out is zero.
    fn from_str(text: &str) -> Result<Self, FaultError> {
        let mut faults = Faults::default();
        for part in text.split(',').map(str::trim) {
            let of_part = || part.to_owned();
            let (name, value) =
                part.split_once('=').ok_or_else(|| FaultError::NoValue { part: of_part() })?;
            let probability = || {
                let read = value.parse().ok().filter(|p| (0.0..=1.0).contains(p));
                read.ok_or_else(|| FaultError::NotAProbability { part: of_part() })
            };
            match name {
                "loss" => faults.loss = probability()?,
                "dup" => faults.duplicate = probability()?,
                "reorder" => faults.reorder = probability()?,
                "corrupt" => faults.corrupt = probability()?,
                "seed" => {
                    let not_a_number = |_| FaultError::NotANumber { part: of_part() };
                    faults.seed = value.parse().map_err(not_a_number)?;
                }
                _ => return Err(FaultError::Unknown { name: name.to_owned() }),
            }
        }
        Ok(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_is_read() {
        let faults: Faults = "loss=0.05,dup=0.01, reorder=1,corrupt=0.5,seed=7".parse().unwrap();
        let expected = Faults { loss: 0.05, duplicate: 0.01, reorder: 1.0, corrupt: 0.5, seed: 7 };
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_bad_specification_is_named() {
        for (text, named) in [
            ("loss", "\"loss\" has no value"),
            ("loss=2", "loss=2: not a probability"),
            ("loss=NaN", "loss=NaN: not a probability"),
            ("lose=0.1", "no fault \"lose\""),
            ("seed=-1", "seed=-1: not a number"),
            ("", "\"\" has no value"),
        ] {
            let error = text.parse::<Faults>().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
