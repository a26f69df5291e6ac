//! The switches above a host.

use std::fmt;

/// Switches above a host at most. Slurm gives up soon after that, too.
pub const MAX_SWITCHES: usize = 16;
/// Bytes of a switch's name at most, as in topology.conf(5).
pub const MAX_SWITCH_NAME: usize = 64;

/// The switches above a host, from the top down to its leaf switch; none where nothing is known of them. They are few, and
/// their names are short and can be printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchPath(Vec<String>);

/// What cannot be the switches above a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchPathError {
    /// A name that is empty, too long, or has a character of the lists in which names are.
    #[error(
        "{0:?} is not a switch's name: 1 to {MAX_SWITCH_NAME} printable ASCII characters without blanks and []{{}},#=\"\\"
    )]
    Name(String),
    /// Too many.
    #[error("{0} switches are above each other, but at most {MAX_SWITCHES} may be")]
    TooMany(usize),
}

impl SwitchPath {
    /// These, from the top down.
    ///
    /// # Errors
    /// If there are more than [16](MAX_SWITCHES), or a name is not one of 1 to [64](MAX_SWITCH_NAME) bytes.
    pub fn new<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
    ) -> Result<SwitchPath, SwitchPathError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.len() > MAX_SWITCHES {
            return Err(SwitchPathError::TooMany(names.len()));
        }
        names.iter().try_for_each(|name| check_name(name))?;
        Ok(SwitchPath(names))
    }

    /// Their names, from the top down.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The one that the host's adapter is connected to.
    pub fn leaf(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }
}

impl fmt::Display for SwitchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// Whether a switch may be called so.
pub(super) fn check_name(name: &str) -> Result<(), SwitchPathError> {
    let is_good = |byte: u8| byte.is_ascii_graphic() && !b"[]{},#=\"\\".contains(&byte);
    if (1..=MAX_SWITCH_NAME).contains(&name.len()) && name.bytes().all(is_good) {
        return Ok(());
    }
    // As much as tells which it is.
    Err(SwitchPathError::Name(name.chars().take(MAX_SWITCH_NAME + 1).collect()))
}
