//! Watches: what there is and what changes, from a version on.

use super::cache::Cache;
use super::form::Form;
use super::list::version;
use super::metadata::metadata_of;
use super::refusal::Refusal;
use super::selector::Selection;
use super::store::{Change, Forgotten};
use super::target::Target;
use crate::kinds::ServedKind;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::time::earliest;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;

/// How often a bookmark comes, if the caller takes bookmarks.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// How long a watch lasts whose request has no `timeoutSeconds`.
const LASTS: Duration = Duration::from_secs(30 * 60);

/// How many bytes are written at a time before the caller takes them.
const PIECE: usize = 64 * 1024;

/// How far a watch has told.
#[derive(Debug)]
pub(super) struct WatchState {
    collection: String,
    api_version: String,
    kind: String,
    selection: Selection,
    form: Form,
    /// Events that are told before changes, last one first.
    initial: Vec<Arc<Value>>,
    /// Whether the end of the initial events is still to be marked.
    marks_end: bool,
    /// The version that it goes on from.
    from: u64,
    /// The number of the next change.
    next: u64,
    /// The version that the cache has to have before anything is told, and since when.
    awaited: Option<(u64, Instant)>,
    /// The version that all was told up to.
    told: u64,
    bookmark: Option<Instant>,
    end: Instant,
    /// The version that it was to go on from, where that is forgotten.
    expired: Option<u64>,
    is_over: bool,
}

/// How a watch goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchProgress {
    /// It has more by this time, or when the waker is called; `None` if by the waker alone.
    Open(Option<Instant>),
    /// It ended.
    Over,
}

impl WatchState {
    /// Begins a watch.
    pub(super) fn begin(
        now: Instant,
        cache: &Cache<'_>,
        kind: &ServedKind,
        target: &Target,
        form: &Form,
    ) -> Result<Self, Refusal> {
        let selection = Selection::of(target, kind)?;
        // As a server answers, which reads this version late.
        let asked = version(target).map_err(|why| Refusal::without_reason(500, &why))?;
        let wants_initial = target.flag("sendInitialEvents");
        let bookmarks = target.flag("allowWatchBookmarks");
        let seconds: Option<u32> = target.parameter("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
        // As a server takes it, 0 is no limit of the client's.
        let lasts = seconds.filter(|seconds| *seconds > 0).map_or(LASTS, |seconds| Duration::from_secs(seconds.into()));
        let mut watch = Self {
            api_version: form.api_version(&kind.api_version).to_owned(),
            kind: kind.kind.clone(),
            selection,
            form: form.clone(),
            initial: Vec::new(),
            marks_end: wants_initial && bookmarks,
            from: 0,
            next: 0,
            awaited: wants_initial.then(|| (asked.unwrap_or(cache.newest), now)),
            told: 0,
            bookmark: bookmarks.then(|| now + BOOKMARKS),
            end: now + lasts,
            expired: None,
            is_over: false,
            collection: kind.name(),
        };
        match asked.filter(|asked| *asked > 0) {
            _ if watch.awaited.is_some_and(|(version, _)| !cache.has(version)) => {}
            Some(from) if !wants_initial => watch.go_on_from(cache, from),
            None if !wants_initial && target.parameter("sendInitialEvents").is_some() => {
                watch.go_on_from(cache, asked.map_or(cache.newest, |_| cache.version()));
            }
            _ => watch.begin_with_state(cache),
        }
        Ok(watch)
    }

    /// The name of the collection.
    pub(super) fn collection(&self) -> &str {
        &self.collection
    }

    fn begin_with_state(&mut self, cache: &Cache<'_>) {
        self.awaited = None;
        let (version, state) = cache.state();
        let selected = state.into_values().filter(|object| self.selection.matches(object));
        self.initial = selected.rev().cloned().collect();
        self.go_on_from(cache, version);
    }

    fn go_on_from(&mut self, cache: &Cache<'_>, version: u64) {
        (self.from, self.told) = (version, version);
        match cache.collection.position(version) {
            Ok(next) => self.next = next,
            Err(Forgotten) => self.expired = Some(version),
        }
    }

    /// Waits for a version in the cache.
    fn wait(&mut self, now: Instant, cache: &Cache<'_>, out: &mut Vec<u8>) -> Option<WatchProgress> {
        let (version, since) = self.awaited?;
        if cache.has(version) {
            self.begin_with_state(cache);
            return None;
        }
        let until = cache.answers(version, since);
        if until > now {
            return Some(WatchProgress::Open(Some(until)));
        }
        self.tell_error(&Refusal::too_large(version, cache.version()), out);
        Some(WatchProgress::Over)
    }

    /// Writes what is due. Changes are so long on their way.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        cache: &Cache<'_>,
        way: Duration,
        out: &mut Vec<u8>,
    ) -> WatchProgress {
        if self.is_over {
            return WatchProgress::Over;
        }
        if let Some(waiting) = self.wait(now, cache, out) {
            return waiting;
        }
        let full = out.len() + PIECE;
        self.tell_initial(full, out);
        let next = self.tell_changes(now, cache, way, full, out);
        if self.is_over {
            return WatchProgress::Over;
        }
        if out.len() >= full {
            return WatchProgress::Open(Some(now));
        }
        if self.end <= now {
            self.is_over = true;
            return WatchProgress::Over;
        }
        if self.bookmark.is_some_and(|due| due <= now) {
            if cache.has(self.told) {
                self.tell_bookmark(false, out);
            }
            self.bookmark = Some(now + BOOKMARKS);
        }
        WatchProgress::Open(earliest(earliest(next, self.bookmark), Some(self.end)))
    }

    fn tell_initial(&mut self, full: usize, out: &mut Vec<u8>) {
        while out.len() < full {
            let Some(object) = self.initial.pop() else { break };
            self.tell("ADDED", &object, out);
        }
        if self.initial.is_empty() && std::mem::take(&mut self.marks_end) {
            self.tell_bookmark(true, out);
        }
    }

    /// Tells changes, and returns when the next one is due.
    fn tell_changes(
        &mut self,
        now: Instant,
        cache: &Cache<'_>,
        way: Duration,
        full: usize,
        out: &mut Vec<u8>,
    ) -> Option<Instant> {
        while out.len() < full {
            let change = match cache.collection.change(self.next) {
                Ok(change) if self.expired.is_none() => change?,
                _ => {
                    let from = self.expired.unwrap_or(self.told);
                    self.tell_error(&Refusal::too_old(from, cache.collection.compacted()), out);
                    return None;
                }
            };
            let due = cache.told_at(self.next, change, way)?;
            if due > now {
                return Some(due);
            }
            if change.gap_from.is_some() {
                let revision = change.revision;
                self.tell_error(&Refusal::too_old(self.told, revision), out);
                return None;
            }
            // A watch may ask for a version to come.
            if change.revision > self.from {
                self.tell_change(change, out);
            }
            (self.next, self.told) = (self.next + 1, self.told.max(change.revision));
        }
        None
    }

    fn tell_change(&self, change: &Change, out: &mut Vec<u8>) {
        let was_selected = change.before.as_ref().is_some_and(|before| self.selection.matches(before));
        let is_selected = !change.is_deletion && self.selection.matches(&change.object);
        match (was_selected, is_selected) {
            (false, false) => {}
            (false, true) => self.tell("ADDED", &change.object, out),
            (true, true) => self.tell("MODIFIED", &change.object, out),
            (true, false) if change.is_deletion => self.tell("DELETED", &change.object, out),
            (true, false) => {
                let mut last = change.before.as_deref().cloned().unwrap_or_default();
                metadata_of(&mut last).insert("resourceVersion".into(), json!(change.revision.to_string()));
                self.tell("DELETED", &last, out);
            }
        }
    }

    fn tell_bookmark(&self, ends_initial: bool, out: &mut Vec<u8>) {
        let mut metadata = json!({ "resourceVersion": self.told.to_string() });
        if ends_initial {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let object = json!({ "kind": self.kind, "apiVersion": self.api_version, "metadata": metadata });
        self.tell("BOOKMARK", &object, out);
    }

    fn tell_error(&mut self, refusal: &Refusal, out: &mut Vec<u8>) {
        let status = refusal.status.as_ref().map_or_else(String::new, Value::to_string);
        event("ERROR", &status, out);
        self.is_over = true;
    }

    fn tell(&self, kind: &str, object: &Value, out: &mut Vec<u8>) {
        event(kind, &self.form.write(object), out);
    }
}

fn event(kind: &str, object: &str, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _written = writeln!(out, r#"{{"type":"{kind}","object":{object}}}"#);
}
