use super::place::version_of;
use super::resource::RecordedResource;
use super::seen::Seen;
use super::unreadable::Unreadable;
use core::time::Duration;
use listwatch_core::Key;
use serde_json::Value;
use std::sync::Arc;

/// One step of a [`History`](super::History).
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryStep {
    /// The time since the recording began.
    pub at: Duration,
    /// The resource that changes.
    pub resource: Arc<RecordedResource>,
    /// What changes.
    pub change: HistoryChange,
}

/// A change of a resource, as the recorded clients were told of it.
///
/// Objects have `kind` and `apiVersion`, which a server leaves out in lists.
///
/// ```
/// use listwatch_transport_file::HistoryChange;
/// use serde_json::json;
///
/// let added = HistoryChange::Added(json!({ "metadata": { "name": "a", "resourceVersion": "7" } }));
/// assert_eq!(added.version(), 7);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryChange {
    /// A watch told of an object that was not there before.
    Added(Value),
    /// A watch told of a new state of an object.
    Modified(Value),
    /// A watch told of a deletion, with the last state. Its version is that of the deletion.
    Deleted(Value),
    /// The resource reached this version without a change: a bookmark, or a list that shows what was known.
    Reached(u64),
    /// A list shows changes that no watch told of, or its client had to list because a watch was answered by a 410. The
    /// versions between are unknown, and so is their order.
    Relisted {
        /// The objects that are new or changed.
        changed: Vec<Value>,
        /// The objects that are gone.
        gone: Vec<Key>,
        /// The version of the list.
        version: u64,
    },
}

impl HistoryChange {
    /// The version that the resource has behind the change; zero if it is none or no number.
    #[must_use]
    pub fn version(&self) -> u64 {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => version_of(object),
            Self::Reached(version) | Self::Relisted { version, .. } => *version,
        }
    }
}

/// A change before its object is decoded.
#[derive(Debug)]
pub(super) enum Change {
    Added(Seen),
    Modified(Seen),
    Deleted(Seen),
    Reached(u64),
    Relisted { changed: Vec<Value>, gone: Vec<Key>, version: u64 },
}

impl Change {
    /// The change with its object. Of a deletion that cannot be read, the object is its place alone.
    pub(super) fn decoded(self) -> Result<HistoryChange, Unreadable> {
        Ok(match self {
            Self::Added(object) => HistoryChange::Added(object.value()?),
            Self::Modified(object) => HistoryChange::Modified(object.value()?),
            Self::Deleted(object) => HistoryChange::Deleted(object.value().unwrap_or_else(|_| object.place())),
            Self::Reached(version) => HistoryChange::Reached(version),
            Self::Relisted { changed, gone, version } => HistoryChange::Relisted { changed, gone, version },
        })
    }
}
