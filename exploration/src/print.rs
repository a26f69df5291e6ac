//! What a state is compared by: its text, without times.

use std::fmt::{Debug, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A hash of a state's text without times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    pub fn of(state: &impl Debug) -> Self {
        let mut filter = Filter { text: Vec::with_capacity(4096), word: 0 };
        write!(filter, "{state:?}").expect("a filter takes everything");
        filter.end_word();
        let mut hasher = DefaultHasher::new();
        hasher.write(&filter.text);
        Fingerprint(hasher.finish())
    }
}

/// Keeps words, but no times: neither `Instant(…)` nor numbers with a unit of time.
struct Filter {
    text: Vec<u8>,
    /// Where the last word begins.
    word: usize,
}

impl Filter {
    fn end_word(&mut self) {
        let word = &self.text[self.word..];
        let is_length = word.first().is_some_and(u8::is_ascii_digit) && word.ends_with(b"s");
        if is_length || word.starts_with(b"Instant(") {
            self.text.truncate(self.word);
        }
    }
}

impl Write for Filter {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            let is_between = matches!(byte, b' ' | b',' | b'{' | b'}' | b'[' | b']');
            if is_between {
                self.end_word();
            }
            self.text.push(byte);
            if is_between {
                self.word = self.text.len();
            }
        }
        Ok(())
    }
}

#[test]
fn only_times_are_left_out() {
    let text = |text: &str| Fingerprint::of(&format_args!("{text}"));
    assert_eq!(text("{ at: Instant(5), for: 2.5ms }"), text("{ at: Instant(7), for: 1.25µs }"));
    assert_ne!(text("{ seq: 5 }"), text("{ seq: 7 }"));
}
