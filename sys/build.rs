//! Links libibverbs, librdmacm and, with the feature `umad`, libibumad: where
//! pkg-config says they are, or in the linker's own path if there is no
//! pkg-config.

use std::env;
use std::process::{Command, exit};

const LIBRARIES: [&str; 2] = ["libibverbs", "librdmacm"];

const INSTALL: &str = "If it is missing, install the development packages of rdma-core: `apt \
                       install libibverbs-dev librdmacm-dev libibumad-dev` on Debian and Ubuntu, \
                       `dnf install rdma-core-devel` on RHEL and Fedora.";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation links nothing, and the libraries are not there
    }
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let umad = env::var_os("CARGO_FEATURE_UMAD").map(|_| "libibumad");
    for library in LIBRARIES.into_iter().chain(umad) {
        link(&program, library);
    }
}

fn link(program: &str, library: &str) {
    let Ok(output) = Command::new(program).args(["--libs", library]).output() else {
        println!("cargo::warning={program} does not run; linking {library} unseen. {INSTALL}");
        println!("cargo::rustc-link-lib={}", &library[3..]);
        return;
    };
    if !output.status.success() {
        println!("cargo::error={library} was not found by `{program} --libs {library}`. {INSTALL}");
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        exit(1);
    }
    for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if let Some(directory) = word.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={directory}");
        } else if let Some(name) = word.strip_prefix("-l") {
            println!("cargo::rustc-link-lib={name}");
        }
    }
}
