//! What came of trying an assumption.

use crate::conformance::ASSUMPTIONS;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Holds,
    Broken,
    NotTried,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    pub outcome: Outcome,
    /// What was seen.
    pub came: String,
    /// What an administrator can do about it.
    pub advice: Option<String>,
}

impl Tried {
    pub fn holds(came: impl Into<String>) -> Tried {
        Tried { outcome: Outcome::Holds, came: came.into(), advice: None }
    }

    pub fn broken(came: impl Into<String>, advice: impl Into<String>) -> Tried {
        Tried { outcome: Outcome::Broken, came: came.into(), advice: Some(advice.into()) }
    }

    pub fn not_tried(why: impl Into<String>) -> Tried {
        Tried { outcome: Outcome::NotTried, came: why.into(), advice: None }
    }
}

/// An assumption that was tried, by its number in the matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub number: u32,
    pub id: String,
    pub expected: String,
    pub outcome: Outcome,
    pub came: String,
    pub advice: Option<String>,
}

impl Finding {
    pub fn new(number: u32, expected: &str, tried: Tried) -> Finding {
        let assumption = ASSUMPTIONS.iter().find(|assumption| assumption.number == number);
        let id = assumption.map_or_else(String::new, |assumption| assumption.id.clone());
        let Tried { outcome, came, advice } = tried;
        Finding { number, id, expected: expected.to_owned(), outcome, came, advice }
    }
}
