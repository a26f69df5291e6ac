//! An error that another one follows from.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An error that another one follows from, of whatever type. Its copies share it, so that errors can be cloned whose
/// causes cannot.
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// The cause that `error` is.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Cause(Arc::new(error))
    }
}

impl Deref for Cause {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
