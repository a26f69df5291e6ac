//! Threads of this library's own.

use super::tally;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

/// Starts a thread that no signal is delivered to, so that the program's handlers run where it expects, and that ends with
/// the process; false where the process may have no more threads, which is said.
pub fn start(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    match spawn(Builder::new().name(name.to_owned()), body) {
        Ok(()) => true,
        Err(error) => {
            if !IS_SAID.swap(true, Ordering::Relaxed) {
                tally::say(&format!(
                    "cannot start a thread: {error}; other ranks are served only while this one is in MPI. Let processes \
                     have more threads (ulimit -u)"
                ));
            }
            false
        }
    }
}

fn spawn(builder: Builder, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    without_signals(|| builder.spawn(body)).map(drop)
}

fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are written before they are read, and what was masked before is again.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let started = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        started
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_that_cannot_be_started_is_an_error() {
        let too_large = Builder::new().stack_size(isize::MAX as usize / 2);
        assert!(spawn(too_large, || ()).is_err());
        let (sender, receiver) = mpsc::channel();
        assert!(start("verbcast-test", move || sender.send(()).unwrap()));
        receiver.recv().unwrap();
    }
}
