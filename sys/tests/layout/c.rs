//! Runs a C program over the system's headers.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Output};

/// Why C cannot be asked on this system.
pub struct Missing(pub String);

#[cfg(not(feature = "umad"))]
const INCLUDES: &str = include_str!("../../wrapper.h");
#[cfg(feature = "umad")]
const INCLUDES: &str =
    concat!(include_str!("../../wrapper.h"), include_str!("../../umad_wrapper.h"));

/// The values of C expressions, in their order.
pub fn evaluate(expressions: &[&str]) -> Result<Vec<i128>, Missing> {
    if !compiles("compiler", "int main(void) { return 0; }\n") {
        return Err(Missing("no working C compiler".into()));
    }
    if !compiles("headers", &format!("{INCLUDES}int main(void) {{ return 0; }}\n")) {
        return Err(Missing("no rdma-core headers".into()));
    }
    let mut source =
        format!("#include <stddef.h>\n#include <stdio.h>\n{INCLUDES}int main(void) {{\n");
    for expression in expressions {
        source += &format!("printf(\"%lld\\n\", (long long)({expression}));\n");
    }
    source += "return 0;\n}\n";

    let (program, output) = compile("layout", &source).expect("the C compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = run(program).output().expect("the C program starts");
    assert!(output.status.success(), "the C program failed: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("the C program prints text");
    Ok(text.lines().map(|line| line.parse().expect("a number")).collect())
}

/// Says that the check did not run; where it was promised to, fails.
pub fn skip(reason: &str) {
    let promise =
        ["CI", "VERBCAST_SOFTROCE_PROMISED"].into_iter().find(|it| env::var_os(it).is_some());
    if let Some(promise) = promise {
        panic!("{reason}, but {promise} is set");
    }
    // Unlike `eprintln!`, this passes the test harness's capture.
    writeln!(io::stderr(), "SKIPPED: {reason}").expect("standard error is open");
}

/// The versions to look at when the headers and the bindings differ.
pub fn header_version() -> String {
    let banner = crate::BINDINGS.lines().find(|line| line.starts_with("// libibverbs"));
    let output = Command::new("pkg-config").args(["--modversion", "libibverbs"]).output();
    let installed = output.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    format!(
        "bindings made from: {}; installed: libibverbs {}",
        banner.unwrap_or("?").trim_start_matches("// "),
        installed.unwrap_or_else(|_| "?".into())
    )
}

/// The program's command: under what cargo runs the tests with, where that is another machine's emulator.
fn run(program: PathBuf) -> Command {
    let runner = match cfg!(target_arch = "aarch64") {
        true => env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER").unwrap_or_default(),
        false => String::new(),
    };
    let mut words = runner.split_whitespace();
    match words.next() {
        None => Command::new(program),
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(words).arg(program);
            command
        }
    }
}

fn compiles(name: &str, source: &str) -> bool {
    compile(name, source).is_ok_and(|(_, output)| output.status.success())
}

fn compile(name: &str, source: &str) -> io::Result<(PathBuf, Output)> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let program = directory.join(name);
    let file = program.with_extension("c");
    fs::write(&file, source)?;
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler).arg("-o").arg(&program).arg(&file).output()?;
    Ok((program, output))
}
