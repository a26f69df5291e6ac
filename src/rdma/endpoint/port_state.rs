//! Whether the own port is up.

use std::time::Duration;
use verbcast_core::time::Instant;

/// The state of a port, as its events tell it.
#[derive(Debug, Default)]
pub struct PortState {
    down_since: Option<Instant>,
    /// When it came up last, and how long it had been down.
    came_up: Option<(Instant, Duration)>,
    /// Times that it went down.
    errors: u64,
    /// How long it was down, before the present time if that is one.
    down: Duration,
}

impl PortState {
    /// It went down; whether that is news.
    pub fn fall(&mut self, now: Instant) -> bool {
        let is_news = self.down_since.is_none();
        self.down_since.get_or_insert(now);
        self.errors += u64::from(is_news);
        is_news
    }

    /// It is up; how long it was down, if it was.
    pub fn rise(&mut self, now: Instant) -> Option<Duration> {
        let down = now - self.down_since.take()?;
        self.down += down;
        self.came_up = Some((now, down));
        Some(down)
    }

    /// How long it has been down, if it is.
    pub fn down_for(&self, now: Instant) -> Option<Duration> {
        self.down_since.map(|since| now - since)
    }

    /// How long it was down and since when it is not, if it came up within the time before now.
    pub fn was_down(&self, now: Instant, within: Duration) -> Option<(Duration, Duration)> {
        let (at, down) = self.came_up?;
        let since = now - at;
        (since <= within).then_some((down, since))
    }

    /// Times that it went down, and how long it was down in all.
    pub fn totals(&self) -> (u64, Duration) {
        (self.errors, self.down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_comes_back_tells_how_long_it_was_down() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut port = PortState::default();
        assert_eq!(port.rise(at(1)), None, "it was not down");
        assert!(port.fall(at(2)));
        assert!(!port.fall(at(4)), "it is down already");
        assert_eq!(port.down_for(at(5)), Some(Duration::from_secs(3)));
        assert_eq!(port.was_down(at(5), Duration::MAX), None);
        assert_eq!(port.rise(at(6)), Some(Duration::from_secs(4)));
        let seconds = Duration::from_secs;
        assert_eq!(port.was_down(at(9), seconds(3)), Some((seconds(4), seconds(3))));
        assert_eq!(port.was_down(at(9), seconds(2)), None, "that was long ago");
        assert_eq!((port.down_for(at(7)), port.totals()), (None, (1, Duration::from_secs(4))));
    }
}
