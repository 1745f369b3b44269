use super::place::{TypeMeta, check_version, version_of};
use super::scope::Scope;
use super::seen::Seen;
use crate::error::Fault;
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
    Set(Seen),
    Deleted(Seen),
    Reached(u64),
    /// A watch could not go on, because its version was too old: the client has to list again.
    Expired,
}

impl Told {
    /// Checks that a cluster can be at each of the versions, and go on from there.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let newest = match self {
            Self::State { objects, version } => objects.iter().map(version_of).fold(*version, u64::max),
            Self::Watching { version } | Self::Reached(version) => *version,
            Self::Set(object) | Self::Deleted(object) => object.version,
            Self::Expired => 0,
        };
        check_version(newest)
    }

    /// The type of the object that it tells of; an empty one if it tells of none, or of several.
    pub(super) fn type_meta(&self) -> TypeMeta<'_> {
        match self {
            Self::Set(object) | Self::Deleted(object) => object.type_meta(),
            _ => TypeMeta::default(),
        }
    }
}
