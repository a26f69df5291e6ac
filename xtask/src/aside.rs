//! Sections that run while others do, on processors that those leave idle: tests on devices wait for much of their time.

use crate::nextest;
use crate::process::{self, Ended, Interruption};
use crate::section::{Results, Run, Section, words};
use std::error::Error;
use std::fs::File;
use std::io;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Gives a session of its own the least weight: Linux weighs sessions against each other before it looks at the programs
/// in them.
const LAST: &str = "echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 \"$@\"";

type Outcome = io::Result<(Ended, Duration)>;

/// What runs aside, until it is joined or dropped.
pub struct Aside {
    sections: Vec<(Section<'static>, String)>,
    interruption: Interruption,
    thread: Option<JoinHandle<Vec<Outcome>>>,
}

impl Aside {
    /// Runs commands, one after the other.
    ///
    /// # Errors
    /// If there can be no logs.
    pub fn begin(
        run: &Run,
        commands: Vec<(Section<'static>, Command)>,
    ) -> Result<Aside, Box<dyn Error>> {
        let interruption = run.interruption().or_own();
        let (mut sections, mut jobs) = (Vec::new(), Vec::new());
        for (section, command) in commands {
            if let Results::Nextest(profile) = section.results {
                nextest::forget_report(profile)?;
            }
            println!("\n== aside: {}", section.name);
            jobs.push((last(&command), File::create(run.log(section.name))?, section.limit));
            sections.push((section, words(&command)));
        }
        let asked = interruption.clone();
        let thread = thread::spawn(move || {
            let run = |(mut command, log, limit): (Command, File, Duration)| {
                let began = Instant::now();
                let ended = process::run_session(&mut command, log, limit, &asked)?;
                Ok((ended, began.elapsed()))
            };
            jobs.into_iter().map(run).collect()
        });
        Ok(Aside { sections, interruption, thread: Some(thread) })
    }

    /// Waits for them, and takes their results.
    ///
    /// # Errors
    /// If somebody wants the run to end, or one could not be run.
    pub fn join(mut self, run: &mut Run) -> Result<(), Box<dyn Error>> {
        let thread = self.thread.take().expect("it is joined once");
        let outcomes = thread.join().map_err(|_| "the thread of what runs aside has panicked")?;
        for ((section, words), outcome) in self.sections.iter().zip(outcomes) {
            println!("\n== {}: {words} (ran aside)", section.name);
            let (ended, time) = outcome?;
            run.judge(section, &ended, time)?;
        }
        Ok(())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.interruption.ask();
            let _ = thread.join();
        }
    }
}

/// The command in a session of its own, which gets what others leave.
fn last(command: &Command) -> Command {
    let mut aside = Command::new("setsid");
    aside.args(["sh", "-c", LAST, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => aside.env(name, value),
            None => aside.env_remove(name),
        };
    }
    aside
}
