//! The commands in README and the book: those that need nothing are run, all others are checked.

use crate::pages::{self, Block};
use crate::support::{Folder, run, text, verbcast};
use std::path::Path;
use std::process::{Command, Output};

/// Bash in a folder, with the command in its path.
pub fn bash(folder: &Folder, script: &str) -> Command {
    let command = Path::new(env!("CARGO_BIN_EXE_verbcast"));
    let path = std::env::var("PATH").unwrap();
    // It has the environment that `verbcast` clears.
    let mut bash = Command::new("bash");
    for (name, value) in verbcast().get_envs() {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    bash.env("PATH", format!("{}:{path}", command.parent().unwrap().display()));
    bash.current_dir(folder.path("")).args(["-euo", "pipefail", "-c", script]);
    bash
}

#[track_caller]
fn success(block: &Block, output: &Output) {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}: {}\n{stdout}{stderr}", block.place, block.text);
}

#[test]
fn commands_that_need_nothing_run() {
    let blocks = pages::blocks(&["sh"]);
    assert!(!blocks.is_empty());
    for block in blocks {
        let folder = Folder::new();
        success(&block, &run(&mut bash(&folder, &block.text)));
    }
}

/// The commands of a block with what they print, `$ ` before each command, which may go on in indented lines.
fn printed(block: &Block) -> (String, Vec<&str>) {
    let lines: Vec<&str> = block.text.lines().collect();
    let of_command = 1 + lines.iter().take_while(|line| line.ends_with('\\')).count();
    let (command, output) = lines.split_at(of_command);
    let command = command.join("\n");
    (command.strip_prefix("$ ").expect("a command behind $").to_owned(), output.to_vec())
}

/// Whether a line is as expected, where `…` stands for anything.
fn matches(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        Some((before, after)) => line.starts_with(before) && line.ends_with(after),
        None => expected == line,
    }
}

#[test]
fn commands_print_what_the_book_shows() {
    let blocks = pages::blocks(&["console"]);
    assert!(!blocks.is_empty());
    for block in blocks {
        let (command, expected) = printed(&block);
        let folder = Folder::new();
        let output = run(&mut bash(&folder, &command));
        success(&block, &output);
        let output = text(&output.stdout);
        let mut lines = output.lines();
        let mut is_any = false;
        for expected in expected {
            if expected.trim() == "…" {
                is_any = true;
                continue;
            }
            let found = match is_any {
                true => lines.find(|line| matches(expected, line)),
                false => lines.next().filter(|line| matches(expected, line)),
            };
            assert!(found.is_some(), "{}: no line {expected:?} there in\n{output}", block.place);
            is_any = false;
        }
        assert!(is_any || lines.next().is_none(), "{}: more lines in\n{output}", block.place);
    }
}

/// Calls of the command in a line, with their arguments as they are written.
fn calls(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split("&&").flat_map(|part| part.split('|'));
    parts.filter_map(|part| {
        let part = part.split(" #").next().unwrap();
        let mut words = part.match_indices("verbcast ");
        let (at, _) = words.find(|(at, _)| {
            let before = part[..*at].chars().next_back();
            before.is_none_or(|before| before == ' ' || before == '/')
        })?;
        Some(&part[at + "verbcast ".len()..])
    })
}

#[test]
fn calls_are_found_in_their_lines() {
    let line = "srun -N 2 target/verbcast copy 'a b' c   # verbcast copies\n";
    assert_eq!(calls(line).collect::<Vec<_>>(), ["copy 'a b' c  "]);
    assert_eq!(calls("cargo build -p verbcast-cli && verbcast info").collect::<Vec<_>>(), ["info"]);
    assert_eq!(calls("ls verbcast.table libverbcast.so").count(), 0);
}

#[test]
fn commands_that_need_more_are_commands() {
    let languages: [&[&str]; 5] =
        [&["sh"], &["sh", "device"], &["sh", "check"], &["sh", "sbatch"], &["console", "check"]];
    let mut count = 0;
    for block in languages.iter().flat_map(|language| pages::blocks(language)) {
        let folder = Folder::new();
        let script = match block.language[0].as_str() {
            "sh" => block.text.clone(),
            _ => printed(&block).0,
        };
        let parsed = run(bash(&folder, "").args(["-n", "-c", &script]));
        success(&block, &parsed);
        for call in script.replace("\\\n", " ").lines().flat_map(calls) {
            let call = match cfg!(feature = "mpi") {
                true => call.to_owned(),
                false => call.replace(",mpi", ""),
            };
            // It refuses what it does not know before it comes to the last option. After a program, that is the program's;
            // it would be run if there were a library for it.
            let output = run(&mut bash(&folder, &format!("verbcast {call} --help")));
            let is_program = call.starts_with("preload ")
                && text(&output.stderr).contains("install it for an MPI library");
            if !is_program {
                success(&block, &output);
            }
            count += 1;
        }
    }
    assert!(count > 0);
}

/// Every block of commands is one that some test looks at.
#[test]
fn blocks_are_in_languages_that_are_tested() {
    let tested =
        ["sh", "sh,device", "sh,check", "sh,sbatch", "console", "console,check", "rust,no_run"];
    for page in pages::pages() {
        for block in page.parts().0 {
            let language = block.language.join(",");
            let is_shown = ["toml", "text"].contains(&language.as_str());
            assert!(is_shown || tested.contains(&language.as_str()), "{}: {language}", block.place);
        }
    }
}
