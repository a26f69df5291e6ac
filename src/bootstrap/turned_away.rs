//! Who was turned away at the rendezvous: for the log, and for the message if somebody is missing in the end.

/// Of more than these the log says nothing, so that a flood does not fill it.
const MAX_LOGGED: u64 = 16;

/// Connections that were turned away.
#[derive(Debug, Default)]
pub(super) struct TurnedAway {
    count: u64,
    last: Option<String>,
}

impl TurnedAway {
    /// One more was, for a reason.
    pub(super) fn note(&mut self, from: &str, why: &str) {
        self.count += 1;
        match self.count {
            ..MAX_LOGGED => tracing::warn!("turned away a connection from {from}: {why}"),
            MAX_LOGGED => tracing::warn!(
                "turned away a connection from {from}: {why}; no further ones are reported"
            ),
            _ => {}
        }
        self.last = Some(format!("a connection from {from}: {why}"));
    }

    /// A phrase about the connections that were turned away, if there were any.
    pub(super) fn in_words(&self) -> Option<String> {
        let last = self.last.as_ref()?;
        Some(match self.count {
            1 => format!("turned away: {last}"),
            count => format!("turned away {count} connections, at last {last}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_is_named_and_all_are_counted() {
        let mut turned_away = TurnedAway::default();
        assert_eq!(turned_away.in_words(), None);
        turned_away.note("there", "silent");
        assert_eq!(turned_away.in_words().unwrap(), "turned away: a connection from there: silent");
        (0..MAX_LOGGED).for_each(|_| turned_away.note("here", "loud"));
        let expected = "turned away 17 connections, at last a connection from here: loud";
        assert_eq!(turned_away.in_words().unwrap(), expected);
    }
}
