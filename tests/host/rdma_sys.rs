//! The feature `rdma-sys`: a program that uses that crate compiles against the library.

use crate::needs;
use std::path::Path;
use std::process::Command;

/// The libclang that rdma-sys 0.3 builds with; its bindgen panics with newer ones.
const LIBCLANG: &str = "/usr/lib/llvm-14/lib";

#[test]
fn a_program_that_uses_rdma_sys_compiles() {
    let there = ["libclang.so", "libclang.so.1", "libclang-14.so.1"];
    if !there.iter().any(|name| Path::new(LIBCLANG).join(name).exists()) {
        assert!(std::env::var_os("CI").is_none(), "CI promises libclang 14");
        needs::skip("no libclang 14 (package libclang-14-dev)");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO"))
        .args(["check", "--manifest-path"])
        .arg(root.join("tests/fixtures/rdma-sys-user/Cargo.toml"))
        .arg("--target-dir")
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("rdma-sys-user"))
        .env("LIBCLANG_PATH", LIBCLANG)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
