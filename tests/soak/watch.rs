//! A round that does not end.

use crate::draw::Round;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a round may take on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Ends the process when a round takes too long, and says which one; until it is dropped.
pub struct Watch {
    alive: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn over(round: &Round) -> Watch {
        let (alive, ended) = channel();
        let round = round.clone();
        let watcher = thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                round.complain(&format!("it takes longer than {PATIENCE:?}"));
                std::process::exit(1);
            }
        });
        Watch { alive: Some(alive), watcher: Some(watcher) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.alive = None;
        // It has nothing more to do, and is not counted with the next round's threads.
        self.watcher.take().map(JoinHandle::join);
    }
}
