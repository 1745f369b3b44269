//! The events that wake a reconcile, and the writes that it awaits, as a controller of a cluster names them.

use crate::object::{Key, Uid, Version};
use alloc::sync::Arc;
use core::fmt;

/// An event that wakes a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The name of the source: of a resource, or of a handle for keys from outside.
    pub source: Arc<str>,
    /// What happened there.
    pub kind: CauseKind,
    /// The object that changed, which may be another one than the reconciled.
    pub object: Option<Key>,
    /// The object's resource version after the change.
    pub version: Option<Version>,
}

/// The kinds of events that wake a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CauseKind {
    /// The object is part of the initial list.
    Initial,
    /// The object was created.
    Added,
    /// The object changed.
    Updated,
    /// The object was deleted, and another one was created under its name.
    Recreated,
    /// The object was deleted.
    Deleted,
    /// A resync announced the object again.
    Resync,
    /// Changes that were coalesced: which ones is not known.
    Coalesced,
    /// The controller's period has come.
    Period,
    /// The key came from outside.
    Requested,
}

/// A write of a reconcile that a store has not shown yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The name of the source whose store is to show the write.
    pub source: Arc<str>,
    /// The object that was written.
    pub object: Key,
    /// What the store is to show.
    pub until: Awaited,
}

/// What shows that a store has seen a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The object, or the whole store, has reached this resource version.
    Version(Version),
    /// No object of this uid is left, or its deletion has begun.
    Gone(Option<Uid>),
}

/// A line for people: `Updated pods/team-0/web at version 17`.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.source)?;
        self.object.iter().try_for_each(|object| write!(f, "/{object}"))?;
        self.version.iter().try_for_each(|version| write!(f, " at version {version}"))
    }
}

/// A line for people: `pods/team-0/web at version 17`.
impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.source, self.object)?;
        match &self.until {
            Awaited::Version(version) => write!(f, " at version {version}"),
            Awaited::Gone(_) => f.write_str(" deleted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn causes_and_writes_name_their_source_object_and_version() {
        let (source, object, version) = (Arc::<str>::from("pods"), Key::from("a/b"), Version::from("17"));
        let cause =
            Cause { source: source.clone(), kind: CauseKind::Updated, object: Some(object.clone()), version: None };
        assert_eq!(cause.to_string(), "Updated pods/a/b");
        let cause = Cause { version: Some(version.clone()), ..cause };
        assert_eq!(cause.to_string(), "Updated pods/a/b at version 17");
        let cause = Cause { source: "by hand".into(), kind: CauseKind::Requested, object: None, version: None };
        assert_eq!(cause.to_string(), "Requested by hand");

        let write = Write { source, object, until: Awaited::Version(version) };
        assert_eq!(write.to_string(), "pods/a/b at version 17");
        assert_eq!(Write { until: Awaited::Gone(None), ..write }.to_string(), "pods/a/b deleted");
    }
}
