//! How many tests have passed, failed and been skipped.

use quick_junit::{Report, TestCase, TestCaseStatus};
use std::fmt;
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Tally {
    pub fn of(report: &Report) -> Tally {
        let mut tally = Tally::default();
        for case in cases(report) {
            match case.status {
                TestCaseStatus::Success { .. } => tally.passed += 1,
                TestCaseStatus::NonSuccess { .. } => tally.failed += 1,
                TestCaseStatus::Skipped { .. } => tally.skipped += 1,
            }
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Every test of a report.
pub fn cases(report: &Report) -> impl Iterator<Item = &TestCase> {
    report.test_suites.iter().flat_map(|suite| &suite.test_cases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quick_junit::{NonSuccessKind, TestSuite};

    #[test]
    fn every_test_is_counted_once() {
        let mut report = Report::new("report");
        for statuses in [
            vec![TestCaseStatus::success(), TestCaseStatus::skipped()],
            vec![
                TestCaseStatus::non_success(NonSuccessKind::Failure),
                TestCaseStatus::non_success(NonSuccessKind::Error),
                TestCaseStatus::success(),
                TestCaseStatus::success(),
            ],
        ] {
            let mut suite = TestSuite::new("suite");
            suite.add_test_cases(statuses.into_iter().map(|status| TestCase::new("test", status)));
            report.add_test_suite(suite);
        }
        let mut tally = Tally::of(&report);
        assert_eq!(tally.to_string(), "3 passed, 2 failed, 1 skipped");
        tally += Tally { passed: 10, failed: 20, skipped: 30 };
        assert_eq!(tally.to_string(), "13 passed, 22 failed, 31 skipped");
    }
}
