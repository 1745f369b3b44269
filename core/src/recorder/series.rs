//! One Event: the occurrences that it stands for, and those that the server knows.

use super::config::RecorderConfig;
use super::occurrence::{Key, ObjectReference, Occurrence};
use crate::object::is_domain;
use crate::random::Random;
use crate::request::RequestId;
use crate::time::{Instant, MicroTime, WallTime};
use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;
use serde_json::{Value, json};

/// The occurrences of one key.
#[derive(Debug)]
pub(super) struct Series {
    regarding: ObjectReference,
    note: String,
    /// The name of the Event.
    pub(super) name: String,
    first: WallTime,
    last: WallTime,
    /// When the last occurrence was recorded, or the end of the series was put off.
    pub(super) idle_since: Instant,
    pub(super) count: u32,
    /// The occurrences that the server knows; zero if it has no Event.
    pub(super) written: u32,
    /// What a request tried to write, whose answer was lost.
    pub(super) tried: Option<u32>,
    written_at: Instant,
    pub(super) attempts: u32,
    pub(super) stage: Stage,
    /// It has taken its token, and the write has not succeeded yet.
    pub(super) is_paid: bool,
    /// When the server refused it. Repeats are not written then, and count as known.
    refused_at: Option<Instant>,
    /// No occurrence came for so long that the count is written, and the series forgotten.
    pub(super) is_closing: bool,
    /// When to look at it again.
    pub(super) timer: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    Queued,
    Open(RequestId),
}

/// When a series is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    Now,
    /// Now, if a token can be had.
    ForToken,
    At(Instant),
}

/// A series that goes on is written again after this time (client-go `refreshTime`). A server forgets Events after an hour.
pub(super) const REFRESH: Duration = Duration::from_secs(30 * 60);

impl Series {
    pub(super) fn new(now: Instant, wall: WallTime, name: String, occurrence: Occurrence) -> Self {
        Self {
            regarding: occurrence.regarding,
            note: occurrence.note,
            name,
            first: wall,
            last: wall,
            idle_since: now,
            count: 1,
            written: 0,
            tried: None,
            written_at: now,
            attempts: 0,
            stage: Stage::Idle,
            is_paid: false,
            refused_at: None,
            is_closing: false,
            timer: None,
        }
    }

    /// Counts another occurrence.
    pub(super) fn repeat(&mut self, now: Instant, wall: WallTime) {
        self.count = self.count.saturating_add(1).min(MOST);
        (self.last, self.idle_since, self.is_closing) = (wall, now, false);
        if self.is_refused() {
            self.written = self.count;
        }
    }

    /// The server has the Event with this count.
    pub(super) fn on_written(&mut self, now: Instant, count: u32) {
        (self.stage, self.written, self.written_at) = (Stage::Idle, count, now);
        (self.attempts, self.is_paid, self.tried) = (0, false, None);
    }

    /// The server has forgotten the Event, after an hour for example.
    pub(super) fn on_gone(&mut self) {
        (self.stage, self.written, self.is_paid) = (Stage::Idle, 0, true);
    }

    /// The server refuses the Event.
    pub(super) fn on_refused(&mut self, now: Instant) {
        (self.stage, self.written, self.refused_at) = (Stage::Idle, self.count, Some(now));
    }

    pub(super) fn is_refused(&self) -> bool {
        self.refused_at.is_some()
    }

    /// Whether the server refused it so long ago.
    pub(super) fn was_refused_before(&self, now: Instant, age: Duration) -> bool {
        self.refused_at.is_some_and(|at| now.saturating_since(at) >= age)
    }

    /// How many occurrences the server does not know.
    pub(super) fn unwritten(&self) -> u64 {
        u64::from(self.count - self.written)
    }

    /// When to write it. `is_last` says that no later time comes.
    pub(super) fn wish(&self, now: Instant, is_last: bool) -> Wish {
        let is_over = self.is_closing || is_last;
        match self.written {
            _ if self.stage != Stage::Idle || self.unwritten() == 0 => Wish::Nothing,
            _ if self.is_paid => Wish::Now,
            0 => Wish::ForToken,
            _ if is_over => Wish::Now,
            1 => Wish::ForToken,
            _ if self.written_at + REFRESH <= now => Wish::Now,
            _ => Wish::At(self.written_at + REFRESH),
        }
    }

    /// The namespace of the Event. A server demands `default` for an object of the cluster.
    pub(super) fn namespace(&self) -> &str {
        self.regarding.namespace().unwrap_or("default")
    }

    pub(super) fn regarding(&self) -> &ObjectReference {
        &self.regarding
    }

    /// The whole Event.
    pub(super) fn event(&self, key: &Key, config: &RecorderConfig) -> Value {
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": { "name": self.name, "namespace": self.namespace() },
            "eventTime": MicroTime(self.first).to_string(),
            "reportingController": config.controller,
            "reportingInstance": config.instance,
            "type": key.r#type,
            "reason": key.reason,
            "action": key.action,
            "note": self.note,
            "regarding": self.regarding,
        });
        if let Some(related) = &key.related {
            event["related"] = json!(related);
        }
        if self.count > 1 {
            event["series"] = self.series();
        }
        event
    }

    /// What changes of an Event.
    pub(super) fn patch(&self) -> Value {
        json!({ "series": self.series() })
    }

    fn series(&self) -> Value {
        json!({ "count": self.count, "lastObservedTime": MicroTime(self.last).to_string() })
    }
}

/// The count is an `int32`.
const MOST: u32 = i32::MAX as u32;

/// Makes names that no other Event has.
#[derive(Debug)]
pub(super) struct Names {
    random: Random,
    last: u64,
}

impl Names {
    pub(super) fn new(config: &RecorderConfig) -> Self {
        // Processes without a seed of their own have instances of their own (FNV-1a).
        let mix = |seed: u64, byte| (seed ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Self { random: Random::new(config.instance.bytes().fold(config.seed, mix)), last: 0 }
    }

    /// The name of the object and the microseconds since 1970, where client-go's `GenerateEventName` has nanoseconds. Each
    /// time is later than the one before, whatever the clock shows.
    pub(super) fn at(&mut self, object: &str, wall: WallTime) -> String {
        let micros = u64::try_from(wall.as_unix_micros()).unwrap_or_default();
        self.last = micros.max(self.last.wrapping_add(1));
        named(object, self.last)
    }

    /// Another name, where an Event of another client has the first one.
    pub(super) fn other(&mut self, object: &str) -> String {
        named(object, self.random.next())
    }

    /// A duration up to `most`, which spreads clients in time.
    pub(super) fn jitter(&mut self, most: Duration) -> Duration {
        self.random.below(most)
    }
}

/// `object.number`. An object's name that cannot be a part of an Event's is left out.
fn named(object: &str, number: u64) -> String {
    let name = format!("{object}.{number:x}");
    if is_domain(&name) { name } else { format!("event.{number:x}") }
}
