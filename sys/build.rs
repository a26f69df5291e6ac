//! Links libibverbs and librdmacm.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    // pkg-config only tells about unusual places; without it the linker's own path serves.
    if let Ok(output) =
        Command::new("pkg-config").args(["--libs-only-L", "libibverbs", "librdmacm"]).output()
    {
        for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
            if let Some(path) = word.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={path}");
            }
        }
        if !output.status.success() {
            println!(
                "cargo:warning=pkg-config does not know libibverbs and librdmacm; if linking fails, \
                 install libibverbs-dev and librdmacm-dev (Debian) or rdma-core-devel (RHEL, SUSE)"
            );
        }
    }
    println!("cargo:rustc-link-lib=ibverbs");
    println!("cargo:rustc-link-lib=rdmacm");
}
