//! The words of a transcript's line.

use super::micros;
use std::time::Duration;

/// A line: a time or `core`, a verb, and `name=value` pairs.
pub struct Words<'a> {
    line: &'a str,
    number: usize,
}

impl<'a> Words<'a> {
    pub fn new(line: &'a str, number: usize) -> Self {
        Words { line, number }
    }

    pub fn time(&self) -> Duration {
        let first = self.line.split_whitespace().next().unwrap_or_default();
        micros(first).unwrap_or_else(|| self.fail("it does not begin with a time such as 5us"))
    }

    pub fn verb(&self) -> &'a str {
        self.line.split_whitespace().nth(1).unwrap_or_default()
    }

    pub fn optional_text(&self, name: &str) -> Option<&'a str> {
        let mut pairs = self.line.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub fn text(&self, name: &str) -> &'a str {
        self.optional_text(name).unwrap_or_else(|| self.fail(&format!("it has no {name}=")))
    }

    pub fn optional(&self, name: &str) -> Option<u64> {
        let text = self.optional_text(name)?;
        Some(text.parse().unwrap_or_else(|_| self.fail(&format!("{name}={text} is not a number"))))
    }

    pub fn number(&self, name: &str) -> u64 {
        self.optional(name).unwrap_or_else(|| self.fail(&format!("it has no {name}=")))
    }

    pub fn fail(&self, what: &str) -> ! {
        panic!("line {}: {what}: {}", self.number, self.line)
    }
}
