//! What happens when in a process, as a layer of the crate `tracing` that writes it to a file.
//!
//! A span becomes an event with a duration: of the thread that entered it, or of its own where no thread did, so that it
//! may overlap others. An event with a field `nanos` has lasted so long when it is told, or until `ago` nanoseconds before that;
//! one with a field `overlaps` besides may overlap others. Any other event is a point in time.

use super::TraceError;
use super::file::{EventFile, Process};
use rustix::time::{ClockId, clock_gettime};
use serde::{Serialize, Serializer};
use smallvec::SmallVec;
use std::cell::Cell;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// The name of the event with which a communicator ends.
const LAST: &str = "left";

/// A layer that writes a timeline, in the trace event format, to a file of this process.
#[derive(Debug)]
pub struct Timeline {
    process: u32,
    file: Mutex<EventFile>,
}

/// A span under way.
struct Open {
    began: u64,
    /// The thread that has entered it.
    thread: Option<u64>,
    fields: Fields,
}

impl Timeline {
    /// A timeline in a folder, which is made if it does not exist: in `rank-N.json`, or a file with the names of host and
    /// process where no launcher has told a rank. Should the file not be writable, that is told on standard error.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn create(folder: &Path) -> Result<Timeline, TraceError> {
        let process = Process::this();
        let id = process.id();
        Ok(Timeline { process: id, file: Mutex::new(EventFile::new(folder, process)?) })
    }

    /// Something that lasted from `began` to `ended`, of a thread or of its own.
    fn add(&self, name: &str, [began, ended]: [u64; 2], thread: Option<u64>, fields: &Values) {
        let line = Line { name, ts: micros(began), pid: self.process, ..Line::default() };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tid) = thread {
            let dur = Some(micros(ended - began));
            return file.add(ended, &Line { ph: "X", dur, tid, args: Some(fields), ..line });
        }
        let line = Line { cat: Some(name), id: Some(number()), ..line };
        file.add(ended, &Line { ph: "b", args: Some(fields), ..line });
        file.add(ended, &Line { ph: "e", ts: micros(ended), ..line });
    }

    /// Something that happened at a time.
    fn add_point(&self, name: &str, at: u64, fields: &Values) {
        let (pid, tid, args) = (self.process, thread(), Some(fields));
        let line =
            Line { name, ph: "i", s: Some("t"), ts: micros(at), pid, tid, args, ..Line::default() };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.add(at, &line);
        if name == LAST {
            file.flush(at);
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Timeline {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Open { began: now(), thread: None, fields });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.fields);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            open.thread.get_or_insert_with(thread);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let open = span.extensions_mut().remove::<Open>();
        if let Some(Open { began, thread, fields }) = open {
            self.add(span.name(), [began, now()], thread, &fields.values);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let now = now();
        let mut fields = Fields::default();
        event.record(&mut fields);
        let name = fields.message.take().unwrap_or_else(|| event.metadata().target().to_owned());
        match fields.nanos.take() {
            Some(nanos) => {
                let ended = now.saturating_sub(fields.ago);
                let thread = if fields.overlaps { None } else { Some(thread()) };
                self.add(&name, [ended.saturating_sub(nanos), ended], thread, &fields.values);
            }
            None => self.add_point(&name, now, &fields.values),
        }
    }
}

/// An event as the format has it. It is written from here, without a value of its kind in between, as calls wait for it.
#[derive(Clone, Copy, Default, Serialize)]
struct Line<'a> {
    name: &'a str,
    /// With `id`, what the end of something that may overlap others has in common with its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    ph: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: u32,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a Values>,
}

/// What is said with a span or an event.
#[derive(Default)]
struct Fields {
    message: Option<String>,
    nanos: Option<u64>,
    ago: u64,
    overlaps: bool,
    values: Values,
}

/// Names and values.
#[derive(Default)]
struct Values(SmallVec<[(&'static str, Said); 10]>);

/// A value.
#[derive(Serialize)]
#[serde(untagged)]
enum Said {
    Unsigned(u64),
    Signed(i64),
    Bool(bool),
    Text(String),
}

impl Values {
    fn add(&mut self, field: &Field, said: Said) {
        match self.0.iter_mut().find(|(name, _)| *name == field.name()) {
            Some((_, value)) => *value = said,
            None => self.0.push((field.name(), said)),
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, said)| (name, said)))
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "nanos" => self.nanos = Some(value),
            "ago" => self.ago = value,
            _ => self.values.add(field, Said::Unsigned(value)),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.values.add(field, Said::Signed(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "overlaps" => self.overlaps = value,
            _ => self.values.add(field, Said::Bool(value)),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.values.add(field, Said::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = Some(text),
            _ => self.values.add(field, Said::Text(text)),
        }
    }
}

/// Nanoseconds on the clock that all processes of a host have in common.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// As the format has times: microseconds.
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// A number for something that overlaps others.
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The number of this thread, from 1 in the order in which threads first had something to tell.
fn thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static OWN: Cell<u64> = const { Cell::new(0) });
    OWN.with(|own| {
        if own.get() == 0 {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        own.get()
    })
}

#[cfg(test)]
mod tests {
    use super::super::FORMAT;
    use super::*;
    use serde_json::Value;
    use std::fs;
    use tracing_subscriber::layer::SubscriberExt;

    /// The events of what is done under a timeline.
    fn events(done: impl FnOnce()) -> Vec<Value> {
        let folder = std::env::temp_dir().join(format!("verbcast-timeline-{}", number()));
        let folder = folder.join(std::process::id().to_string());
        let timeline = Timeline::create(&folder).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(timeline), || {
            done();
            tracing::debug!("left");
        });
        let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(file).unwrap();
        fs::remove_dir_all(folder).unwrap();
        // A list that has no end, as the process may write more.
        serde_json::from_str::<Vec<Value>>(&(text + "]")).unwrap()
    }

    #[test]
    fn a_process_introduces_itself() {
        let events = events(|| {});
        let arguments = &events[0]["args"];
        assert_eq!((&events[0]["ph"], &arguments["verbcast"]), (&"M".into(), &FORMAT.into()));
        assert!(arguments["host"].is_string() && arguments["now_ns"].as_u64() > Some(0));
        assert_eq!(events.last().unwrap()["name"], "left");
    }

    #[test]
    fn what_lasted_has_a_beginning_and_a_duration() {
        let events = events(|| {
            let span = tracing::debug_span!("repair", from = 3);
            tracing::debug_span!("call", len = 8).in_scope(|| {});
            drop(span);
            tracing::debug!(nanos = 5000_u64, whom = "2", "wait");
            tracing::debug!(nanos = 7000_u64, overlaps = true, "operation");
        });
        let named =
            |name: &str| events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>();
        let call = named("call")[0];
        assert_eq!((&call["ph"], &call["args"]["len"]), (&"X".into(), &8.into()));
        let [begin, end] = named("repair")[..] else { panic!("{events:?}") };
        assert_eq!((&begin["ph"], &end["ph"]), (&"b".into(), &"e".into()));
        assert_eq!((&begin["id"], &begin["args"]["from"]), (&end["id"], &3.into()));
        let wait = named("wait")[0];
        assert_eq!((&wait["ph"], wait["dur"].as_f64()), (&"X".into(), Some(5.0)));
        assert_eq!((&wait["args"]["whom"], wait["args"].get("nanos")), (&"2".into(), None));
        let [begin, end] = named("operation")[..] else { panic!("{events:?}") };
        let lasted = end["ts"].as_f64().unwrap() - begin["ts"].as_f64().unwrap();
        assert!((lasted - 7.0).abs() < 0.01, "{lasted}");
    }
}
