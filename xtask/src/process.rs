//! Runs a program within a time limit, and ends it with all that it started when it is time.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two looks at a program.
const PAUSE: Duration = Duration::from_millis(50);
/// For a program that is asked to end; `ci/softroce` stops its machine meanwhile.
const GRACE: Duration = Duration::from_secs(20);

/// Whether somebody wants this program, or a part of what it does, to end.
#[derive(Clone)]
pub struct Interruption(Vec<Arc<AtomicBool>>);

impl Interruption {
    /// By the signals that ask for it.
    ///
    /// # Errors
    /// If the signals cannot be handled.
    pub fn by_signals() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Interruption(vec![flag]))
    }

    /// This one, or that of a part, which [`Interruption::ask`] asks for.
    pub fn or_own(mut self) -> Self {
        self.0.push(Arc::default());
        self
    }

    /// Asks for the last one's part.
    pub fn ask(&self) {
        self.0.last().expect("there is one").store(true, Ordering::Relaxed);
    }

    pub fn is_asked_for(&self) -> bool {
        self.0.iter().any(|flag| flag.load(Ordering::Relaxed))
    }
}

/// How a program has ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    ByItself(ExitStatus),
    /// It was ended because its time was up.
    Late,
    /// It was ended because somebody wants this one to end.
    Interrupted,
}

/// Runs a program in a process group of its own, without input.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn run(
    command: &mut Command,
    output: File,
    errors: File,
    limit: Duration,
    interruption: &Interruption,
) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
    wait(&mut command.spawn()?, limit, interruption)
}

/// The same for a program that makes a session of its own, as `setsid` does; it would do so in another process if it led a
/// group already.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn run_session(
    command: &mut Command,
    said: File,
    limit: Duration,
    interruption: &Interruption,
) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
    wait(&mut command.spawn()?, limit, interruption)
}

fn wait(child: &mut Child, limit: Duration, interruption: &Interruption) -> io::Result<Ended> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::ByItself(status));
        }
        if interruption.is_asked_for() {
            end(child)?;
            return Ok(Ended::Interrupted);
        }
        if began.elapsed() > limit {
            end(child)?;
            return Ok(Ended::Late);
        }
        sleep(PAUSE);
    }
}

/// Asks a program and what it has started to end, and kills what does not.
fn end(child: &mut Child) -> io::Result<()> {
    let group = Pid::from_child(child);
    kill_process_group(group, Signal::TERM)?;
    let asked = Instant::now();
    while asked.elapsed() < GRACE && child.try_wait()?.is_none() {
        sleep(PAUSE);
    }
    // What has ended already is not an error.
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn ended(script: &str, limit: Duration, interruption: &Interruption) -> Ended {
        let nowhere = || File::create("/dev/null").unwrap();
        let mut command = Command::new("sh");
        run(command.args(["-c", script]), nowhere(), nowhere(), limit, interruption).unwrap()
    }

    fn never() -> Interruption {
        Interruption(vec![Arc::default()])
    }

    #[test]
    fn a_program_that_ends_by_itself_gives_its_status() {
        let long = Duration::from_secs(600);
        for code in [0, 3] {
            let ended = ended(&format!("exit {code}"), long, &never());
            let Ended::ByItself(status) = ended else { panic!("{ended:?}") };
            assert_eq!(status.code(), Some(code));
        }
    }

    /// A program that starts another, which does not end when it is asked to, and waits for it.
    fn with_stubborn_one(file: &Path) -> String {
        let stubborn = format!("trap '' TERM; echo $$ >{}; exec sleep 600", file.display());
        format!("sh -c \"{}\" & wait", stubborn.replace('$', "\\$"))
    }

    /// Waits until the process in that file is gone, or would be if whoever has it now looked.
    fn assert_is_gone(pid: &str) {
        let begun = Instant::now();
        while let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) {
            if status.contains("\nState:\tZ") {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "left behind: {status}");
            sleep(PAUSE);
        }
    }

    /// Has a program run until its time is up, which is as long as it needs to start another; both are gone then.
    fn assert_all_end(name: &str, run: impl Fn(&str, Duration) -> Ended) {
        let file = std::env::temp_dir().join(format!("verbcast-{name}-{}", std::process::id()));
        let mut limit = Duration::from_millis(200);
        let pid = loop {
            assert_eq!(run(&with_stubborn_one(&file), limit), Ended::Late);
            match fs::read_to_string(&file) {
                Ok(pid) if pid.ends_with('\n') => break pid,
                _ => limit *= 2,
            }
        };
        fs::remove_file(&file).unwrap();
        assert_is_gone(pid.trim());
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_what_it_started() {
        assert_all_end("program", |script, limit| ended(script, limit, &never()));
    }

    #[test]
    fn a_session_is_ended_with_what_it_started() {
        assert_all_end("session", |script, limit| {
            let mut command = Command::new("setsid");
            command.args(["sh", "-c", script]);
            let said = File::create("/dev/null").unwrap();
            run_session(&mut command, said, limit, &never()).unwrap()
        });
    }

    #[test]
    fn a_program_is_ended_when_this_one_shall_end() {
        let asked = never();
        asked.ask();
        assert_eq!(ended("sleep 600", Duration::from_secs(600), &asked), Ended::Interrupted);
    }
}
