//! The lines of a topology file, as Slurm reads those of all its files: pairs KEY=VALUE, values in quotes or without blanks, #
//! before a comment, and a backslash at the end of a line that goes on.

use super::error::TopologyMistake;
use std::borrow::Cow;

/// The lines with their numbers, from 1: without comments, and each that goes on with what it goes on with.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    let mut lines = (1..).zip(text.lines().map(without_comment));
    std::iter::from_fn(move || {
        let (number, line) = lines.next()?;
        let Some(begun) = line.strip_suffix('\\') else { return Some((number, line.into())) };
        let mut whole = begun.to_owned();
        for (_, next) in lines.by_ref() {
            let part = next.strip_suffix('\\');
            whole += part.unwrap_or(next);
            if part.is_none() {
                break;
            }
        }
        Some((number, whole.into()))
    })
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(before, _)| before).trim_end()
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The switch.
    pub name: &'a str,
    pub below: Below<'a>,
}

/// The list of what is below a switch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Below<'a> {
    Nothing,
    Hosts(&'a str),
    Switches(&'a str),
}

impl Line<'_> {
    /// Reads it; none if it is empty. Keys other than those of switches say nothing here.
    pub fn parse(text: &str) -> Result<Option<Line<'_>>, TopologyMistake> {
        let mut rest = text.trim();
        let mut values = [("SwitchName", None), ("Nodes", None), ("Switches", None)];
        let mut other = None;
        while !rest.is_empty() {
            let (key, value, after) = pair(rest)?;
            rest = after;
            match values.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(key)) {
                Some((name, Some(_))) => return Err(TopologyMistake::KeyTwice((*name).to_owned())),
                Some((_, none)) => *none = Some(value),
                None => other = other.or(Some(key)),
            }
        }
        let [(_, name), hosts, switches] = values;
        let Some(name) = name else {
            let key = hosts.1.map(|_| hosts.0).or(switches.1.map(|_| switches.0)).or(other);
            return key.map_or(Ok(None), |key| Err(TopologyMistake::NotASwitch(shown(key))));
        };
        let below = match (hosts.1, switches.1) {
            (Some(_), Some(_)) => return Err(TopologyMistake::Both),
            (Some(hosts), None) => Below::Hosts(hosts),
            (None, Some(switches)) => Below::Switches(switches),
            (None, None) => Below::Nothing,
        };
        Ok(Some(Line { name, below }))
    }
}

/// The first pair, and what is behind it.
fn pair(text: &str) -> Result<(&str, &str, &str), TopologyMistake> {
    let bad = || TopologyMistake::NoPair(shown(text));
    let (key, after) = text.split_once('=').ok_or_else(bad)?;
    let key = key.trim_end();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(bad());
    }
    let after = after.trim_start();
    let (value, rest) = match after.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').ok_or_else(bad)?,
        None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
    };
    let is_apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
    if value.is_empty() || !is_apart {
        return Err(bad());
    }
    Ok((key, value, rest.trim_start()))
}

/// As much of a text as an error shows.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}
