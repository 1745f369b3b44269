use super::limits::{OBJECT_LIMIT, object_too_long, weight};
use super::observation::Told;
use super::place::{key_of, number, version_of};
use super::seen::Seen;
use crate::error::Fault;
use listwatch_core::framing::{Frame, Framer, Framing};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The annotation of the bookmark that ends the initial events of a watch-list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The status of a watch whose version is too old.
pub(super) const EXPIRED: u16 = 410;

/// A watch that arrives in pieces.
#[derive(Debug)]
pub(super) struct WatchReader {
    framer: Framer,
    buffer: Vec<u8>,
    progress: Progress,
}

/// How far a watch is.
#[derive(Debug, Default)]
struct Progress {
    /// The objects of the initial events, while these go on.
    initial: Option<Vec<Value>>,
    /// The memory of the initial events.
    weight: u64,
    /// Behind an error, nothing is told.
    over: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

impl WatchReader {
    /// A watch, or a watch-list, which begins with the state.
    pub(super) fn new(initial_events: bool) -> Self {
        let framer = Framer::new(Framing::Values, OBJECT_LIMIT);
        let progress = Progress { initial: initial_events.then(Vec::new), ..Progress::default() };
        Self { framer, buffer: Vec::new(), progress }
    }

    /// Takes bytes of the body, and adds what they tell to `told`.
    pub(super) fn read(&mut self, bytes: &[u8], told: &mut Vec<Told>) -> Result<(), Fault> {
        self.buffer.extend_from_slice(bytes);
        while let Some(frame) = self.framer.next_frame(&self.buffer) {
            match frame {
                Frame::Value(line) => told.extend(self.progress.line(line)),
                Frame::TooLong => return Err(object_too_long()),
                _ => {}
            }
        }
        self.buffer.drain(..self.framer.reclaim());
        Ok(())
    }

    /// The memory of what is kept.
    pub(super) fn weight(&self) -> u64 {
        self.progress.weight + self.buffer.len() as u64
    }
}

/// What one event tells, behind no other.
pub(super) fn event_of(line: &[u8]) -> Option<Told> {
    Progress::default().line(line)
}

impl Progress {
    fn line(&mut self, line: &[u8]) -> Option<Told> {
        let event: Event<'_> = serde_json::from_slice(line).ok().filter(|_| !self.over)?;
        match (&*event.r#type, &mut self.initial) {
            ("ADDED" | "MODIFIED", Some(_)) => self.on_initial(event.object()?),
            ("BOOKMARK", Some(_)) => self.on_end_of_initial(&event.object()?),
            ("ADDED" | "MODIFIED", None) => Seen::of(event.object).map(Told::Set),
            ("DELETED", None) => Seen::of(event.object).map(Told::Deleted),
            ("BOOKMARK", None) => reached(&event.object()?),
            ("ERROR", _) => self.on_error(&event.object()?),
            _ => None,
        }
    }

    fn on_initial(&mut self, object: Value) -> Option<Told> {
        key_of(&object)?;
        self.weight += weight(&object);
        self.initial.as_mut()?.push(object);
        None
    }

    fn on_end_of_initial(&mut self, bookmark: &Value) -> Option<Told> {
        if bookmark["metadata"]["annotations"][INITIAL_EVENTS_END] != "true" {
            return None;
        }
        self.weight = 0;
        Some(Told::State { objects: self.initial.take()?, version: version_of(bookmark) })
    }

    fn on_error(&mut self, status: &Value) -> Option<Told> {
        self.over = true;
        (status["code"] == EXPIRED).then_some(Told::Expired)
    }
}

fn reached(bookmark: &Value) -> Option<Told> {
    bookmark["metadata"]["resourceVersion"].as_str().map(|version| Told::Reached(number(version)))
}

impl Event<'_> {
    fn object(&self) -> Option<Value> {
        serde_json::from_str(self.object.get()).ok()
    }
}
