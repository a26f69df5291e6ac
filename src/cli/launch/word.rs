//! What a rank tells its launcher.

use crate::failure::Failure;
use crate::message::{Message, encode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How a rank has ended, as one line of JSON on its standard output.
#[derive(Serialize, Deserialize)]
pub enum Word<T> {
    /// It has succeeded; rank 0 has the outcome.
    Done(Option<T>),
    /// It has failed: lines, each of which is told once with the ranks that say it.
    Failed(String),
}

impl<T: Serialize + DeserializeOwned> Message for Word<T> {
    const FORMAT: &'static str = "verbcast rank's end 1";
}

impl<T: Serialize + DeserializeOwned> Word<T> {
    pub fn send(&self) -> Result<(), Failure> {
        let line = encode(self).map_err(Failure::new)?;
        crate::print(&(String::from_utf8_lossy(&line) + "\n"))
    }
}
