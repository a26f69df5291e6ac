//! Ends the process if a call of libibumad does not return.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at the clock.
const GLANCE: Duration = Duration::from_millis(100);

/// Ends the process, with an error, at a time that can be moved. ibsim's library waits for ever for an ibsim
/// that is not there, and for one that takes no more packets; from outside such a call nothing else ends it.
pub struct Watchdog(Arc<Mutex<Instant>>);

impl Watchdog {
    /// Ends the process after this time.
    pub fn after(time: Duration) -> Watchdog {
        let end = Arc::new(Mutex::new(Instant::now() + time));
        let watched = Arc::clone(&end);
        thread::spawn(move || {
            while Instant::now() < *watched.lock().unwrap_or_else(PoisonError::into_inner) {
                thread::sleep(GLANCE);
            }
            let error =
                "error: libibumad does not return; is ibsim there, by the name in IBSIM_SOCKNAME?";
            // There is nobody left to tell if standard error is closed.
            let _ = writeln!(std::io::stderr(), "{error}");
            std::process::exit(1);
        });
        Watchdog(end)
    }

    /// Not before this time has gone by, counted from now.
    pub fn extend(&self, time: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + time;
    }
}
