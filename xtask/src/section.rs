//! Sections of a run: each is a command, announced, limited in time and kept in a log, and the run goes on after one that
//! fails.

use crate::process::{self, Ended, Interruption};
use crate::skips::{self, Skip};
use crate::tally::{Tally, cases};
use crate::{libtest, nextest};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Lines of a log, or of what a test said, that are shown when it failed.
const SHOWN: usize = 60;

/// What a section's results are read from.
#[derive(Clone, Copy)]
pub enum Results {
    /// Its exit status alone.
    Status,
    /// What `cargo test` writes.
    Libtest,
    /// The report of nextest with a profile of `.config/nextest.toml`.
    Nextest(&'static str),
}

/// What a section has to do, besides ending well.
pub struct Section<'a> {
    pub name: &'a str,
    pub results: Results,
    pub limit: Duration,
    /// Whether all is there that its tests need, so that none may be skipped for want of it.
    pub is_promised: bool,
    /// Where its output goes, if that is not a message.
    pub output: Option<&'a Path>,
}

impl<'a> Section<'a> {
    pub fn new(name: &'a str, limit: Duration) -> Self {
        Section { name, results: Results::Status, limit, is_promised: false, output: None }
    }

    pub fn with_results(self, results: Results) -> Self {
        Section { results, ..self }
    }

    pub fn promised(self) -> Self {
        Section { is_promised: true, ..self }
    }

    pub fn with_output(self, output: &'a Path) -> Self {
        Section { output: Some(output), ..self }
    }
}

/// A run of sections.
pub struct Run {
    /// The folder of logs and reports.
    folder: PathBuf,
    interruption: Interruption,
    tally: Tally,
    failed_tests: Vec<String>,
    sections: TestSuite,
}

impl Run {
    /// Begins with an empty folder.
    ///
    /// # Errors
    /// If there can be none, or signals cannot be handled.
    pub fn new(folder: PathBuf) -> Result<Run, Box<dyn Error>> {
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir_all(&folder)?,
        }
        Ok(Run {
            folder,
            interruption: Interruption::by_signals()?,
            tally: Tally::default(),
            failed_tests: Vec::new(),
            sections: TestSuite::new("sections"),
        })
    }

    /// Where the sections leave files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a section; whether all is well.
    ///
    /// # Errors
    /// If somebody wants the run to end, or a file cannot be written.
    pub fn section(
        &mut self,
        section: &Section<'_>,
        command: &mut Command,
    ) -> Result<bool, Box<dyn Error>> {
        println!("\n== {}: {}", section.name, words(command));
        let log = self.log(section.name);
        if let Results::Nextest(profile) = section.results {
            nextest::forget_report(profile)?;
        }
        let began = Instant::now();
        let errors = File::create(&log)?;
        let output = match section.output {
            Some(path) => File::create(path)?,
            None => errors.try_clone()?,
        };
        let ended = process::run(command, output, errors, section.limit, &self.interruption)?;
        self.judge(section, &ended, began.elapsed())
    }

    /// Where what a section says is kept.
    pub fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    pub fn interruption(&self) -> Interruption {
        self.interruption.clone()
    }

    /// Takes the results of a section that has ended; whether all is well.
    ///
    /// # Errors
    /// If somebody wants the run to end, or a file cannot be written.
    pub fn judge(
        &mut self,
        section: &Section<'_>,
        ended: &Ended,
        time: Duration,
    ) -> Result<bool, Box<dyn Error>> {
        let log = self.log(section.name);
        let mut wrong = match ended {
            Ended::ByItself(status) if status.success() => Vec::new(),
            Ended::ByItself(status) => vec![status.to_string()],
            Ended::Late => vec![format!("not done after {} s", section.limit.as_secs())],
            Ended::Interrupted => return Err("interrupted".into()),
        };
        let has_failures = match self.read(section, &log) {
            Ok(Some(report)) => self.take(section, report, &mut wrong)?,
            Ok(None) => false,
            Err(error) => {
                wrong.push(error.to_string());
                false
            }
        };
        println!("{} s", time.as_secs());
        if !wrong.is_empty() && !has_failures {
            println!("{}", last_lines(&text_of(&log)?));
        }
        let has_tests = !matches!(section.results, Results::Status);
        let skip = if has_tests { None } else { skips::reason_in(&text_of(&log)?) };
        self.note(section.name, time, &wrong, skip);
        Ok(wrong.is_empty())
    }

    /// A failure of something that is not a command.
    pub fn fail(&mut self, name: &str, what: &str) {
        self.note(name, Duration::ZERO, &[what.to_owned()], None);
    }

    /// Keeps how a section came out: what is wrong with it, or why it did not run although nothing is.
    fn note(&mut self, name: &str, time: Duration, wrong: &[String], skip: Option<String>) {
        let mut case = TestCase::new(name, TestCaseStatus::success());
        if !wrong.is_empty() {
            let wrong = wrong.join("; ");
            println!("== {name} FAILED: {wrong}");
            case.status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            case.status.set_message(wrong);
        } else if let Some(reason) = skip {
            println!("== {name} SKIPPED: {reason}");
            case.status = TestCaseStatus::skipped();
            case.status.set_message(reason);
            self.tally.skipped += 1;
        }
        case.set_time(time);
        self.sections.add_test_case(case);
    }

    fn read(&self, section: &Section<'_>, log: &Path) -> Result<Option<Report>, Box<dyn Error>> {
        match section.results {
            Results::Status => Ok(None),
            Results::Libtest => Ok(Some(libtest::parse(&text_of(log)?, section.name))),
            Results::Nextest(profile) => nextest::report(profile).map(Some),
        }
    }

    /// Counts and keeps a report, and shows what failed; whether a test did.
    fn take(
        &mut self,
        section: &Section<'_>,
        mut report: Report,
        wrong: &mut Vec<String>,
    ) -> Result<bool, Box<dyn Error>> {
        let skips = skips::mark(&mut report);
        let tally = Tally::of(&report);
        println!("{tally}");
        for (reason, count) in by_reason(&skips) {
            println!("{count:7} SKIPPED: {reason}");
        }
        wrong.extend(verdict(tally, &skips, section.is_promised));
        for case in cases(&report) {
            if let TestCaseStatus::NonSuccess { .. } = case.status {
                println!("\n-- {}", case.name.as_str());
                for said in [&case.system_out, &case.system_err].into_iter().flatten() {
                    println!("{}", last_lines(said));
                }
                self.failed_tests.push(format!("{}: {}", section.name, case.name.as_str()));
            }
        }
        let file = File::create(self.folder.join(format!("junit-{}.xml", section.name)))?;
        report.serialize(file)?;
        self.tally += tally;
        Ok(tally.failed > 0)
    }

    /// Says what failed and, in the last line, how many tests did what.
    ///
    /// # Errors
    /// If the report of the sections cannot be written.
    pub fn finish(self) -> Result<ExitCode, Box<dyn Error>> {
        println!();
        for test in &self.failed_tests {
            println!("failed: {test}");
        }
        let is_failed = |case: &&TestCase| matches!(case.status, TestCaseStatus::NonSuccess { .. });
        let failed: Vec<&str> =
            self.sections.test_cases.iter().filter(is_failed).map(|case| &*case.name).collect();
        if !failed.is_empty() {
            println!("failed: {} (logs: {})", failed.join(" "), self.folder.display());
        }
        let is_well = failed.is_empty() && self.tally.failed == 0;
        let mut report = Report::new("verbcast");
        report.add_test_suite(self.sections);
        report.serialize(File::create(self.folder.join("junit-sections.xml"))?)?;
        println!("{}", self.tally);
        Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What is wrong with a section's tests. Those that are ignored may be: they are asked for, or not.
fn verdict(tally: Tally, skips: &[Skip], is_promised: bool) -> Option<String> {
    if tally.failed > 0 {
        Some(format!("{} tests failed", tally.failed))
    } else if tally.passed == 0 {
        Some("no test has passed".to_owned())
    } else if is_promised && !skips.is_empty() {
        let tests: Vec<_> = skips.iter().map(|skip| skip.test.as_str()).collect();
        Some(format!("skipped although all was there: {}", tests.join(", ")))
    } else {
        None
    }
}

fn by_reason(skips: &[Skip]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for skip in skips {
        *counts.entry(skip.reason.as_str()).or_default() += 1;
    }
    counts
}

fn text_of(log: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(log)?).into_owned())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

/// A command as one would type it.
pub fn words(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(reasons: &[&str]) -> Vec<Skip> {
        let skip = |reason: &&str| Skip { test: "test".into(), reason: (*reason).into() };
        reasons.iter().map(skip).collect()
    }

    #[test]
    fn a_section_is_well_if_tests_passed_and_none_failed() {
        let passed = Tally { passed: 1, failed: 0, skipped: 3 };
        assert_eq!(verdict(passed, &[], true), None);
        assert_eq!(verdict(passed, &skips(&["no device"]), false), None);
        assert!(verdict(Tally { failed: 1, ..passed }, &[], false).is_some());
        assert!(verdict(Tally { passed: 0, ..passed }, &[], false).is_some());
    }

    #[test]
    fn a_skip_is_a_failure_where_all_was_promised() {
        let passed = Tally { passed: 1, failed: 0, skipped: 1 };
        let wrong = verdict(passed, &skips(&["no device"]), true).unwrap();
        assert!(wrong.contains("skipped although") && wrong.contains("test"), "{wrong}");
    }

    /// How a section came out that ran this script: whether it was well, and what was counted.
    fn outcome(script: &str) -> (bool, Tally, TestCaseStatus) {
        let name = format!("verbcast-section-{}-{}", std::process::id(), script.len());
        let folder = std::env::temp_dir().join(name);
        let mut run = Run::new(folder.clone()).unwrap();
        let section = Section::new("section", Duration::from_secs(600));
        let is_well = run.section(&section, Command::new("sh").args(["-c", script])).unwrap();
        fs::remove_dir_all(folder).unwrap();
        (is_well, run.tally, run.sections.test_cases[0].status.clone())
    }

    #[test]
    fn a_section_that_says_so_is_skipped_unless_it_failed() {
        let (is_well, tally, status) = outcome("echo began; echo SKIPPED: no compiler");
        assert_eq!((is_well, tally.skipped), (true, 1));
        assert!(matches!(status, TestCaseStatus::Skipped { .. }));
        let (is_well, tally, status) = outcome("echo SKIPPED: half of it; exit 1");
        assert_eq!((is_well, tally.skipped), (false, 0));
        assert!(matches!(status, TestCaseStatus::NonSuccess { .. }));
        let (is_well, tally, status) = outcome("echo done");
        assert_eq!((is_well, tally.skipped), (true, 0));
        assert!(matches!(status, TestCaseStatus::Success { .. }));
    }

    #[test]
    fn reasons_are_counted() {
        let skips = skips(&["no device", "no strace", "no device"]);
        let counts: Vec<_> = by_reason(&skips).into_iter().collect();
        assert_eq!(counts, [("no device", 2), ("no strace", 1)]);
    }

    #[test]
    fn the_end_of_a_long_text_is_shown() {
        let text: Vec<_> = (0..2 * SHOWN).map(|line| line.to_string()).collect();
        assert_eq!(last_lines(&text.join("\n")), text[SHOWN..].join("\n"));
        assert_eq!(last_lines("short"), "short");
    }
}
