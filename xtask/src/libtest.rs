//! What `cargo test` writes, as a report: for documentation tests, which nextest does not run, and for those that
//! `ci/mpi` runs.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::HashMap;

/// Reads the output of `cargo test -- --show-output`, which may run several test programs.
pub fn parse(text: &str, name: &str) -> Report {
    let mut report = Report::new(name);
    let mut program = Program::new("tests");
    let mut speaker: Option<String> = None;
    for line in text.lines() {
        if let Some(name) = program_name(line) {
            report.add_test_suite(std::mem::replace(&mut program, Program::new(name)).suite());
            speaker = None;
        } else if let Some(case) = test_case(line) {
            program.cases.push(case);
        } else if let Some(test) = heading(line) {
            speaker = Some(test.to_owned());
        } else if line.starts_with("test result: ") || matches!(line, "failures:" | "successes:") {
            speaker = None;
        } else if let Some(test) = &speaker {
            let said = program.said.entry(test.clone()).or_default();
            said.push_str(line);
            said.push('\n');
        }
    }
    report.add_test_suite(program.suite());
    report.test_suites.retain(|suite| suite.tests > 0);
    report
}

/// A test program's part of the output.
struct Program {
    name: String,
    cases: Vec<TestCase>,
    /// By test.
    said: HashMap<String, String>,
}

impl Program {
    fn new(name: &str) -> Self {
        Program { name: name.to_owned(), cases: Vec::new(), said: HashMap::new() }
    }

    fn suite(mut self) -> TestSuite {
        let mut suite = TestSuite::new(&self.name);
        for mut case in self.cases {
            case.set_classname(&self.name);
            if let Some(said) = self.said.remove(case.name.as_str()) {
                case.set_system_out(said);
            }
            suite.add_test_case(case);
        }
        suite
    }
}

/// What comes before a program's tests: `Running unittests lib.rs (target/…)`, `Doc-tests verbcast`.
fn program_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let running = line.strip_prefix("Running ");
    let name = running.and_then(|rest| rest.strip_suffix(')')?.split(" (").next());
    name.or_else(|| line.starts_with("Doc-tests ").then_some(line))
}

/// `test NAME ... ok`
fn test_case(line: &str) -> Option<TestCase> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let status = match result {
        "ok" => TestCaseStatus::success(),
        "FAILED" => TestCaseStatus::non_success(NonSuccessKind::Failure),
        _ => {
            let reason = result.strip_prefix("ignored")?;
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason.strip_prefix(", ").unwrap_or("ignored"));
            status
        }
    };
    Some(TestCase::new(name, status))
}

/// `---- NAME stdout ----`
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
   Compiling verbcast v0.1.0
     Running unittests lib.rs (target/debug/deps/verbcast-0123)

running 4 tests
test a::first ... ok
test a::second ... ok
test b::third ... FAILED
test b::fourth ... ignored, takes long

successes:

---- a::second stdout ----
SKIPPED: no device

successes:
    a::first
    a::second

failures:

---- b::third stdout ----
thread 'b::third' panicked
test a::line ... of its own

failures:
    b::third

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out
     Running unittests src/empty.rs (target/debug/deps/empty-0123)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
   Doc-tests verbcast

running 1 test
test src/lib.rs - Broadcaster (line 7) - compile ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
";

    #[test]
    fn every_test_is_read_with_what_it_said() {
        let report = parse(OUTPUT, "report");
        assert_eq!((report.tests, report.failures, report.skipped), (5, 1, 1));
        let names = report.test_suites.iter().map(|suite| suite.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["unittests lib.rs", "Doc-tests verbcast"]);
        let said = |suite: usize, case: usize| {
            let case = &report.test_suites[suite].test_cases[case];
            (case.name.as_str(), case.system_out.as_ref().map(|said| said.trim()))
        };
        assert_eq!(said(0, 0), ("a::first", None));
        assert_eq!(said(0, 1), ("a::second", Some("SKIPPED: no device")));
        let third = "thread 'b::third' panicked\ntest a::line ... of its own";
        assert_eq!(said(0, 2), ("b::third", Some(third)));
        assert_eq!(said(1, 0), ("src/lib.rs - Broadcaster (line 7) - compile", None));
        let TestCaseStatus::Skipped { message, .. } = &report.test_suites[0].test_cases[3].status
        else {
            panic!("it is ignored")
        };
        assert_eq!(message.as_ref().map(|reason| reason.as_str()), Some("takes long"));
    }

    #[test]
    fn output_without_tests_is_an_empty_report() {
        assert_eq!(parse("error: could not compile\n", "report").tests, 0);
    }
}
