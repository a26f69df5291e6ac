//! A round of processes, one of which is stopped for a while or killed.

use crate::draw::{Round, Trouble};
use crate::{Outcome, devices, threads};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use verbcast::{Broadcaster, Environment, Star};

/// How long a round's processes may take on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// What a process is told: the seed and the number of its round.
const PART: &str = "VERBCAST_SOAK_PART";

/// Does this process's part, if it is one of a round's.
pub fn own_part() -> Option<Outcome> {
    let part = std::env::var(PART).ok()?;
    Some(take_part(&part))
}

fn take_part(part: &str) -> Outcome {
    let (seed, number) = part.split_once(' ').ok_or("a seed and a number")?;
    let round = Round::draw(seed.parse()?, number.parse()?);
    let environment = Environment::from_env()?.ok_or("not started as a rank of a job")?;
    let devices = devices()?;
    let config = round.config(&devices[environment.rank.index() % devices.len()]);
    let mut bootstrap = Star::join(&environment, config.device.timeout)?;
    let mut mine = [Some(Broadcaster::new(&mut bootstrap, &config)?)];
    threads::steps(&round, &mut mine)?;
    if let [Some(broadcaster)] = mine {
        broadcaster.close()?;
    }
    Ok(())
}

/// Runs it: whoever is stopped does no harm, and whoever is killed is named by those that fail.
pub fn run(round: &Round, trouble: Trouble) -> Outcome {
    let meeting = std::env::temp_dir().join(format!("verbcast-soak-{}", std::process::id()));
    let _ = std::fs::remove_file(&meeting);
    let mut children = Vec::new();
    for rank in 0..round.size {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(PART, format!("{} {}", round.seed, round.number));
        command.env("VERBCAST_RANK", rank.to_string()).env("VERBCAST_SIZE", round.size.to_string());
        command.env("VERBCAST_RENDEZVOUS", format!("unix:{}", meeting.display()));
        command.env("VERBCAST_TOKEN", "soak");
        children.push(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?);
    }
    let outcome = trouble_and_wait(&mut children, trouble);
    for child in &mut children {
        // Whoever is still there, whatever went wrong.
        let _ = child.kill();
        let _ = child.wait();
    }
    let _ = std::fs::remove_file(&meeting);
    outcome
}

fn trouble_and_wait(children: &mut [Child], trouble: Trouble) -> Outcome {
    let signal = |child: &Child, which| {
        // SAFETY: a child that was not waited for has its number.
        unsafe { libc::kill(child.id() as i32, which) };
    };
    let victim = match trouble {
        Trouble::Stop { rank, after, length } => {
            let child = &children[rank as usize];
            thread::sleep(after);
            signal(child, libc::SIGSTOP);
            thread::sleep(length);
            signal(child, libc::SIGCONT);
            None
        }
        Trouble::Kill { rank, after } => {
            thread::sleep(after);
            signal(&children[rank as usize], libc::SIGKILL);
            Some(rank)
        }
    };
    let begun = Instant::now();
    let mut is_named = false;
    let mut failures = Vec::new();
    for (rank, child) in (0..).zip(children) {
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("rank {rank} goes on after {PATIENCE:?}").into());
            }
            thread::sleep(Duration::from_millis(5));
        };
        if status.success() || victim == Some(rank) {
            continue;
        }
        let said = std::io::read_to_string(child.stderr.take().ok_or("no stderr")?)?;
        is_named |= victim.is_some_and(|victim| said.contains(&format!("rank {victim}")));
        failures.push(format!("rank {rank}: {status}: {}", said.trim()));
    }
    match failures.is_empty() || is_named {
        true => Ok(()),
        false => Err(failures.join("\n").into()),
    }
}
