use super::scope::Scope;
use crate::error::{CaptureErrorKind, Fault};
use listwatch_core::Key;
use serde_json::Value;
use std::sync::Arc;

/// What a recorded client was told of the objects in a scope.
#[derive(Debug)]
pub(super) struct Observation {
    pub(super) scope: Arc<Scope>,
    pub(super) told: Told,
}

#[derive(Debug)]
pub(super) enum Told {
    /// All objects at a version.
    State {
        objects: Vec<Value>,
        version: u64,
    },
    /// A watch began after a version.
    Watching {
        version: u64,
    },
    /// An object was added or modified.
    Set(Value),
    Deleted(Value),
    Reached(u64),
    /// A watch could not go on, because its version was too old: the client has to list again.
    Expired,
}

/// The largest version of an API server.
const MAX_VERSION: u64 = i64::MAX as u64;

impl Told {
    /// Checks that a cluster can be at each of the versions, and go on from there.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let newest = match self {
            Self::State { objects, version } => objects.iter().map(version_of).fold(*version, u64::max),
            Self::Watching { version } | Self::Reached(version) => *version,
            Self::Set(object) | Self::Deleted(object) => version_of(object),
            Self::Expired => 0,
        };
        check_version(newest)
    }

    /// The object that it tells of; null if it tells of none, or of several.
    pub(super) fn object(&self) -> &Value {
        match self {
            Self::Set(object) | Self::Deleted(object) => object,
            _ => &Value::Null,
        }
    }
}

/// The key of an object; `None` if it has no name.
pub(super) fn key_of(object: &Value) -> Option<Key> {
    let metadata = &object["metadata"];
    Some(Key::new(metadata["namespace"].as_str(), metadata["name"].as_str()?))
}

/// The version of an object; zero if it has none, or one that is no number.
pub(super) fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().map_or(0, number)
}

pub(super) fn number(version: &str) -> u64 {
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    // One that does not fit is refused by its check.
    if is_number { version.parse().unwrap_or(u64::MAX) } else { 0 }
}

/// Refuses a version from which a cluster cannot go on.
pub(super) fn check_version(version: u64) -> Result<(), Fault> {
    if version <= MAX_VERSION {
        return Ok(());
    }
    let message = format!("a resourceVersion is above {MAX_VERSION}, the largest of an API server");
    Err(Fault::of_line(CaptureErrorKind::Record, message))
}
