use super::limits::{OBJECT_LIMIT, object_too_long, weight};
use super::observation::{Told, key_of, number, version_of};
use crate::error::Fault;
use listwatch_core::framing::{Frame, Framer, Framing};
use serde::Deserialize;
use serde_json::Value;

/// The annotation of the bookmark that ends the initial events of a watch-list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The status of a watch whose version is too old.
pub(super) const EXPIRED: u16 = 410;

/// A watch that arrives in pieces.
#[derive(Debug)]
pub(super) struct WatchReader {
    framer: Framer,
    buffer: Vec<u8>,
    /// The objects of the initial events, while these go on.
    initial: Option<Vec<Value>>,
    /// The memory of the initial events.
    weight: u64,
    over: bool,
}

#[derive(Deserialize)]
struct Event {
    r#type: String,
    object: Value,
}

impl WatchReader {
    /// A watch, or a watch-list, which begins with the state.
    pub(super) fn new(initial_events: bool) -> Self {
        let framer = Framer::new(Framing::Lines, OBJECT_LIMIT);
        Self { framer, buffer: Vec::new(), initial: initial_events.then(Vec::new), weight: 0, over: false }
    }

    /// Takes bytes of the body, and adds what they tell to `told`.
    pub(super) fn read(&mut self, bytes: &[u8], told: &mut Vec<Told>) -> Result<(), Fault> {
        self.buffer.extend_from_slice(bytes);
        while let Some(frame) = self.framer.next_frame(&self.buffer) {
            let line = match frame {
                Frame::Value(line) => line,
                Frame::TooLong => return Err(object_too_long()),
                _ => continue,
            };
            if let Ok(event) = serde_json::from_slice::<Event>(line) {
                self.weight += self.initial.as_ref().map_or(0, |_| weight(&event.object));
                let (initial, over) = (&mut self.initial, &mut self.over);
                told.extend(event.told(initial, over));
            }
        }
        if self.initial.is_none() {
            self.weight = 0;
        }
        self.buffer.drain(..self.framer.reclaim());
        Ok(())
    }

    /// The memory of what is kept.
    pub(super) fn weight(&self) -> u64 {
        self.weight + self.buffer.len() as u64
    }
}

/// What one event tells, behind no other.
pub(super) fn event_of(line: &[u8]) -> Option<Told> {
    serde_json::from_slice::<Event>(line).ok()?.told(&mut None, &mut false)
}

impl Event {
    fn told(self, initial: &mut Option<Vec<Value>>, over: &mut bool) -> Option<Told> {
        let object = self.object;
        match (self.r#type.as_str(), initial.as_mut()) {
            _ if *over => None,
            ("ADDED" | "MODIFIED", Some(objects)) => {
                objects.extend(key_of(&object).map(|_| object));
                None
            }
            ("BOOKMARK", Some(_)) if is_end_of_initial_events(&object) => {
                Some(Told::State { objects: initial.take()?, version: version_of(&object) })
            }
            ("ADDED" | "MODIFIED", None) => key_of(&object).map(|_| Told::Set(object)),
            ("DELETED", None) => key_of(&object).map(|_| Told::Deleted(object)),
            ("BOOKMARK", None) => {
                object["metadata"]["resourceVersion"].as_str().map(|version| Told::Reached(number(version)))
            }
            ("ERROR", _) => {
                *over = true;
                (object["code"] == EXPIRED).then_some(Told::Expired)
            }
            _ => None,
        }
    }
}

fn is_end_of_initial_events(bookmark: &Value) -> bool {
    bookmark["metadata"]["annotations"][INITIAL_EVENTS_END] == "true"
}
