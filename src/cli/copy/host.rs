//! This host's names.

use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// As its user calls it.
pub fn name() -> String {
    let name = read("/proc/sys/kernel/hostname");
    if name.is_empty() { "a host without a name".to_owned() } else { name }
}

/// Something that differs between hosts, also if they have one name.
pub fn unique() -> String {
    format!("{} {}", name(), read("/proc/sys/kernel/random/boot_id"))
}
