//! What was recorded elsewhere.

use super::super::store::{self, Recorded, RecordedGap};
use super::Server;
use crate::kinds::ServedKind;
use listwatch_core::Instant;
use listwatch_transport_file::HistoryChange;
use serde_json::{Value, json};
use std::sync::Arc;

impl Server {
    /// Enters a change of a kind that was recorded elsewhere.
    pub(in super::super) fn record(&mut self, now: Instant, kind: &ServedKind, change: HistoryChange) {
        let (kind, revision) = (self.kind_of_recorded(kind, sample(&change)), change.version());
        match change {
            HistoryChange::Added(object) | HistoryChange::Modified(object) => {
                self.record_object(now, &kind, object, Recorded { revision, is_deletion: false });
            }
            HistoryChange::Deleted(object) => {
                self.record_object(now, &kind, object, Recorded { revision, is_deletion: true });
            }
            HistoryChange::Reached(_) => self.store.advance(&kind, revision),
            HistoryChange::Relisted { changed, gone, .. } => {
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
        let mut shown = (*known).clone();
        (shown.kind, shown.namespaced) = (kind.to_owned(), namespaced);
        self.kinds.add(shown)
    }
}

/// An object that shows its kind.
fn sample(change: &HistoryChange) -> Option<&Value> {
    match change {
        HistoryChange::Added(object) | HistoryChange::Modified(object) | HistoryChange::Deleted(object) => Some(object),
        HistoryChange::Relisted { changed, .. } => changed.first(),
        HistoryChange::Reached(_) => None,
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
