//! A resource of an audit log: what its list and its watch show.

use crate::capture::format::{End, RequestRecord};
use crate::error::Fault;
use crate::memory::weight_of_key;
use crate::recording::CaptureOutput;
use core::ops::RangeInclusive;
use listwatch_core::Key;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A resource: one list, and one watch behind it, whose events are in order for each object.
#[derive(Default)]
pub(super) struct Stream {
    pub(super) path: String,
    /// The version and the kind of its objects.
    pub(super) types: [Value; 2],
    /// The id of the watch, once it is open.
    pub(super) watch: Option<u64>,
    /// The version of the first state that was written; zero before it.
    pub(super) first: u64,
    /// The states that the list and the watch show.
    pub(super) shown: BTreeMap<Key, State>,
    /// The oldest states from before the first one that was written. They are the list of the next reading.
    pub(super) before: BTreeMap<Key, State>,
    /// The objects that were deleted, by their identities, each with a version: an answer that comes late brings back no
    /// state up to there.
    pub(super) gone: HashMap<Box<str>, u64>,
    /// The written states that came behind a newer one of their object: in this reading of the log, and in the one before
    /// it, until they come.
    pub(super) overtaken: BTreeSet<(Key, u64)>,
    pub(super) expected: BTreeSet<(Key, u64)>,
    /// The states that wait for an expected one of their object.
    pub(super) waiting: BTreeMap<(Key, u64), State>,
}

/// A state of an object.
#[derive(Default)]
pub(super) struct State {
    pub(super) version: u64,
    pub(super) uid: Box<str>,
    /// Empty if there was no memory for it.
    pub(super) text: Box<str>,
}

impl Stream {
    /// The newest state of an object.
    pub(super) fn newest(&self, key: &Key) -> Option<&State> {
        let waiting = self.waiting.range(of(key)).next_back().map(|(_, state)| state);
        waiting.or_else(|| self.shown.get(key))
    }

    /// The version of the first state of an object that waits.
    pub(super) fn next_waiting(&self, key: &Key) -> Option<u64> {
        self.waiting.range(of(key)).next().map(|((_, version), _)| *version)
    }

    /// Takes the state of an object away, unless it is known to be of another identity.
    pub(super) fn take(&mut self, key: &Key, uid: &str) -> Option<State> {
        let is_other = |known: &str| !known.is_empty() && !uid.is_empty() && known != uid;
        self.shown.get(key).filter(|state| !is_other(&state.uid))?;
        self.shown.remove(key)
    }

    /// Writes the list and the head of the watch.
    pub(super) fn open(&mut self, out: &mut CaptureOutput) -> Result<u64, Fault> {
        let newest = || self.shown.values().map(|state| state.version).max().unwrap_or_default();
        let version = self.first.checked_sub(1).unwrap_or_else(newest);
        let (path, [api_version, kind]) = (&self.path, &self.types);
        let kind = json!(format!("{}List", kind.as_str().unwrap_or_default()));
        let metadata = json!({ "resourceVersion": version.to_string() });
        let id = out.request(RequestRecord::new("GET", path.clone()))?;
        let head = format!(r#"{{"kind":{kind},"apiVersion":{api_version},"metadata":{metadata},"items":["#);
        out.answer(id, 200, Some(&head))?;
        for (place, state) in self.shown.values().enumerate() {
            let comma = if place > 0 { ",\n" } else { "" };
            out.data(id, &format!("{comma}{}", state.text))?;
        }
        out.data(id, "]}")?;
        out.end(id, End::new("eof"))?;
        let id = out.request(RequestRecord::new("GET", format!("{path}?watch=1&resourceVersion={version}")))?;
        self.watch = Some(id);
        out.answer(id, 200, None).map(|()| id)
    }
}

impl State {
    /// The memory of it.
    pub(super) fn weight(&self, key: &Key) -> u64 {
        weight_of_key(key) + (self.uid.len() + self.text.len()) as u64
    }
}

/// The places of the states of an object.
pub(super) fn of(key: &Key) -> RangeInclusive<(Key, u64)> {
    (key.clone(), 0)..=(key.clone(), u64::MAX)
}
