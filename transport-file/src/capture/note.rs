use listwatch_core::time::{MicroTime, WallTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// A line about a reconcile, which a controller writes into its [`Tape`](crate::Tape).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The number of the reconcile, by which its requests are found.
    pub reconcile: u64,
    /// The controller's name.
    pub of: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: NoteKind,
}

/// What a [`Note`] tells of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NoteKind {
    /// It began.
    Began {
        /// The key that is reconciled.
        key: String,
        /// One for the first attempt.
        #[serde(default = "first_attempt")]
        attempt: u32,
        /// The events that woke the reconcile, the oldest first.
        #[serde(default)]
        causes: Vec<String>,
        /// The writes of earlier reconciles of the key that their caches did not show in time.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        late: Vec<LateWrite>,
    },
    /// It read a cache for the first time, or in another state than the last one that was noted for it.
    Read {
        /// The states of the caches that changed.
        at: Positions,
    },
    /// It asked for the date.
    Date {
        /// The answer.
        date: MicroTime,
    },
    /// It ended.
    Ended {
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TapeStart {
    /// The date of the time zero, to the millisecond.
    #[serde(serialize_with = "write_date", deserialize_with = "read_date", skip_serializing_if = "is_unwritable")]
    pub started: Option<WallTime>,
    /// The address of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The identity of the cluster: the uid of its namespace `kube-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Whether an audit log was converted to it. The events of its watches are in the order of their versions for each
    /// object alone.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub audit: bool,
    /// The seed of the program's random delays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Why it was written, if it is a dump of a flight recorder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dumped: Option<String>,
    /// The numbers of changes that caches had where a dump begins, by the names of their lists and watches. Their first
    /// lists stand for those changes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, u64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn first_attempt() -> u32 {
    1
}

/// A date after the year 9999 cannot be written.
fn is_unwritable(date: &Option<WallTime>) -> bool {
    date.is_none_or(|date| date == WallTime::MAX)
}

/// Writes a date by RFC 3339, with milliseconds if it has any.
fn write_date<S: Serializer>(date: &Option<WallTime>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(date) = *date else { return serializer.serialize_none() };
    let seconds = date.truncated_to_seconds();
    if date.as_unix_millis() == seconds.as_unix_millis() {
        return seconds.serialize(serializer);
    }
    let mut text = MicroTime(date).to_string();
    text.truncate("2026-11-22T14:53:47.123".len());
    serializer.serialize_str(&(text + "Z"))
}

/// A date that cannot be read is as none: a replay then begins at the date of simulated clocks.
fn read_date<'de, D: Deserializer<'de>>(date: D) -> Result<Option<WallTime>, D::Error> {
    Ok(Option::<String>::deserialize(date)?.and_then(|date| date.parse().ok()))
}
