//! Sizes and times, read and written.

use std::time::Duration;

/// Largest chunk, in bytes.
pub const MAX_CHUNK: u64 = 1 << 30;

/// Reads the bytes of a chunk, 1 to [`MAX_CHUNK`].
pub fn parse_chunk(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        bytes @ 1..=MAX_CHUNK => Ok(bytes),
        _ => Err("not between 1 byte and 1G".to_owned()),
    }
}

/// Reads a number of bytes such as `65536`, `64K`, `1M` or `1MiB`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        unit => return Err(format!("unit '{unit}' is none of K, M and G")),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number of bytes".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more bytes than can be counted".to_owned())
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

/// Reads a time in microseconds, as nanoseconds.
pub fn parse_micros(text: &str) -> Result<u64, String> {
    let micros: f64 = text.parse().map_err(|_| "not a number of microseconds".to_owned())?;
    if (0.0..=1e9).contains(&micros) {
        Ok((micros * 1000.0).round() as u64)
    } else {
        Err("not between 0 and 1000000000 microseconds".to_owned())
    }
}

/// Reads a share from 0 to 1, as parts per million.
pub fn parse_share(text: &str) -> Result<u32, String> {
    let share: f64 = text.parse().map_err(|_| "not a share from 0 to 1".to_owned())?;
    let millionths = (share * 1e6).round();
    if !(0.0..=1.0).contains(&share) {
        Err("not between 0 and 1".to_owned())
    } else if share > 0.0 && millionths < 1.0 {
        Err("above 0, but below one in a million".to_owned())
    } else {
        Ok(millionths as u32)
    }
}

/// Nanoseconds in the unit that suits them.
pub fn time(nanos: f64) -> String {
    match nanos {
        ..1e6 => format!("{:.2} µs", nanos / 1e3),
        ..1e9 => format!("{:.2} ms", nanos / 1e6),
        _ => format!("{:.2} s", nanos / 1e9),
    }
}

/// Bytes in the unit that suits them.
pub fn bytes(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64),
        None => format!("{bytes} bytes"),
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
    fn shares_and_microseconds_are_read() {
        assert_eq!(
            (parse_share("0"), parse_share("1"), parse_share("0.05")),
            (Ok(0), Ok(1_000_000), Ok(50_000))
        );
        for text in ["", "-0.1", "1.1", "nan", "1e-9", "5%"] {
            assert!(parse_share(text).is_err(), "{text}");
        }
        assert_eq!((parse_micros("2.5"), parse_micros("0")), (Ok(2500), Ok(0)));
        for text in ["", "-1", "inf", "nan", "1e10", "5us"] {
            assert!(parse_micros(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_and_sizes_are_written_in_fitting_units() {
        assert_eq!([14_460.0, 2.5e6, 3e9].map(time), ["14.46 µs", "2.50 ms", "3.00 s"]);
        assert_eq!([8, 1536, 5 << 30].map(bytes), ["8 bytes", "1.5 KiB", "5.0 GiB"]);
    }

    #[test]
    fn times_are_read() {
        assert_eq!(parse_seconds("2.5"), Ok(Duration::from_millis(2500)));
        for text in ["", "0", "-1", "inf", "nan", "1e9", "x"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }
}
