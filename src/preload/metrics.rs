//! The counters in a file that monitoring reads while a job runs: `VERBCAST_METRICS` names the folder that the collector
//! `textfile` of Prometheus' node_exporter looks into.
//!
//! A thread of its own writes it, which calls no MPI: a rank that computes for hours after its last broadcast has it counted
//! all the same. What cannot be written is said once, and tried again; the job goes on.

use super::settings::Settings;
use super::variables::{VARIABLES, Values};
use super::{tally, threads, totals};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How often a file is written, at most: as often as node_exporter is asked by those in a hurry.
const PERIOD: Duration = Duration::from_secs(10);
const MICROSECONDS: &str = "_microseconds";

static FILE: OnceLock<File> = OnceLock::new();
static IS_OVER: Mutex<bool> = Mutex::new(false);
static OVER: Condvar = Condvar::new();

/// Where one process's counters go.
#[derive(Debug)]
struct File {
    path: PathBuf,
    rank: u32,
    host: String,
    has_failed: AtomicBool,
}

/// Writes from now on what this rank of `MPI_COMM_WORLD` counts, if the environment wants it.
pub fn start(rank: u32) {
    let Some(folder) = &Settings::get().metrics else { return };
    let host = totals::host();
    let path = folder.join(format!("verbcast-{host}-{rank}.prom"));
    let file = File { path, rank, host, has_failed: AtomicBool::new(false) };
    if FILE.set(file).is_ok() {
        threads::start("verbcast-metrics", || {
            while !sleep() {
                write(true)
            }
        });
    }
}

/// Writes for the last time. The file stays, so that what the job came to can still be read.
pub fn end() {
    *IS_OVER.lock().unwrap_or_else(PoisonError::into_inner) = true;
    OVER.notify_all();
    write(false);
}

/// Whether it is over, after a while.
fn sleep() -> bool {
    let is_over = IS_OVER.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = OVER.wait_timeout_while(is_over, PERIOD, |is_over| !*is_over);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

fn write(is_running: bool) {
    static WRITING: Mutex<bool> = Mutex::new(false);
    // Labels stay as they are, so there is nothing before there is a device.
    let (Some(file), Some(device)) = (FILE.get(), totals::device()) else { return };
    // The last is the last.
    let mut has_ended = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    if *has_ended {
        return;
    }
    *has_ended = !is_running;
    file.write(&text(&Values::now(), file.rank, &file.host, &device, is_running));
}

impl File {
    /// Replaces it as a whole: who reads it meanwhile gets what was there before.
    fn write(&self, text: &str) {
        let new = self.path.with_extension("prom.new");
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.path));
        if let Err(error) = written {
            // Half a file is of no use to anybody.
            let _ = fs::remove_file(&new);
            self.complain(&error);
        }
    }

    fn complain(&self, error: &io::Error) {
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            tally::say(&format!("VERBCAST_METRICS: cannot write {}: {error}", self.path.display()));
        }
    }
}

/// All counters as Prometheus reads them (its text format).
fn text(values: &Values, rank: u32, host: &str, device: &str, is_running: bool) -> String {
    let labels =
        format!("{{rank=\"{rank}\",host=\"{}\",device=\"{}\"}}", escape(host), escape(device));
    let mut text = String::new();
    // Writing to a String does not fail.
    let mut put = |name: &str, kind: &str, about: &str, value: &dyn std::fmt::Display| {
        let _ =
            writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}\n{name}{labels} {value}");
    };
    put("verbcast_running", "gauge", "1 until the process has ended MPI", &u8::from(is_running));
    for variable in &VARIABLES {
        let value = values.of(variable);
        match variable.name.strip_suffix(MICROSECONDS) {
            Some(name) => {
                let about = variable.about.replace("microseconds", "seconds");
                let seconds = Duration::from_micros(value).as_secs_f64();
                put(&format!("{name}_seconds_total"), "counter", &about, &seconds);
            }
            None => put(&format!("{}_total", variable.name), "counter", variable.about, &value),
        }
    }
    text
}

/// A label's value in quotes.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: PathBuf) -> File {
        File { path, rank: 3, host: "a".to_owned(), has_failed: AtomicBool::new(false) }
    }

    #[test]
    fn each_counter_has_its_lines_with_units_and_labels() {
        let text = text(&Values::now(), 3, "a\"b", "rxe0", true);
        let labels = r#"{rank="3",host="a\"b",device="rxe0"}"#;
        assert!(text.contains(&format!("\nverbcast_datagrams_lost_total{labels} ")), "{text}");
        assert!(text.contains("# TYPE verbcast_waiting_seconds_total counter\n"), "{text}");
        assert!(text.contains(&format!("\nverbcast_running{labels} 1\n")), "{text}");
        assert!(!text.contains("micro") && text.ends_with('\n'), "{text}");
        assert_eq!(text.lines().count(), 3 * (VARIABLES.len() + 1));
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = std::env::temp_dir().join(format!("verbcast-metrics-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = file(folder.join("verbcast-a-3.prom"));
        for text in ["one\n", "two\n"] {
            file.write(text);
            assert_eq!(fs::read_to_string(&file.path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_is_missing_is_told_once_and_harms_nothing() {
        let file = file("/nowhere/at/all/verbcast-a-3.prom".into());
        file.write("one\n");
        assert!(file.has_failed.load(Ordering::Relaxed));
        file.write("two\n");
    }
}
