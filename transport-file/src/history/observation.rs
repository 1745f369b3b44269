use super::scope::Scope;
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

impl Told {
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
    version.parse().unwrap_or(0)
}
