//! What has to be removed if this process must end at once.

use signal_hook::iterator::Signals;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The file or folder that is being written, if any; shared with the threads that may end the process.
#[derive(Clone, Default)]
pub struct Cleanup(Arc<Mutex<Option<PathBuf>>>);

impl Cleanup {
    /// Does `step` while the process cannot be ended from outside, and keeps the path that it
    /// leaves to be removed.
    pub fn update<T>(&self, step: impl FnOnce(&mut Option<PathBuf>) -> T) -> T {
        step(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the file or folder and ends the process. The lock stays taken, so that none comes after.
    fn die(&self, status: i32) -> ! {
        let path = self.lock();
        if let Some(path) = &*path {
            remove(path);
        }
        signal_hook::low_level::exit(status)
    }

    /// Ends this process properly when it is asked to end.
    pub fn on_signals(&self) -> io::Result<()> {
        let mut signals = Signals::new(super::signals::endings())?;
        let cleanup = self.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            if let Some(signal) = signals.forever().next() {
                cleanup.die(128 + signal);
            }
        })?;
        Ok(())
    }

    /// Ends this process when the launcher has ended, which closes `lifeline`, and removes the rendezvous that the
    /// launcher would have removed.
    pub fn on_end_of_launcher(
        &self,
        mut lifeline: impl Read + Send + 'static,
        socket: Option<PathBuf>,
    ) {
        let cleanup = self.clone();
        thread::spawn(move || {
            let mut byte = [0];
            loop {
                match lifeline.read(&mut byte) {
                    Ok(1..) => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                }
            }
            if let Some(socket) = socket {
                // Another rank may have been first.
                let _ = std::fs::remove_file(&socket);
                let _ = socket.parent().map(std::fs::remove_dir::<&Path>);
            }
            cleanup.die(1);
        });
    }
}

/// Removes a file, or a folder with all that is in it. Nothing more can be done where this fails, or where a rank that
/// ended by itself was first.
pub fn remove(path: &Path) {
    let _ = match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(path),
        _ => std::fs::remove_file(path),
    };
}
