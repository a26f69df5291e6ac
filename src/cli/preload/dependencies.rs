//! Which MPI library a program, or a library, is linked with.

use std::path::Path;
use std::process::Command;

/// The name under which the dynamic linker knows it, such as libmpi.so.40 (Open MPI), libmpi.so.12 (MPICH and what has its
/// interface) or libmpich.so.12 (Debian's MPICH). `None` for what is linked with none, as scripts are, or where it cannot be told.
pub fn of_mpi(path: &Path) -> Option<String> {
    // By itself or by what it needs; without running it.
    let output = Command::new("ldd").arg(path).output().ok()?;
    name(&String::from_utf8_lossy(&output.stdout))
}

fn name(told: &str) -> Option<String> {
    let mut names = told.lines().filter_map(|line| line.split_whitespace().next());
    names
        .find(|name| name.starts_with("libmpi.so") || name.starts_with("libmpich.so"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_mpi_is_told_from_its_companions() {
        let open = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpi_mpifh.so.40 => /lib/libmpi_mpifh.so.40 (0x1)\n\
                    \tlibmpi.so.40 => /lib/x86_64-linux-gnu/libmpi.so.40 (0x2)\n";
        assert_eq!(name(open).as_deref(), Some("libmpi.so.40"));
        let debian = "\tlibmpichfort.so.12 => /lib/libmpichfort.so.12 (0x1)\n\tlibmpich.so.12 => not found\n";
        assert_eq!(name(debian).as_deref(), Some("libmpich.so.12"));
        assert_eq!(name("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"), None);
        assert_eq!(name("\tnot a dynamic executable\n"), None);
    }

    #[test]
    fn a_script_does_not_tell() {
        assert_eq!(of_mpi(Path::new("/usr/bin/ldd")), None);
        assert_eq!(of_mpi(Path::new("/nonexistent")), None);
    }
}
