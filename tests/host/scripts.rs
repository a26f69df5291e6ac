//! What the scripts in `ci` do by themselves.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, process};
use verbcast_core::protocol::choice::Algorithm;

/// Less than the programs would run.
const PATIENCE: Duration = Duration::from_secs(60);
/// A program in a process group of its own, as `timeout` and MPI's launchers make them, that hears nothing of a request to end. It
/// says which process it is.
const STUBBORN: &str = r#"timeout 100 bash -c "trap '' TERM; echo begun; echo \$\$; for at in {1..100}; do sleep 1; done""#;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// Bash with a script, and the lines that it prints.
fn begin(command: &mut Command, script: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    command.args(["bash", "-c", script, "script"]).current_dir(REPOSITORY);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

/// What there is of a session.
fn session(leader: &str) -> String {
    let output = Command::new("pgrep").args(["--session", leader]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a process runs; one that nobody has waited for yet does not.
fn is_running(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    status.is_ok_and(|status| !status.contains("\nState:\tZ"))
}

/// Waits until nothing of a session runs, nor that process. What is killed is gone once it has run again.
fn assert_ends(leader: &str, process: &str) {
    let begun = Instant::now();
    loop {
        let session = session(leader);
        let left: Vec<_> = session.lines().chain([process]).filter(|one| is_running(one)).collect();
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "left behind: {left:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_is_cancelled_ends_with_all_of_its_process_groups() {
    let job = format!("echo $$; {STUBBORN} & wait");
    let (mut launcher, mut lines) = begin(Command::new("setsid").arg("--wait"), &job);
    let leader = lines.next().unwrap().unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "begun");
    let process = lines.next().unwrap().unwrap();
    assert!(session(&leader).lines().count() >= 3, "leader, timeout and its program");
    let end = format!("set -e; . ci/guest/session.sh; end_session {leader}; end_session {leader}");
    let ended = Command::new("bash").args(["-c", &end]).current_dir(REPOSITORY).status().unwrap();
    assert!(ended.success(), "{ended}");
    launcher.wait().unwrap();
    assert_ends(&leader, &process);
}

/// A folder of this test's, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = env::temp_dir().join(format!("verbcast-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What `ci/softroce` does with `VERBCAST_SOFTROCE=native`, in a folder that has its own `ci/guest/nics.sh`, which says what it is
/// asked for.
struct Native {
    _folder: Folder,
    script: String,
}

impl Native {
    /// With lines in place of what the machine has, or needs.
    fn with(name: &str, lines: &str) -> Native {
        let folder = Folder::new(name);
        let guest = folder.0.join("ci/guest");
        fs::create_dir_all(&guest).unwrap();
        let session = Path::new(REPOSITORY).join("ci/guest/session.sh");
        fs::copy(session, guest.join("session.sh")).unwrap();
        let nics =
            r#"if [[ $1 == --down ]]; then echo "nics $1"; else echo "nics $(head -n 1 "$1")"; fi"#;
        folder.program("ci/guest/nics.sh", nics);
        let at = folder.0.display();
        let script = format!(
            "set -euo pipefail; REPO='{at}'; exec 9>'{at}/lock' 2>&1
             for part in say job native options; do . ci/lib/$part.sh; done
             trap native_clean_up EXIT; trap 'exit 143' TERM
             {lines}\n"
        );
        Native { _folder: folder, script }
    }
}

#[test]
fn a_command_on_this_machine_that_is_cancelled_ends_with_what_it_started_and_has_no_lock() {
    let job = format!("echo $$; ls /proc/$$/fd; {STUBBORN} & wait");
    let native = Native::with(
        "cancelled",
        &format!("native_run 100 bash -c '{}'", job.replace('\'', "'\\''")),
    );
    let (mut script, lines) = begin(Command::new("env").process_group(0), &native.script);
    let mut lines = lines.map(Result::unwrap);
    let leader = lines.next().unwrap();
    let descriptors: Vec<_> = lines.by_ref().take_while(|line| line != "begun").collect();
    assert!(descriptors.iter().any(|one| one == "2"), "{descriptors:?}");
    assert!(!descriptors.iter().any(|one| one == "9"), "{descriptors:?}");
    let process = lines.next().unwrap();
    // As `cargo xtask test` does.
    let group = format!("-{}", script.id());
    assert!(Command::new("kill").args(["-TERM", "--", &group]).status().unwrap().success());
    let ended = script.wait().unwrap();
    assert_eq!((ended.code(), ended.signal()), (Some(143), None));
    assert_ends(&leader, &process);
}

#[test]
fn a_command_on_this_machine_gives_its_status_and_has_a_time_limit() {
    let native = Native::with(
        "status",
        "status=0; native_run 100 bash -c 'exit 3' || status=$?; echo $status
         step() { echo $NATIVE; }
         status=0; native_run 0 sleep 600 || status=$?; echo $status",
    );
    let (mut script, lines) = begin(&mut Command::new("env"), &native.script);
    let lines: Vec<_> = lines.map(Result::unwrap).collect();
    assert!(script.wait().unwrap().success());
    let [first, leader, second] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!([first, second], ["3", "124"]);
    assert_ends(leader, leader);
}

#[test]
fn the_nic_of_a_command_on_this_machine_is_removed_if_it_was_not_there_before() {
    let said = |name: &str, lines: &str| {
        let native = Native::with(name, &format!("{lines}; native_nic 2>&1; native_run 9 echo it"));
        let (mut script, lines) = begin(&mut Command::new("env"), &native.script);
        (lines.map(Result::unwrap).collect::<Vec<_>>(), script.wait().unwrap().success())
    };
    let machine = |foreign, own| {
        format!("has_foreign_rxe0() {{ {foreign}; }}; has_own_nic() {{ {own}; }}; LOSS_LOOPED=")
    };
    let none = machine("false", "false") + "10";
    let expected = ["nics nics=1", "it", "nics --down"].map(str::to_owned).to_vec();
    assert_eq!(said("none", &none), (expected, true));
    let expected = ["nics nics=1", "it"].map(str::to_owned).to_vec();
    assert_eq!(said("own", &machine("false", "true")), (expected, true));
    assert_eq!(said("foreign", &machine("true", "false")), (vec!["it".to_owned()], true));
    let (lines, is_well) = said("foreign-loss", &(machine("true", "false") + "10"));
    assert!(!is_well && lines.len() == 1 && lines[0].contains("--loss-looped"), "{lines:?}");
}

#[test]
fn what_a_job_in_a_guest_has_left_ends_with_it() {
    let folder = Folder::new("job");
    let job = folder.0.join("job");
    let run = |command: &str| {
        let _ = fs::remove_dir_all(&job);
        fs::create_dir(&job).unwrap();
        fs::write(job.join("command"), command).unwrap();
        let script = format!(". ci/guest/session.sh; run_session '{}'", job.display());
        let mut bash = Command::new("bash");
        let status = bash.args(["-uc", &script]).current_dir(REPOSITORY).output().unwrap().stdout;
        let said = fs::read_to_string(job.join("out")).unwrap();
        (String::from_utf8(status).unwrap(), said.trim().to_owned())
    };
    let (status, left) = run("sleep 600 & echo $!; exit 3");
    assert_eq!(status, "3\n");
    assert_ends(&left, &left);
    let (status, left) = run("echo $$; : >\"$(dirname \"$0\")/cancel\"; sleep 600");
    assert_eq!(status, "124\n");
    assert_ends(&left, &left);
}

/// In place of Valgrind, a program runs what it is given. A rank fails where it is beside the one that is counted.
#[test]
fn the_ledger_fails_with_a_rank_whose_instructions_are_not_counted() {
    let folder = Folder::new("turns");
    folder.program("valgrind", "while [[ $1 == --* ]]; do shift; done; COUNTED=yes exec \"$@\"");
    let status = |rank: &str| {
        let turns = folder
            .program("turns", &format!("[[ $VERBCAST_RANK != {rank} || -n ${{COUNTED:-}} ]]"));
        let path = format!("{}:{}", folder.0.display(), env::var("PATH").unwrap());
        let mut script = Command::new("ci/guest/turns.sh");
        script.args([&turns, &folder.0]).current_dir(REPOSITORY);
        script.env("PATH", path).env("VERBCAST_TEST_DEVICES", "rxe0").status().unwrap().code()
    };
    assert_eq!(status("none"), Some(0));
    assert_eq!(status("0"), Some(1));
    assert_eq!(status("1"), Some(1));
}

#[test]
fn the_ledger_fails_with_more_instructions_than_it_allows() {
    let status = |table: &str| {
        let script = format!(
            "LEDGER_MOST='root 1 20 30 40\nleaf 1 20 30 40'; ledger_holds <(echo '{table}')"
        );
        let script = format!(". ci/lib/ledger.sh; {script}");
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(REPOSITORY).status().unwrap().success()
    };
    let head = "window 8 1 root 9\nuser instructions (window): at, idle turn\n";
    let traced = "the same with a timeline\nroot-traced 99 99 99 99";
    assert!(status(&format!("{head}root 1 20 30 40\nleaf 0 9 9 9\n{traced}")));
    for over in ["root 2 20 30 40", "root 1 21 30 40", "root 1 20 31 40", "root 1 20 30 41"] {
        assert!(!status(&format!("{head}{over}\nleaf 0 9 9 9\n{traced}")), "{over}");
    }
    assert!(!status(&format!("{head}root 1 20 30 40\n{traced}")), "a rank is missing");
}

#[test]
fn every_algorithm_is_compared() {
    let script = fs::read_to_string(Path::new(REPOSITORY).join("ci/lib/compare.sh")).unwrap();
    let compared = script.lines().find_map(|line| line.strip_prefix("ALGORITHMS=")).unwrap();
    for (name, _) in Algorithm::NAMES {
        assert!(compared.split(',').any(|one| one == name), "{name} is not in {compared}");
    }
}

#[test]
fn a_clone_whose_path_has_a_blank_or_a_comma_is_refused() {
    for name in ["a blank", "a,comma"] {
        let folder = Folder::new(name);
        let ci = Path::new(REPOSITORY).join("ci");
        assert!(Command::new("cp").arg("-r").args([&ci, &folder.0]).status().unwrap().success());
        let output = Command::new(folder.0.join("ci/softroce")).arg("status").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("may not contain blanks or commas"), "{said}");
    }
}

#[test]
fn each_tells_how_it_is_used_and_does_nothing_else() {
    let entries =
        fs::read_dir(Path::new(REPOSITORY).join("ci")).unwrap().map(|entry| entry.unwrap().path());
    let scripts: Vec<_> = entries.filter(|path| path.is_file()).collect();
    assert!(scripts.len() > 8, "{scripts:?}");
    for script in scripts {
        let output = Command::new("timeout").arg("60").arg(&script).arg("--help").output().unwrap();
        let (said, told) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let name = format!("ci/{}", script.file_name().unwrap().to_str().unwrap());
        assert!(output.status.success(), "{name} --help: {told}");
        let usage = if name == "ci/test" { "Usage: " } else { &name };
        assert!(said.contains(usage), "{name} --help: {said}");
        assert!(!told.contains("-- "), "{name} --help: {told}");
    }
}

#[test]
fn what_takes_no_arguments_refuses_them() {
    for script in ["aarch64", "demo"] {
        let output = Command::new("timeout")
            .args(["60", Path::new(REPOSITORY).join("ci").join(script).to_str().unwrap(), "--fast"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("unknown argument '--fast'"), "{told}");
    }
}
