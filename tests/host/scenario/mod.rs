//! Reads transcripts of one rank, plays their inputs to a core and writes what the core does.
//!
//! ```text
//! # what is shown, and where the paper says it
//! core window rank=0 ranks=3 fragment=10 window=4 repair=push
//! 0us start root=0 len=10
//!     -> keep 0.0 in slot 0
//! ```
//!
//! A line that begins with a time is an input; the lines with arrows below it are everything that
//! the core then does, in order. `0.1` is fragment 1 of operation 0. A timer is shown where it
//! changed. The inputs `awaited` and `drained` only ask the core. A further line that begins with
//! `core` begins anew with another rank.

mod core;
mod words;

use self::core::make;
use self::words::Words;
use std::fmt::Write;
use std::iter;
use std::ops::Range;
use std::time::Duration;
use verbcast_core::protocol::window::{Report, Seq};
use verbcast_core::protocol::{
    Core, Counter, Disposition, Event, Incoming, Packets, Piece, Room, Target, Timer, Token,
    Transmit, Via,
};
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::wire::{Kind, Region};

/// What the transport takes: everything, until an input says otherwise.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    multicast: usize,
    reliable: usize,
    report: usize,
    fetch: usize,
    is_idle: bool,
}

impl Room for Capacity {
    fn multicast_room(&self) -> usize {
        self.multicast
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        self.reliable
    }

    fn report_room(&self, _to: Rank) -> usize {
        self.report
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        self.fetch
    }

    fn is_idle(&self, _slot: u32) -> bool {
        self.is_idle
    }
}

/// Plays a transcript; returns it as it should read.
///
/// # Panics
/// If a line cannot be read; the line is named.
pub fn play(text: &str) -> String {
    let mut played = String::new();
    let mut player: Option<Player> = None;
    for (number, line) in text.lines().enumerate() {
        let word = line.split_whitespace().next().unwrap_or("");
        match word {
            "->" => continue,
            "core" => player = Some(Player::new(&Words::new(line, number + 1))),
            "" | "#" => {}
            _ => {
                let player =
                    player.as_mut().unwrap_or_else(|| panic!("line {number}: no core yet"));
                player.input(&Words::new(line, number + 1));
            }
        }
        writeln!(played, "{line}").unwrap();
        for output in player.as_mut().map(Player::take_outputs).unwrap_or_default() {
            writeln!(played, "    -> {output}").unwrap();
        }
    }
    played
}

/// What the reports that go along with packets are about.
#[derive(Clone, Copy, Debug)]
enum Family {
    Window,
    Unicast,
}

struct Player {
    core: Box<dyn Core>,
    family: Family,
    capacity: Capacity,
    fragment_len: usize,
    message_len: u64,
    timer: Option<(Timer, Instant)>,
    outputs: Vec<String>,
}

impl Player {
    fn new(words: &Words<'_>) -> Self {
        let (multicast, reliable, report, fetch) = (100, 100, 100, 100);
        Player {
            core: make(words),
            family: if words.verb() == "unicast" { Family::Unicast } else { Family::Window },
            capacity: Capacity { multicast, reliable, report, fetch, is_idle: true },
            fragment_len: words.number("fragment") as usize,
            message_len: 0,
            timer: None,
            outputs: Vec::new(),
        }
    }

    fn take_outputs(&mut self) -> Vec<String> {
        std::mem::take(&mut self.outputs)
    }

    fn input(&mut self, words: &Words<'_>) {
        let now = Instant::ZERO + words.time();
        let rank = |name| Rank(words.number(name) as u32);
        match words.verb() {
            "start" => {
                self.message_len = words.number("len");
                if let Err(error) = self.core.start(now, rank("root"), self.message_len) {
                    self.outputs.push(format!("refused: {error}"));
                }
            }
            "packet" => {
                let incoming = self.incoming(words);
                let disposition = self.core.handle_packet(now, &incoming);
                self.outputs.push(disposed(&disposition));
            }
            "delivered" => self.core.handle_delivered(now, rank("to"), token(words)),
            "report" => {
                let (counter, value) = reported(words);
                self.core.handle_report(now, rank("from"), counter, value);
            }
            "told" => self.core.handle_write_acked(now, rank("to"), counter(words)),
            "missed" => self.core.handle_missed(now, rank("from"), token(words)),
            "flush" => self.core.handle_flush(now),
            "broken" => self.core.handle_broken(now, rank("rank")),
            "departed" => {
                let next = OpId(words.number("next") as u32);
                self.core.handle_departed(now, rank("rank"), next);
            }
            "timeout" => self.core.handle_timeout(now),
            "awaited" => {
                let ranks: Vec<_> =
                    self.core.awaited().iter().map(|rank| rank.0.to_string()).collect();
                self.outputs.push(format!("asks after [{}]", ranks.join(", ")));
            }
            "drained" => {
                let is_drained = self.core.is_drained();
                let said = if is_drained { "nothing is still to come" } else { "more is to come" };
                self.outputs.push(said.to_owned());
            }
            "room" => self.set_room(words),
            verb => words.fail(&format!("there is no input {verb:?}")),
        }
        self.drain();
    }

    fn set_room(&mut self, words: &Words<'_>) {
        let room = &mut self.capacity;
        let number = |name, to: &mut usize| *to = words.optional(name).map_or(*to, |n| n as usize);
        number("multicast", &mut room.multicast);
        number("reliable", &mut room.reliable);
        number("report", &mut room.report);
        number("fetch", &mut room.fetch);
        room.is_idle = words.optional("idle").map_or(room.is_idle, |n| n > 0);
    }

    fn incoming(&self, words: &Words<'_>) -> Incoming {
        let message_len = words.optional("len").unwrap_or(self.message_len);
        let fragment = words.optional("fragment").unwrap_or(0);
        let start = fragment * self.fragment_len as u64;
        let payload_len = message_len.saturating_sub(start).min(self.fragment_len as u64);
        let via = match words.text("via") {
            "multicast" => Via::Multicast,
            "reliable" => Via::Reliable,
            "fetched" => Via::Fetched,
            other => words.fail(&format!("nothing comes via {other:?}")),
        };
        let kind = match words.optional_text("kind") {
            None => Kind::Fragment,
            Some("ready") => Kind::Ready,
            Some("acknowledge") => Kind::Acknowledge,
            Some("offer") => Kind::Offer,
            Some("written") => Kind::Written,
            Some(other) => words.fail(&format!("there is no kind {other:?}")),
        };
        let has_report = words.optional("have").or(words.optional("consumed")).is_some();
        Incoming {
            via,
            source: Rank(words.number("from") as u32),
            kind,
            op: OpId(words.number("op") as u32),
            fragment: Fragment(fragment as u32),
            message_len,
            payload_len: match kind {
                Kind::Fragment => payload_len as usize,
                _ => words.optional("bytes").unwrap_or(0) as usize,
            },
            report: match has_report {
                true => reported(words).1,
                false => words.optional("lost").unwrap_or(0),
            },
            asks: words.optional("asks") == Some(1),
            memory: words.optional("memory").map(|address| Region { address, key: 0 }),
        }
    }

    fn drain(&mut self) {
        while let Some(transmit) = self.core.poll_transmit(&self.capacity) {
            self.outputs.extend(transmitted(&transmit, self.family));
        }
        while let Some(event) = self.core.poll_event() {
            self.outputs.push(happened(&event));
        }
        let timer = self.core.poll_timeout();
        if timer != self.timer {
            self.timer = timer;
            self.outputs.push(match timer {
                None => "no timer".to_owned(),
                Some((timer, at)) => {
                    format!("timer {timer:?} at {}us", at.since(Instant::ZERO).as_micros())
                }
            });
        }
    }
}

fn token(words: &Words<'_>) -> Token {
    let kind = match words.optional_text("kind") {
        Some("acknowledge") => Kind::Acknowledge,
        Some("ready") => Kind::Ready,
        Some("written") => Kind::Written,
        _ => Kind::Fragment,
    };
    let fragment = Fragment(words.optional("fragment").unwrap_or(0) as u32);
    Token { kind, op: OpId(words.number("op") as u32), fragment }
}

fn counter(words: &Words<'_>) -> Counter {
    match (words.optional("consumed"), words.optional("begun")) {
        (Some(_), _) => Counter::Consumed,
        (None, Some(_)) => Counter::Begun,
        (None, None) => Counter::Acknowledged,
    }
}

fn reported(words: &Words<'_>) -> (Counter, u64) {
    match (words.optional("consumed"), words.optional("begun")) {
        (Some(count), _) => (Counter::Consumed, core::consumed(count as u32)),
        (None, Some(count)) => (Counter::Begun, count),
        (None, None) => {
            let have = words.number("have") as u32;
            let credit = words.optional("credit").map_or(have, |credit| credit as u32);
            (Counter::Acknowledged, core::report(have, credit).emit())
        }
    }
}

fn disposed(disposition: &Disposition) -> String {
    match disposition {
        Disposition::Place(range) => format!("place {}..{}", range.start, range.end),
        Disposition::InPlace(range) => format!("in place {}..{}", range.start, range.end),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn retained(packets: &Packets, is_multicast: bool) -> Vec<String> {
    let of_one = |(slot, piece, _): (u32, Piece, Range<usize>)| {
        let report = spoken(piece.report);
        let asks = if piece.asks { ", asks" } else { "" };
        let kept = format!("keep {}.{} in slot {slot}{report}{asks}", piece.op.0, piece.fragment.0);
        iter::once(kept).chain(is_multicast.then(|| format!("multicast slot {slot}")))
    };
    packets.iter().flat_map(of_one).collect()
}

fn transmitted(transmit: &Transmit, family: Family) -> Vec<String> {
    let said = match transmit {
        Transmit::Send { target, piece, .. } => {
            let report = match family {
                Family::Window => spoken(piece.report),
                Family::Unicast => spoken_count(piece.report),
            };
            let what = match piece.kind {
                Kind::Fragment => format!("{}.{}", piece.op.0, piece.fragment.0),
                Kind::Acknowledge if piece.asks => {
                    format!("question after {}.{}", piece.op.0, piece.fragment.0)
                }
                Kind::Acknowledge => "acknowledgement".to_owned(),
                kind => format!("{kind:?} for {}", piece.op.0).to_lowercase(),
            };
            match target {
                Target::Group => format!("multicast {what}{report}"),
                Target::Rank(to) => format!("send {what} to {}{report}", to.0),
            }
        }
        Transmit::Retain { packets, is_multicast } => return retained(packets, *is_multicast),
        Transmit::Resend { to, slot, token } => {
            format!("send slot {slot} ({}.{}) to {}", token.op.0, token.fragment.0, to.0)
        }
        Transmit::Offer { to, piece } => {
            format!("offer memory for {} to {}{}", piece.op.0, to.0, spoken_count(piece.report))
        }
        Transmit::Write { to, piece, range, into } => {
            let what = format!("{}..{} of {}", range.start, range.end, piece.op.0);
            format!("write {what} to {} at {}{}", to.0, into.address, spoken_count(piece.report))
        }
        Transmit::Report { to, counter, value } => match counter {
            Counter::Acknowledged => format!("report to {}{}", to.0, spoken(*value)),
            Counter::Consumed => format!("report to {}{}", to.0, spoken_count(*value)),
            Counter::Begun => format!("report to {} begun={value}", to.0),
        },
        Transmit::Fetch { from, slot, token } => {
            format!("fetch {}.{} from slot {slot} of {}", token.op.0, token.fragment.0, from.0)
        }
    };
    vec![said]
}

/// A report of the window family in words.
fn spoken(value: u64) -> String {
    match Report::parse(value, Seq(0)) {
        None => String::new(),
        Some(Report { have, credit, .. }) if have == credit => format!(": have {}", have.low()),
        Some(Report { have, credit, .. }) => {
            format!(": have {} credit {}", have.low(), credit.low())
        }
    }
}

/// A report of the unicast family in words.
fn spoken_count(value: u64) -> String {
    core::spoken(value).map_or_else(String::new, |count| format!(": consumed {count}"))
}

fn happened(event: &Event) -> String {
    match event {
        Event::Complete { op, lost } => format!("complete {}, {lost} lost", op.0),
        Event::Quiescent(op) => format!("quiescent {}", op.0),
        Event::Disagreement { op, rank, what } => {
            format!("disagreement in {}: {rank}: {what}", op.0)
        }
    }
}

/// A time as transcripts write it.
fn micros(text: &str) -> Option<Duration> {
    text.strip_suffix("us")?.parse().ok().map(Duration::from_micros)
}
