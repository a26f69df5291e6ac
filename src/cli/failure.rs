//! Why the command ends without success.

use std::fmt::Display;

/// What is told to the user, and the exit status.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// One message per line; none if there is nothing more to say.
    pub messages: Vec<String>,
    pub status: u8,
}

impl Failure {
    /// The work failed.
    pub fn new(message: impl Display) -> Failure {
        Failure { messages: vec![message.to_string()], status: 1 }
    }

    /// The command line or the environment is wrong.
    pub fn usage(message: impl Display) -> Failure {
        Failure { messages: vec![message.to_string()], status: 2 }
    }
}
