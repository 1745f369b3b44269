//! What was recorded elsewhere.

use super::super::kinds::ServedKind;
use super::super::store::{self, Recorded, RecordedGap};
use super::Server;
use listwatch_core::{Instant, Key};
use serde_json::{Value, json};
use std::sync::Arc;

/// A change that was recorded elsewhere.
#[derive(Debug)]
pub(crate) enum RecordedChange {
    /// The object is there, new or changed, since a version.
    Present(Value, u64),
    /// The object was deleted at a version. It has its last state.
    Deleted(Value, u64),
    /// All changes up to a version are known.
    Reached(u64),
    /// The state at a version, behind a gap: the changes that led to it are unknown.
    Relisted {
        /// The objects that are new or changed.
        changed: Vec<Value>,
        /// The keys of the objects that are gone.
        gone: Vec<Key>,
        version: u64,
    },
}

impl Server {
    /// Enters a change of a kind that was recorded elsewhere.
    pub(in super::super) fn record(&mut self, now: Instant, kind: &ServedKind, change: RecordedChange) {
        let kind = self.kind_of_recorded(kind, change.sample());
        match change {
            RecordedChange::Present(object, revision) => {
                self.record_object(now, &kind, object, Recorded { revision, is_deletion: false });
            }
            RecordedChange::Deleted(object, revision) => {
                self.record_object(now, &kind, object, Recorded { revision, is_deletion: true });
            }
            RecordedChange::Reached(revision) => self.store.advance(&kind, revision),
            RecordedChange::Relisted { changed, gone, version: revision } => {
                let changed = changed.into_iter().map(|object| (key_of(&object), typed(object, &kind))).collect();
                let gone = gone.iter().map(|key| store::key(key.namespace().unwrap_or_default(), key.name())).collect();
                self.store.record_gap(now, &kind, RecordedGap { revision, changed, gone });
            }
        }
        self.settle_recorded(now);
    }

    fn record_object(&mut self, now: Instant, kind: &ServedKind, object: Value, change: Recorded) {
        let key = key_of(&object);
        self.store.record(now, kind, &key, typed(object, kind), change);
    }

    /// The kind of a recorded collection, as its objects show it.
    fn kind_of_recorded(&mut self, recorded: &ServedKind, object: Option<&Value>) -> Arc<ServedKind> {
        let known = self.kinds.known(&recorded.name()).unwrap_or_else(|| self.kinds.add(recorded.clone()));
        let Some(object) = object else { return known };
        let kind = object["kind"].as_str().filter(|_| object["apiVersion"] == known.api_version);
        let kind = kind.unwrap_or(&known.kind);
        let namespaced = if known.is_guessed { object["metadata"]["namespace"].is_string() } else { known.namespaced };
        if (kind, namespaced) == (&known.kind, known.namespaced) {
            return known;
        }
        self.kinds.add(ServedKind { kind: kind.to_owned(), namespaced, ..(*known).clone() })
    }
}

impl RecordedChange {
    /// An object that shows its kind.
    fn sample(&self) -> Option<&Value> {
        match self {
            Self::Present(object, _) | Self::Deleted(object, _) => Some(object),
            Self::Relisted { changed, .. } => changed.first(),
            Self::Reached(_) => None,
        }
    }
}

/// A recorded object with its type. What is no object has no other field.
fn typed(mut object: Value, kind: &ServedKind) -> Value {
    if !object.is_object() {
        object = json!({});
    }
    (object["kind"], object["apiVersion"]) = (json!(kind.kind), json!(kind.api_version));
    object
}

fn key_of(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    store::key(text("namespace"), text("name"))
}
