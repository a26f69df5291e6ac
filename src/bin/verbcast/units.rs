//! Sizes and times, read and written.

use std::time::Duration;

/// Largest chunk, in bytes.
pub const MAX_CHUNK: u64 = 1 << 30;

/// Reads a number of bytes such as `65536`, `64K`, `1M` or `1MiB`.
pub fn parse_chunk(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        unit => return Err(format!("unit '{unit}' is none of K, M and G")),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number of bytes".to_owned())?;
    match number.checked_mul(1 << shift) {
        Some(bytes @ 1..=MAX_CHUNK) => Ok(bytes),
        _ => Err("not between 1 byte and 1G".to_owned()),
    }
}

/// Reads a time in seconds.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if (0.001..=86400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("not between 0.001 and 86400 seconds".to_owned())
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("1", 1), ("64K", 65536), ("1MiB", 1 << 20), ("1g", 1 << 30)] {
            assert_eq!(parse_chunk(text), Ok(bytes));
        }
        for text in ["", "0", "K", "-1", "2G", "1T", "99999999999999999999", "1é"] {
            assert!(parse_chunk(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read() {
        assert_eq!(parse_seconds("2.5"), Ok(Duration::from_millis(2500)));
        for text in ["", "0", "-1", "inf", "nan", "1e9", "x"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }
}
