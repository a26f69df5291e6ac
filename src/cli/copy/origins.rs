//! What rank 0 copies from.

use super::args::{CopyArgs, Sparse};
use super::destination::Destination;
use super::manifest::{self, Manifest};
use super::plan::Found;
use super::scan::{Origin, Wanted};
use super::source::Source;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use verbcast::bootstrap::{Bootstrap, Star};
use verbcast_core::rank::Rank;

pub struct Origins {
    pub manifest: Arc<Manifest>,
    files: Arc<Vec<Origin>>,
    /// The manifest, as it is broadcast.
    pub encoded: Vec<u8>,
}

impl Origins {
    /// Looks for everything, at rank 0; there is nothing at the others, which wait for it at the rendezvous, however long it
    /// takes.
    pub fn find(
        star: &mut Star,
        timeout: Duration,
        args: &CopyArgs,
        destination: &Destination,
    ) -> Result<Option<Origins>, String> {
        let is_here = star.rank() == Rank(0);
        is_here
            .then(|| while_others_wait(star, timeout, || Origins::list(args, destination)))
            .transpose()
    }

    fn list(args: &CopyArgs, destination: &Destination) -> Result<Origins, String> {
        let is_folder = matches!(destination, Destination::Path(path) if path.is_folder());
        let wanted = Wanted {
            sources: &args.src,
            into_folder: args.src.len() > 1 || is_folder,
            recursive: args.recursive,
            finds_holes: args.sparse == Sparse::Auto,
        };
        let found = wanted.find()?;
        let encoded = manifest::encode(&found.manifest)?;
        Ok(Origins { manifest: found.manifest.into(), files: found.origins.into(), encoded })
    }

    /// What the plan is made from.
    pub fn found(&self) -> Found<'_> {
        (&self.manifest, &self.encoded)
    }

    /// Reads it from the beginning.
    pub fn source(&self) -> Result<Source, String> {
        Source::new(&self.manifest, &self.files)
    }
}

/// Does something at rank 0 that may take long.
fn while_others_wait<T: Send>(
    star: &mut Star,
    timeout: Duration,
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    let pause = (timeout / 4).min(Duration::from_secs(1));
    thread::scope(|scope| {
        let (done, outcome) = mpsc::channel();
        // The receiver is there.
        scope.spawn(move || done.send(work()).is_ok());
        loop {
            match outcome.recv_timeout(pause) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Timeout) => star.postpone(),
                Err(RecvTimeoutError::Disconnected) => return Err("a thread has ended".to_owned()),
            }
        }
    })
}
