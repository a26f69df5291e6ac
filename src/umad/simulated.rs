//! Whether a port is one of ibsim's.

use std::fs;
use std::path::Path;

/// The library that puts programs on ibsim.
const LIBRARY: &str = "libumad2sim";

/// Whether what is done with a port's descriptor goes to ibsim, and so cannot come to an adapter: ibsim's
/// library is loaded, and the descriptor is one that it made up, of which the kernel knows nothing. That the
/// library is loaded does not suffice, as it passes on what it does not know. Where it cannot be told, it
/// is not.
pub(super) fn is_simulated(descriptor: i32) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    is_loaded(&maps) && is_made_up(descriptor)
}

/// Whether the library is among the files that are mapped into memory.
fn is_loaded(maps: &str) -> bool {
    let mut files = maps.lines().filter_map(|line| line.rsplit_once('/'));
    files.any(|(_, file)| file.starts_with(LIBRARY))
}

/// Whether the kernel has no such descriptor of this process.
fn is_made_up(descriptor: i32) -> bool {
    let open = Path::new("/proc/self/fd");
    // Reading the folder shows that what is missing in it is not open.
    fs::read_dir(open).is_ok() && fs::symlink_metadata(open.join(descriptor.to_string())).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_library_is_found_among_the_files() {
        let line = |file: &str| format!("7f00-7f01 r-xp 00000000 08:01 42   {file}\n");
        let others = line("/usr/lib/libibumad.so.3") + "7ffd-7ffe rw-p 00000000 00:00 0  [stack]\n";
        assert!(!is_loaded("") && !is_loaded(&others));
        assert!(!is_loaded(&line("/usr/lib/libumad2sim.so/other")));
        assert!(is_loaded(&(others + &line("/usr/lib/umad2sim/libumad2sim.so"))));
    }

    #[test]
    fn descriptors_of_the_kernel_are_not_made_up() {
        let file = fs::File::open("/dev/null").unwrap();
        assert!(!is_made_up(file.as_raw_fd()));
        assert!(is_made_up(i32::MAX));
        assert!(!is_simulated(i32::MAX), "the library is not loaded here");
    }
}
