//! What a rank tells its launcher.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};

/// How a rank has ended, as one line of JSON on its standard output.
#[derive(Serialize, Deserialize)]
pub enum Word<T> {
    /// It has succeeded; rank 0 has the outcome.
    Done(Option<T>),
    /// It has failed.
    Failed(String),
}

impl<T: Serialize> Word<T> {
    pub fn send(&self) -> Result<(), Failure> {
        let line = serde_json::to_string(self).map_err(Failure::new)?;
        crate::print(&(line + "\n"))
    }
}
