//! Nothing that the doctor tries may hold it up.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Why something has no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// It did not end in time, and was left behind.
    End,
    /// It panicked.
    Outcome,
}

/// Does something in a thread of its own, and waits for it at most this long.
pub fn within<T: Send + 'static>(
    bound: Duration,
    what: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Without> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Nobody listens any more if it took too long.
        let _ = sender.send(what());
    });
    receiver.recv_timeout(bound).map_err(|error| match error {
        RecvTimeoutError::Timeout => Without::End,
        RecvTimeoutError::Disconnected => Without::Outcome,
    })
}

/// What is being done, to be told if it does not end.
static STEP: Mutex<String> = Mutex::new(String::new());

/// Says what is done from now on.
pub fn step(what: impl Into<String>) {
    *STEP.lock().unwrap_or_else(PoisonError::into_inner) = what.into();
}

/// Ends the process after this time, whatever it does, once it was told why.
pub fn end_after(bound: Duration, last: impl FnOnce(&str) -> Result<(), String> + Send + 'static) {
    thread::spawn(move || {
        thread::sleep(bound);
        let step = STEP.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let seconds = bound.as_secs();
        let why = format!("no end after {seconds} s, while trying: {step}");
        // There is nobody left to tell if standard error is closed.
        let _ = writeln!(std::io::stderr(), "error: {why}; see the kernel's log (dmesg)");
        if let Err(what) = last(&why) {
            let _ = writeln!(std::io::stderr(), "error: {what}");
        }
        std::process::exit(1);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_left_behind() {
        let long = Duration::from_secs(60);
        assert_eq!(within(long, || 7), Ok(7));
        let endless = || loop {
            thread::park();
        };
        assert_eq!(within::<()>(Duration::from_millis(20), endless), Err(Without::End));
        assert_eq!(within::<()>(long, || panic!("on purpose")), Err(Without::Outcome));
    }
}
