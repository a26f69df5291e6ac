//! Timelines as processes have written them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};
use verbcast::trace::FORMAT;

/// The latest time that a clock can have, and the longest that something can have lasted, in microseconds: clocks count
/// nanoseconds in 64 bits.
const MAX_TIME: f64 = u64::MAX as f64 / 1e3;

/// An event of the trace event format.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub name: String,
    /// X: it lasted for `dur`; b and e: it began and ended; i: a point in time; M: says something of the process.
    pub ph: String,
    /// Microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dur: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cat: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s: Option<String>,
    pub pid: u32,
    #[serde(default)]
    pub tid: u64,
    #[serde(default)]
    pub args: Map<String, Value>,
}

impl Event {
    /// When it began, in microseconds.
    pub fn began(&self) -> f64 {
        self.ts.unwrap_or_default()
    }

    /// When it ended, in microseconds.
    pub fn ended(&self) -> f64 {
        self.began() + self.dur.unwrap_or_default()
    }

    /// Its time or duration, if no clock can have measured that.
    fn impossible_time(&self) -> Option<(&'static str, f64)> {
        let times = [("ts", self.ts), ("dur", self.dur)];
        let times = times.into_iter().filter_map(|(name, time)| Some((name, time?)));
        times.into_iter().find(|(_, time)| !(0.0..=MAX_TIME).contains(time))
    }

    /// A whole number that it says.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.args.get(name)?.as_u64()
    }
}

/// The timeline of a process.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Its rank in the job, or its number where no launcher has told a rank.
    pub id: u32,
    /// What it is called.
    pub name: String,
    pub host: String,
    /// Processes with the same one have the same clock.
    pub boot: String,
    /// Microseconds from its clock to that of the wall, as its host has it.
    pub to_wall: f64,
    pub size: Option<u32>,
    pub events: Vec<Event>,
}

/// All timelines in a folder, in the order of ranks, and the files that were cut off before they said whose they are.
///
/// # Errors
/// If the folder or a file cannot be read or makes no sense, with the file and line; if they are not of one job; or if there
/// are none.
pub fn read_all(folder: &Path) -> Result<(Vec<Timeline>, Vec<PathBuf>), String> {
    let cannot = |error| format!("cannot read the folder {}: {error}", folder.display());
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let (mut timelines, mut left_out) = (Vec::new(), Vec::new());
    for path in &paths {
        let text = fs::read(path);
        let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        // Its end may be in the middle of a character.
        let timeline = parse(&String::from_utf8_lossy(&text));
        match timeline.map_err(|what| format!("{}: {what}", path.display()))? {
            Some(timeline) => timelines.push((timeline, path)),
            None => left_out.push(path.clone()),
        }
    }
    timelines.sort_by_key(|(timeline, _)| timeline.id);
    for pair in timelines.windows(2) {
        let [(first, path), (second, other)] = pair else { continue };
        if first.size != second.size || first.id == second.id {
            return Err(format!(
                "{} and {} are not of one job: give each its own folder",
                path.display(),
                other.display()
            ));
        }
    }
    match (timelines.is_empty(), left_out.first()) {
        (false, _) => Ok((timelines.into_iter().map(|(timeline, _)| timeline).collect(), left_out)),
        (true, Some(path)) => {
            Err(format!("{}: it was cut off before it says whose it is", path.display()))
        }
        (true, None) => Err(format!(
            "{} has no timelines: programs write them with {}={0}",
            folder.display(),
            verbcast::trace::FOLDER
        )),
    }
}

/// A timeline; its last line may have been cut off, as the process was killed. None if it has no line before that.
fn parse(text: &str) -> Result<Option<Timeline>, String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut events = Vec::new();
    for (number, line) in (1..).zip(&lines) {
        let line = line.trim().trim_end_matches(',');
        if line.is_empty() || line == "[" || line == "]" {
            continue;
        }
        match serde_json::from_str::<Event>(line) {
            Ok(event) => match event.impossible_time() {
                Some((name, time)) => {
                    return Err(format!("line {number}: no clock has the {name} {time:e}"));
                }
                None => events.push(event),
            },
            Err(_) if number == lines.len() && number > 2 => {}
            Err(error) if number == lines.len() && error.is_eof() => return Ok(None),
            Err(error) => return Err(format!("line {number}: {error}")),
        }
    }
    if ["", "["].contains(&text.trim()) {
        return Ok(None);
    }
    let first = events.first().filter(|event| event.ph == "M");
    let first = first.ok_or("its first event does not say whose timeline it is")?;
    match first.number("verbcast") {
        Some(version) if version == u64::from(FORMAT) => {}
        Some(other) => {
            return Err(format!("it has format {other}; this verbcast reads format {FORMAT}"));
        }
        None => return Err("it is not a timeline of verbcast".to_owned()),
    }
    let text = |name: &str| first.args.get(name).and_then(Value::as_str).unwrap_or_default();
    let nanos = |name: &str| first.number(name).unwrap_or_default() as f64;
    Ok(Some(Timeline {
        id: first.pid,
        name: text("name").to_owned(),
        host: text("host").to_owned(),
        boot: text("boot").to_owned(),
        to_wall: (nanos("wall_ns") - nanos("now_ns")) / 1e3,
        size: first.number("size").and_then(|size| u32::try_from(size).ok()),
        events,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = r#"{"name":"process_name","ph":"M","pid":3,"args":{"name":"rank 3 on a","verbcast":2,"rank":3,"size":4,"host":"a","boot":"b","now_ns":1000,"wall_ns":5000}}"#;

    #[test]
    fn a_timeline_that_was_cut_off_is_read() {
        let text = format!(
            "[\n{FIRST},\n{{\"name\":\"call\",\"ph\":\"X\",\"ts\":1.5,\"dur\":2.0,\"pid\":3}},\n{{\"na"
        );
        let timeline = parse(&text).unwrap().unwrap();
        assert_eq!((timeline.id, timeline.size, timeline.to_wall), (3, Some(4), 4.0));
        assert_eq!((timeline.events[1].began(), timeline.events[1].ended()), (1.5, 3.5));
    }

    #[test]
    fn what_was_cut_off_before_it_says_whose_it_is_is_left_out() {
        for length in 0..2 + FIRST.len() {
            let text = format!("[\n{FIRST}");
            assert!(parse(&text[..length]).unwrap().is_none(), "{length}");
        }
        let folder = std::env::temp_dir().join(format!("verbcast-read-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("rank-00000.json"), "").unwrap();
        let nothing = read_all(&folder).unwrap_err();
        assert!(nothing.ends_with("rank-00000.json: it was cut off before it says whose it is"));
        let mut cut = format!("[\n{FIRST},\n{{\"name\":\"wait ").into_bytes();
        cut.push(0xc2);
        fs::write(folder.join("rank-00003.json"), cut).unwrap();
        let (timelines, left_out) = read_all(&folder).unwrap();
        assert_eq!((timelines.len(), timelines[0].id), (1, 3));
        assert_eq!(left_out, [folder.join("rank-00000.json")]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_timeline_is_refused_with_its_line() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert!(refused("[\n{}").contains("line 2"), "{}", refused("[\n{}"));
        assert!(refused(&format!("[\n{FIRST},\nnoise,\n{FIRST}")).contains("line 3"));
        assert!(refused("[\n]").contains("does not say whose"));
        for times in
            ["\"ts\":-1", "\"ts\":1e308", "\"ts\":5,\"dur\":-0.5", "\"ts\":5,\"dur\":1e308"]
        {
            let event = format!("{{\"name\":\"wait\",\"ph\":\"X\",{times},\"pid\":3}}");
            let what = refused(&format!("[\n{FIRST},\n{event},\n{event}"));
            assert!(what.starts_with("line 3: no clock has the "), "{what}");
        }
        let other = FIRST.replace("\"verbcast\":2", "\"verbcast\":99");
        assert!(refused(&format!("[\n{other}")).contains("format 99"));
        let foreign = FIRST.replace("\"verbcast\":2,", "");
        assert!(refused(&format!("[\n{foreign}")).contains("not a timeline of verbcast"));
    }
}
