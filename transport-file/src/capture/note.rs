use listwatch_core::time::{MicroTime, WallTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line about a reconcile, which a controller writes into its [`Tape`](crate::Tape).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A reconcile began.
    Began {
        /// The number of the reconcile, by which its requests are found.
        reconcile: u64,
        /// The controller's name.
        of: String,
        /// The key that is reconciled.
        key: String,
        /// One for the first attempt.
        attempt: u32,
        /// The events that woke the reconcile, the oldest first.
        causes: Vec<String>,
        /// The writes of earlier reconciles of the key that their caches did not show in time.
        late: Vec<LateWrite>,
    },
    /// A reconcile asked for the date.
    Date {
        /// The number of the reconcile.
        reconcile: u64,
        /// The controller's name.
        of: String,
        /// The answer.
        date: WallTime,
    },
    /// A reconcile read a cache for the first time, or in another state than the last one that was noted for it.
    Read {
        /// The number of the reconcile.
        reconcile: u64,
        /// The controller's name.
        of: String,
        /// The states of the caches that changed.
        at: Positions,
    },
    /// A reconcile ended.
    Ended {
        /// The number of the reconcile.
        reconcile: u64,
        /// The controller's name.
        of: String,
        /// `done`, `retry`, `requeue 5s`, `panicked: …`, `failed: …` or `dropped`.
        outcome: String,
    },
}

/// The states of caches, by the path of their lists and watches.
pub type Positions = BTreeMap<String, Position>;

/// The state of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The number of changes that were applied to the cache since its informer started.
    pub changes: u64,
    /// The resource version of the newest change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many times the reconcile had read the cache, with this time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read: u64,
}

/// A write that a cache did not show in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateWrite {
    /// The path of the cache's lists and watches.
    pub source: String,
    /// The key of the object.
    pub object: String,
    /// The version that the cache is to show; `None` for a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The uid of the object that was deleted, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// The first line of a capture: where and when it was recorded. Older captures have fewer of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TapeStart {
    /// The date of the time zero, to the millisecond.
    pub started: Option<WallTime>,
    /// The address of the API server.
    pub server: Option<String>,
    /// The identity of the cluster: the uid of its namespace `kube-system`.
    pub cluster: Option<String>,
    /// The seed of the program's random delays.
    pub seed: Option<u64>,
}

impl Note {
    /// Returns the number of the reconcile.
    #[must_use]
    pub fn reconcile(&self) -> u64 {
        match self {
            Self::Began { reconcile, .. }
            | Self::Date { reconcile, .. }
            | Self::Read { reconcile, .. }
            | Self::Ended { reconcile, .. } => *reconcile,
        }
    }

    /// Returns the name of the controller.
    #[must_use]
    pub fn of(&self) -> &str {
        match self {
            Self::Began { of, .. } | Self::Date { of, .. } | Self::Read { of, .. } | Self::Ended { of, .. } => of,
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Writes a date by RFC 3339, with milliseconds if it has any. A date after the year 9999 cannot be written.
pub(crate) fn written(date: WallTime) -> Option<String> {
    if date == WallTime::MAX {
        return None;
    }
    let seconds = date.truncated_to_seconds();
    if date.as_unix_millis() == seconds.as_unix_millis() {
        return Some(seconds.to_string());
    }
    let mut text = MicroTime(date).to_string();
    text.truncate("2026-11-22T14:53:47.123".len());
    Some(text + "Z")
}
