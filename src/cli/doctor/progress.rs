//! What has been found so far: it is written also where the doctor has to be ended before it is done.

use super::finding::Finding;
use super::report::{HostReport, Report};
use super::write_json;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A report that grows. A clone is the same one.
#[derive(Clone)]
pub struct Progress {
    report: Arc<Mutex<Report>>,
    /// Where it is written if it stays as it is.
    file: Option<PathBuf>,
}

impl Progress {
    pub fn new(file: Option<PathBuf>) -> Progress {
        Progress { report: Arc::default(), file }
    }

    fn lock(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host is looked at from now on.
    pub fn begin(&self, host: HostReport) {
        self.lock().hosts.push(host);
    }

    /// The host that is looked at has found something.
    pub fn add(&self, finding: Finding) {
        if let Some(host) = self.lock().hosts.last_mut() {
            host.findings.push(finding);
        }
    }

    /// What there is.
    pub fn report(&self) -> Report {
        self.lock().clone()
    }

    /// It stays as it is, for this reason.
    pub fn give_up(&self, why: &str) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let report = Report { unfinished: Some(why.to_owned()), ..self.report() };
        write_json(file, &report).map_err(|failure| failure.messages.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Tried;
    use super::super::report::example;
    use super::*;

    #[test]
    fn what_was_found_before_the_end_is_written() {
        let file = std::env::temp_dir().join(format!("verbcast-progress-{}", std::process::id()));
        let progress = Progress::new(Some(file.clone()));
        let mut host = example(Tried::holds("joined")).hosts.remove(0);
        let finding = host.findings.remove(0);
        progress.begin(host);
        progress.add(finding);
        progress.give_up("no end after 1 s, while trying: something").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&json["healthy"], &json["report"]["hosts"][0]["findings"][0]["came"]),
            (&false.into(), &"joined".into())
        );
        assert!(text.contains("while trying: something"), "{text}");
    }
}
