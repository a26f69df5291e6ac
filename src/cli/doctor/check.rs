//! A thing to try, and trying it within its time.

use super::bounded::{Without, step, within};
use super::finding::{Finding, Tried};
use super::site::Site;
use std::time::{Duration, Instant};

/// An assumption that one host can try by itself.
pub struct Check {
    /// Its number in the matrix.
    pub number: u32,
    /// What is to be seen if it holds.
    pub expected: &'static str,
    /// After this time it counts as broken.
    pub bound: Duration,
    /// Tries it; an error is what refused.
    pub attempt: fn(&Site) -> Result<Tried, String>,
}

impl Check {
    /// Tries it, unless `until` comes first. An attempt that does not end is left behind.
    pub fn run(&self, site: &Site, until: Instant) -> Finding {
        step(format!("assumption {}, {}", self.number, self.expected));
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return self.skip("no time was left");
        }
        let bound = self.bound.min(left);
        let (attempt, site) = (self.attempt, site.clone());
        let tried = match within(bound, move || attempt(&site)) {
            Ok(Ok(tried)) => tried,
            Ok(Err(what)) => {
                Tried::broken(what, "see the message; the kernel's log (dmesg) may say more")
            }
            Err(Without::End) if bound < self.bound => {
                Tried::not_tried("no time was left for its end")
            }
            Err(Without::End) => Tried::broken(
                format!("no end within {:.0} s", bound.as_secs_f64()),
                "the adapter or its driver does not answer: see the kernel's log (dmesg)",
            ),
            Err(Without::Outcome) => {
                Tried::broken("the check itself failed", "please report what standard error says")
            }
        };
        Finding::new(self.number, self.expected, tried)
    }

    /// Does not try it.
    pub fn skip(&self, why: &str) -> Finding {
        Finding::new(self.number, self.expected, Tried::not_tried(why))
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Outcome;
    use super::*;

    fn check(attempt: fn(&Site) -> Result<Tried, String>) -> Check {
        Check { number: 1, expected: "an answer", bound: Duration::from_millis(50), attempt }
    }

    #[test]
    fn what_does_not_end_or_refuses_is_broken() {
        let far = Instant::now() + Duration::from_secs(60);
        let endless = check(|_| {
            loop {
                std::thread::park();
            }
        });
        let finding = endless.run(&Site::example(), far);
        assert_eq!(finding.outcome, Outcome::Broken);
        assert!(finding.came.starts_with("no end within"), "{}", finding.came);
        let refused = check(|_| Err("no".to_owned())).run(&Site::example(), far);
        assert_eq!((refused.outcome, refused.came.as_str()), (Outcome::Broken, "no"));
        assert!(refused.advice.is_some());
    }

    #[test]
    fn what_has_not_its_whole_time_is_not_broken() {
        let endless = check(|_| {
            loop {
                std::thread::park();
            }
        });
        let finding = endless.run(&Site::example(), Instant::now() + endless.bound / 2);
        assert_eq!(finding.outcome, Outcome::NotTried, "{}", finding.came);
    }

    #[test]
    fn without_time_nothing_is_tried() {
        let never = check(|_| panic!("it is not tried"));
        let finding = never.run(&Site::example(), Instant::now());
        assert_eq!(finding.outcome, Outcome::NotTried);
        assert_eq!((finding.number, finding.id.as_str()), (1, "join-by-address"));
    }
}
