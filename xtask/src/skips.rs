//! Tests that say that they did not run, which test harnesses take for passed.

use quick_junit::{Report, TestCase, TestCaseStatus};

/// What such a test says, before the reason.
const MARK: &str = "SKIPPED: ";

/// A test that did not run.
#[derive(Debug, PartialEq, Eq)]
pub struct Skip {
    pub test: String,
    pub reason: String,
}

/// Makes skips of tests that passed and said that they were skipped; which ones.
pub fn mark(report: &mut Report) -> Vec<Skip> {
    let mut found = Vec::new();
    for suite in &mut report.test_suites {
        for case in &mut suite.test_cases {
            let TestCaseStatus::Success { .. } = case.status else { continue };
            let Some(reason) = reason(case) else { continue };
            case.status = TestCaseStatus::skipped();
            case.status.set_message(&reason);
            suite.skipped += 1;
            report.skipped += 1;
            found.push(Skip { test: case.name.to_string(), reason });
        }
    }
    found
}

fn reason(case: &TestCase) -> Option<String> {
    let outputs = [&case.system_out, &case.system_err];
    outputs.into_iter().flatten().find_map(|output| reason_in(output))
}

/// The reason for which something did not run, from what it said.
pub fn reason_in(output: &str) -> Option<String> {
    output.lines().find_map(|line| said(line).strip_prefix(MARK)).map(str::to_owned)
}

/// A line without the `test NAME ... ` that a test's first line comes after, where nothing captures its output.
fn said(line: &str) -> &str {
    let after_name = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "));
    after_name.map_or(line, |(_, said)| said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quick_junit::{NonSuccessKind, TestSuite};

    fn case(name: &str, status: TestCaseStatus, said: &str) -> TestCase {
        let mut case = TestCase::new(name, status);
        case.set_system_out(said);
        case
    }

    #[test]
    fn a_test_that_says_so_is_skipped_unless_it_failed() {
        let failed = TestCaseStatus::non_success(NonSuccessKind::Failure);
        let mut suite = TestSuite::new("suite");
        suite.add_test_case(case("passed", TestCaseStatus::success(), "all is fine\n"));
        suite.add_test_case(case("mentions", TestCaseStatus::success(), "says SKIPPED: x\n"));
        suite.add_test_case(case(
            "skipped",
            TestCaseStatus::success(),
            "began\nSKIPPED: no RDMA device\n",
        ));
        let first_line = "running 1 test\ntest a::first ... SKIPPED: no strace\nok\n";
        suite.add_test_case(case("first-line", TestCaseStatus::success(), first_line));
        suite.add_test_case(case("failed", failed, "SKIPPED: half of it\n"));
        let mut on_stderr = TestCase::new("on-stderr", TestCaseStatus::success());
        on_stderr.set_system_err("SKIPPED: no header\n");
        suite.add_test_case(on_stderr);
        let mut report = Report::new("report");
        report.add_test_suite(suite);

        let skips = mark(&mut report);
        let skip = |test: &str, reason: &str| Skip { test: test.into(), reason: reason.into() };
        let expected = [
            ("skipped", "no RDMA device"),
            ("first-line", "no strace"),
            ("on-stderr", "no header"),
        ];
        assert_eq!(skips, expected.map(|(test, reason)| skip(test, reason)));
        let suite = &report.test_suites[0];
        assert_eq!((report.tests, report.failures, report.skipped), (6, 1, 3));
        assert_eq!((suite.tests, suite.failures, suite.skipped), (6, 1, 3));
    }
}
