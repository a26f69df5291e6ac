//! What ranks have come through, in words.

use verbcast_core::driver::Statistics;

/// A line about ports that went down, memberships that ended and UD QPs that failed; none if nothing did.
pub fn line(total: &Statistics) -> Option<String> {
    let Statistics { port_errors, port_down_ms, rejoins, rejoin_ms, restarts, .. } = *total;
    if (port_errors, rejoins, restarts) == (0, 0, 0) {
        return None;
    }
    Some(format!(
        "over all ranks: ports went down {port_errors} times, for {:.1} s; groups were joined again {rejoins} times, \
         after {:.1} s; UD QPs were restarted {restarts} times",
        port_down_ms as f64 / 1e3,
        rejoin_ms as f64 / 1e3,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_told() {
        assert_eq!(line(&Statistics { lost: 3, ..Statistics::default() }), None);
        let total =
            Statistics { port_errors: 1, port_down_ms: 2500, rejoins: 4, ..Statistics::default() };
        let line = line(&total).unwrap();
        assert!(line.contains("1 times, for 2.5 s") && line.contains("again 4 times"), "{line}");
    }
}
