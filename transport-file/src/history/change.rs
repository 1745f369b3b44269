//! What clients were told, and the changes that follow from it.

use super::scope::{RecordedResource, Sample, Scope};
use crate::error::Fault;
use crate::object::{ObjectText, TypeMeta, check_version, version_of};
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

/// A [`HistoryChange`] before its objects are decoded.
#[derive(Clone, Debug)]
pub enum Change {
    /// A watch told of an object that was not there before.
    Added(ObjectText),
    /// A watch told of a new state of an object.
    Modified(ObjectText),
    /// A watch told of a deletion, with the last state.
    Deleted(ObjectText),
    /// The resource reached this version without a change.
    Reached(u64),
    /// A list shows changes that no watch told of.
    Relisted {
        /// The objects that are new or changed.
        changed: Vec<ObjectText>,
        /// The objects that are gone.
        gone: Vec<Key>,
        /// The version of the list.
        version: u64,
    },
}

/// What a recorded client was told of the objects in a scope.
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) scope: Arc<Scope>,
    pub(crate) told: Told,
}

#[derive(Debug)]
pub(crate) enum Told {
    /// All objects at a version.
    State {
        objects: Vec<ObjectText>,
        version: u64,
    },
    /// All objects at a place of a log, whose versions need not be news.
    Relisted {
        objects: Vec<ObjectText>,
        version: u64,
    },
    /// A watch began after a version.
    Watching {
        version: u64,
    },
    /// An object was added or modified.
    Set(ObjectText),
    Deleted(ObjectText),
    /// A bookmark, which may end the initial events of a watch-list.
    Reached {
        version: u64,
        is_initial_end: bool,
    },
    /// A watch could not go on, because its version was too old: the client has to list again.
    Expired,
    /// The server ended a watch with this error.
    Failed(String),
}

impl Told {
    /// Checks that a cluster can be at each of the versions, and go on from there.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let newest = match self {
            Self::State { objects, version } => objects.iter().map(|it| it.version).fold(*version, u64::max),
            Self::Relisted { version, .. } | Self::Watching { version } | Self::Reached { version, .. } => *version,
            Self::Set(object) | Self::Deleted(object) => object.version,
            Self::Expired | Self::Failed(_) => 0,
        };
        check_version(newest)
    }

    /// What the first object that it tells of tells of its resource.
    pub(crate) fn sample(&self) -> Option<Sample> {
        match self {
            Self::Set(object) | Self::Deleted(object) => Sample::of(object),
            Self::State { objects, .. } => objects.first().and_then(Sample::of),
            _ => None,
        }
    }

    /// The type of the object that it tells of; an empty one if it tells of none, or of several.
    pub(crate) fn type_meta(&self) -> TypeMeta<'_> {
        match self {
            Self::Set(object) | Self::Deleted(object) => object.type_meta(),
            _ => TypeMeta::default(),
        }
    }
}
