//! A test that runs itself again under an imitated adapter.

use crate::needs;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `body` in a process of its own that sees `adapter`; `test` is the path of the test that calls this.
pub fn under(adapter: &str, test: &str, body: impl FnOnce()) {
    if needs::devices().is_none() {
        return;
    }
    match env::var("VERBCAST_ADAPTER") {
        Ok(given) if given == adapter => return body(),
        // Another of the adapters that the test is for.
        Ok(_) => return,
        Err(_) => {}
    }
    let program = env::current_exe().unwrap();
    // Of this test alone: others may run in this process.
    let name = format!("verbcast-imitation-{}-{}", std::process::id(), test.replace("::", "-"));
    let state = env::temp_dir().join(name);
    let output = Command::new(&program)
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env("VERBCAST_ADAPTER", adapter)
        .env("VERBCAST_ADAPTER_STATE", &state)
        .env("LD_PRELOAD", library(&program))
        .output()
        .unwrap();
    let _ = std::fs::remove_dir_all(&state);
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && out.contains("1 passed"), "{adapter}\n{out}\n{err}");
}

/// What is preloaded, built beside the tests.
fn library(program: &Path) -> PathBuf {
    let folder = program.ancestors().nth(2).unwrap();
    let library = folder.join("libverbcast_adapters.so");
    let built = library.is_file();
    assert!(built, "{} is missing: cargo build -p verbcast-adapters", library.display());
    library
}
