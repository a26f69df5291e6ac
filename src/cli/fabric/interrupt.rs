//! Whether this process is asked to end.

use crate::failure::Failure;
use crate::launch::signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// From when it is made, signals that ask the process to end are only taken note of.
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    is_ignored: bool,
}

impl Interrupt {
    pub fn watch() -> Result<Interrupt, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in signals::endings() {
            signal_hook::flag::register(signal, Arc::clone(&asked))
                .map_err(|error| Failure::new(format!("cannot watch signals: {error}")))?;
        }
        Ok(Interrupt { asked, is_ignored: false })
    }

    pub fn is_asked(&self) -> bool {
        !self.is_ignored && self.asked.load(Ordering::Relaxed)
    }

    /// What has begun has to be brought to an end.
    pub fn ignore(&mut self) {
        self.is_ignored = true;
    }
}
