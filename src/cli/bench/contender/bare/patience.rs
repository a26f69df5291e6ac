//! Waiting that ends.

use std::time::{Duration, Instant};
use verbcast::rdma::Waiting;

/// One wait for others, which look by polling whatever `VERBCAST_WAIT` says: there is nothing to sleep on for both the
/// packets and the credits.
pub struct Patience {
    is_spinning: bool,
    within: Duration,
    since: Option<Instant>,
}

impl Patience {
    /// A wait that ends when nothing has happened for so long.
    pub fn new(waiting: Waiting, within: Duration) -> Patience {
        Patience { is_spinning: waiting == Waiting::Spin, within, since: None }
    }

    /// Something has happened.
    pub fn renew(&mut self) {
        self.since = None;
    }

    /// Lets others have the core for a moment, unless the processes spin.
    ///
    /// # Errors
    /// If time is up: what is missing.
    pub fn wait(&mut self, missing: impl FnOnce() -> String) -> Result<(), String> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.within {
            return Err(format!("{} for {:?}", missing(), self.within));
        }
        match self.is_spinning {
            true => std::hint::spin_loop(),
            false => std::thread::yield_now(),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_and_begins_anew() {
        let mut none = Patience::new(Waiting::Yield, Duration::ZERO);
        assert_eq!(none.wait(|| "no packet".to_owned()), Err("no packet for 0ns".to_owned()));
        let mut long = Patience::new(Waiting::Spin, Duration::from_secs(3600));
        assert_eq!(long.wait(|| unreachable!()), Ok(()));
        assert!(long.since.is_some());
        long.renew();
        assert!(long.since.is_none());
    }
}
