//! What goes with an installed command.

use crate::support::{Folder, names, run, text, verbcast};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = Folder::new();
    let pages = folder.path("man1");
    let output = run(verbcast().arg("manual").arg(&pages));
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in ["verbcast", "verbcast-copy", "verbcast-preload", "verbcast-fabric-show"] {
        let page = fs::read_to_string(pages.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1 ")), "{page}");
    }
    let page = fs::read_to_string(pages.join("verbcast-copy.1")).unwrap();
    assert!(page.contains("\\-\\-resume") && page.contains("Exit status"), "{page}");
    let page = fs::read_to_string(pages.join("verbcast-settings.7")).unwrap();
    assert!(page.contains(".TH verbcast-settings 7 \" \" \"verbcast "), "{page}");
    assert!(page.contains("VERBCAST_DEVICE"), "{page}");
    let output = run(verbcast().args(["manual", "/proc/nowhere"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write into /proc/nowhere"));
}

#[test]
fn shells_complete_the_commands() {
    for (shell, begin) in
        [("bash", "_verbcast()"), ("zsh", "#compdef verbcast"), ("fish", "complete ")]
    {
        let output = run(verbcast().args(["completions", shell]));
        let said = text(&output.stdout);
        assert!(output.status.success() && said.contains(begin), "{said}");
        assert!(said.contains("preload") && said.contains("resume"), "{said}");
    }
}

/// The command below a folder where libraries are installed for these MPI libraries, which are none.
fn installed(folder: &Folder, mpi: &[&str]) -> Command {
    fs::create_dir(folder.path("bin")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_verbcast"), folder.path("bin/verbcast")).unwrap();
    for name in mpi {
        let library = folder.path(&format!("lib/verbcast/{name}/libverbcast.so"));
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(library, "").unwrap();
    }
    let mut command = Command::new(folder.path("bin/verbcast"));
    command.arg("preload").env_remove("LD_PRELOAD");
    command
}

fn tells(output: &Output, status: i32, what: &str) {
    let said = text(&output.stderr);
    assert!(
        output.status.code() == Some(status) && said.contains(what),
        "{status}, {what}: {output:?}"
    );
}

#[test]
fn a_program_has_the_library_before_it() {
    let folder = Folder::new();
    let mut command = installed(&folder, &["mpich", "openmpi"]);
    command.args(["--mpi", "openmpi", "sh", "-c", "echo $LD_PRELOAD; exit 7", "--show"]);
    let library = folder.path("lib/verbcast/openmpi/libverbcast.so").canonicalize().unwrap();
    let output = run(&mut command);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(7), format!("{}\n", library.display()))
    );
    let output = run(command.env("LD_PRELOAD", "libtool.so"));
    assert_eq!(text(&output.stdout), format!("{}:libtool.so\n", library.display()));
}

#[test]
fn the_only_library_is_taken_and_shown() {
    let folder = Folder::new();
    let mut command = installed(&folder, &["mpich"]);
    let output = run(command.arg("--show"));
    let library = folder.path("lib/verbcast/mpich/libverbcast.so").canonicalize().unwrap();
    assert_eq!(text(&output.stdout), format!("{}\n", library.display()));
    assert_eq!(names(&folder), ["bin", "lib"]);
}

#[test]
fn what_cannot_be_preloaded_or_run_is_said() {
    let folder = Folder::new();
    let script = folder.path("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    let mut command = installed(&folder, &["mpich", "openmpi"]);
    tells(&run(command.arg(&script)), 2, "give --mpi, one of mpich, openmpi");
    let preload = |arguments: &[&str]| {
        let mut command = Command::new(folder.path("bin/verbcast"));
        run(command.arg("preload").args(arguments))
    };
    let script = script.to_str().unwrap();
    tells(&preload(&["--mpi", "mvapich", "sh"]), 2, "verbcast is installed for mpich, openmpi");
    tells(&preload(&["--mpi", "mpich", script]), 126, "cannot be run: Permission denied");
    tells(&preload(&["--mpi", "mpich", "no-such-program"]), 127, "no-such-program cannot be run");
    tells(
        &preload(&["--library", "/nonexistent", "sh"]),
        2,
        "--library /nonexistent: No such file",
    );
    tells(&preload(&[]), 2, "PROGRAM");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    tells(&preload(&["--library", "/etc/a b", script]), 2, "/etc/a b: No such file");
    fs::write(folder.path("a b"), "").unwrap();
    let library = folder.path("a b");
    tells(&preload(&["--library", library.to_str().unwrap(), script]), 1, "a space or a colon");
    tells(&run(verbcast().args(["preload", "sh"])), 2, "install it for an MPI library");
}
