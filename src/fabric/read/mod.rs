//! Reads what `ibnetdiscover` prints, and ibsim netlists.

mod guids;
mod options;

use super::topology::{Kind, Link, Node, Port, Quality, Topology};
use guids::Guids;
use options::Enabled;
use std::collections::HashMap;
use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The line, counted from 1; 0 if it is no single one.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

impl std::error::Error for ReadError {}

/// A node as its record has it.
struct Record {
    line: usize,
    id: String,
    description: String,
    kind: Kind,
    guid: u64,
    ports: u8,
}

/// A port of a record.
type At = (usize, u8);

/// A line of a port.
struct End {
    line: usize,
    at: At,
    remote: (String, u8),
    guid: Option<u64>,
    speed: Option<(u8, u32)>,
    enabled: Enabled,
}

/// Reads a topology: records of a line `Switch`, `Ca`, `Hca` or `Rt` (a router, taken for a host) with
/// the number of ports and a name, and a line for each linked port. A node is called by its
/// description, if no other has the same, else by its name in the text. Links of a node to itself
/// are left out.
///
/// `quality` is that of links whose lines do not say width and speed, as in `4xEDR` or, in netlists, by `w=`, `s=` and
/// `e=`; the MTU is always taken from it, as `ibnetdiscover` does not print it. Nodes without a GUID have the one that
/// ibsim gives to them.
///
/// # Errors
/// The first line that cannot be understood, or that another one contradicts.
pub fn ibnetdiscover(text: &str, quality: Quality) -> Result<Topology, ReadError> {
    let (records, ends) = lines(text)?;
    if records.is_empty() {
        return Err(ReadError { line: 0, what: "there is no node in it".to_owned() });
    }
    let mut ids = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        if ids.insert(record.id.as_str(), index).is_some() {
            let what = format!("there was a node \"{}\" before", record.id);
            return Err(ReadError { line: record.line, what });
        }
    }
    // Hosts come first in a topology.
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|index| records[*index].kind == Kind::Switch);
    let mut node_of = vec![0; records.len()];
    order.iter().enumerate().for_each(|(node, index)| node_of[*index] = node as u32);
    let port = |(record, port): At| Port { node: node_of[record], port };

    let links = pairs(&ends, &ids)?.into_iter().map(|(end, other)| {
        let (lanes, lane_mbps) = end.speed.unwrap_or((quality.lanes, quality.lane_mbps));
        let known = Quality { lanes, lane_mbps, ..quality };
        let quality = end.enabled.link(other.enabled, known);
        let quality = quality.map_err(|what| ReadError { line: end.line, what })?;
        Ok(Link { ends: [port(end.at), port(other.at)], quality })
    });
    let links: Vec<Link> = links.collect::<Result<_, _>>()?;
    let guids = ends.iter().filter_map(|end| Some((port(end.at), end.guid?)));
    let guids = guids.filter(|(port, _)| records[order[port.node as usize]].kind == Kind::Host);
    let names = names(&records);
    let nodes = order.iter().map(|index| {
        let Record { kind, guid, ports, .. } = records[*index];
        Node { kind, name: names[*index].clone(), guid, ports }
    });
    Topology::new(nodes.collect(), links, &guids.collect())
        .map_err(|error| ReadError { line: 0, what: error.to_string() })
}

/// Both ends of each link, once.
fn pairs<'a>(
    ends: &'a [End],
    ids: &HashMap<&str, usize>,
) -> Result<Vec<(&'a End, &'a End)>, ReadError> {
    let mut by_port = HashMap::new();
    for end in ends {
        if by_port.insert(end.at, end).is_some() {
            let what = format!("there was a line for port {} before", end.at.1);
            return Err(ReadError { line: end.line, what });
        }
    }
    let mut found = Vec::new();
    for end in ends {
        let (id, port) = &end.remote;
        let error = |what| Err(ReadError { line: end.line, what });
        let Some(record) = ids.get(id.as_str()) else {
            return error(format!("there is no node \"{id}\""));
        };
        let remote = (*record, *port);
        let Some(other) = by_port.get(&remote) else {
            return error(format!("port {port} of \"{id}\" has no line"));
        };
        if ids.get(other.remote.0.as_str()) != Some(&end.at.0) || other.remote.1 != end.at.1 {
            return error(format!(
                "line {} says that port {port} of \"{id}\" leads to port {} of \"{}\"",
                other.line, other.remote.1, other.remote.0
            ));
        }
        if end.at.0 != remote.0 && end.at < remote {
            found.push((end, *other));
        }
    }
    Ok(found)
}

/// The descriptions, where they are distinct.
fn names(records: &[Record]) -> Vec<String> {
    let mut uses = HashMap::new();
    for record in records {
        *uses.entry(record.description.as_str()).or_insert(0) += 1;
        // A name that is taken for a node without a description is nobody else's.
        *uses.entry(record.id.as_str()).or_insert(0) += 1;
    }
    let name = |record: &Record| match uses[record.description.as_str()] {
        1 if !record.description.is_empty() => record.description.clone(),
        _ => record.id.clone(),
    };
    records.iter().map(name).collect()
}

fn lines(text: &str) -> Result<(Vec<Record>, Vec<End>), ReadError> {
    let (mut records, mut ends) = (Vec::new(), Vec::new());
    let mut guid = None;
    let (mut guids, mut all) = (Guids::new(), Enabled::default());
    let mut in_record = false;
    for (number, content) in text.lines().enumerate() {
        let line = number + 1;
        let fail = |what: String| ReadError { line, what };
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            in_record &= !content.is_empty();
        } else if content.starts_with('[') {
            if !in_record {
                return Err(fail("a port without a node before it".to_owned()));
            }
            let record: &Record = records.last().expect("there is one, as a record has begun");
            let mut end = end(line, records.len() - 1, content).map_err(fail)?;
            end.enabled = end.enabled.or(all);
            if end.at.1 > record.ports {
                let what = format!("port {} of a node of {} ports", end.at.1, record.ports);
                return Err(fail(what));
            }
            ends.push(end);
        } else if let Some((key, value)) = assignment(content) {
            if ["switchguid", "caguid", "hcaguid", "hcaguids", "rtguid"].contains(&key) {
                let digits = value.split('(').next().unwrap_or(value);
                let value = number_of(digits).ok_or_else(|| fail(format!("no GUID: {value}")))?;
                guid = Some(value);
            }
            all.set(key, value).map_err(fail)?;
        } else {
            records.push(record(line, content, guid.take(), &mut guids).map_err(fail)?);
            in_record = true;
        }
    }
    Ok((records, ends))
}

/// `name=value`, with nothing but letters in the name.
fn assignment(content: &str) -> Option<(&str, &str)> {
    let (key, value) = content.split_once('=')?;
    key.chars().all(|c| c.is_ascii_alphabetic()).then_some((key, value.trim()))
}

fn number_of(text: &str) -> Option<u64> {
    match text.trim().strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.trim().parse().ok(),
    }
}

/// `Switch 8 "id" # "description" …`
fn record(
    line: usize,
    content: &str,
    guid: Option<u64>,
    guids: &mut Guids,
) -> Result<Record, String> {
    let expected = "expected Switch, Ca or Rt, a number of ports and a name in quotes";
    let (word, rest) = content.split_once(char::is_whitespace).ok_or(expected)?;
    let kind = match word {
        "Switch" => Kind::Switch,
        "Ca" | "Hca" | "Rt" => Kind::Host,
        _ => return Err(format!("{expected}, not {word}")),
    };
    let mut parts = rest.splitn(3, '"');
    let (ports, id, rest) = (parts.next(), parts.next(), parts.next());
    let (Some(ports), Some(id), Some(rest)) = (ports, id, rest) else {
        return Err(expected.to_owned());
    };
    let ports = ports.trim();
    let ports = match ports.parse() {
        Ok(ports @ 1..=254) => ports,
        _ => return Err(format!("{ports} is not a number of ports from 1 to 254")),
    };
    let description = rest.split('"').nth(1).unwrap_or_default().to_owned();
    let in_id = || {
        let digits = id.strip_prefix("S-").or(id.strip_prefix("H-")).or(id.strip_prefix("R-"))?;
        u64::from_str_radix(digits, 16).ok()
    };
    let guid = guids.take(kind, ports, guid.or_else(in_id));
    Ok(Record { line, id: id.to_owned(), description, kind, guid, ports })
}

/// `[1](guid) "remote"[2](guid) # … 4xEDR`
fn end(line: usize, record: usize, content: &str) -> Result<End, String> {
    let mut parts = content.splitn(3, '"');
    let (local, id, rest) = (parts.next(), parts.next(), parts.next());
    let (Some(local), Some(id), Some(rest)) = (local, id, rest) else {
        return Err("expected a port, the name of a node in quotes and its port".to_owned());
    };
    let at = bracketed(local)?;
    let guid = local.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let guid = guid.map(|(digits, _)| {
        u64::from_str_radix(digits, 16).map_err(|_| format!("({digits}) is not a port GUID"))
    });
    let remote = bracketed(rest)?;
    let speed = rest.split_once('#').and_then(|(_, rest)| speed(rest.split_whitespace().last()?));
    let enabled = Enabled::read(rest)?;
    let remote = (id.to_owned(), remote);
    Ok(End { line, at: (record, at), remote, guid: guid.transpose()?, speed, enabled })
}

/// The port in `[…]` at the beginning.
fn bracketed(text: &str) -> Result<u8, String> {
    let inner = text.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (digits, _) = inner.ok_or("expected a port number in brackets")?;
    match digits.parse() {
        Ok(port @ 1..=254) => Ok(port),
        _ => Err(format!("[{digits}] is not a port from 1 to 254")),
    }
}

/// Lanes and Mbit/s of each from a word such as `4xEDR`.
fn speed(word: &str) -> Option<(u8, u32)> {
    let (lanes, speed) = word.split_once('x')?;
    let mbps = match speed {
        "SDR" => 2_500,
        "DDR" => 5_000,
        "QDR" | "FDR10" => 10_000,
        "FDR" => 14_000,
        "EDR" => 25_000,
        "HDR" => 50_000,
        "NDR" => 100_000,
        "XDR" => 200_000,
        _ => return None,
    };
    Some((lanes.parse().ok().filter(|lanes| (1..=16).contains(lanes))?, mbps))
}
