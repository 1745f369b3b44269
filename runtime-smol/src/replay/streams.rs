//! The caches of a replay, each at its own position.

use listwatch_core::Resource;
use listwatch_core::object::compare_versions;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// A list-and-watch that goes on when it is told to.
pub(crate) trait Advance: Send + Sync {
    /// How many changes its cache has, and up to which version.
    fn position(&self) -> (u64, Option<Arc<str>>);

    fn has_synced(&self) -> bool;

    /// Takes the next event, or passes time for it. False if nothing is left.
    fn turn(&self) -> bool;
}

/// The lists and watches by their names.
#[derive(Default)]
pub(super) struct Streams {
    by_name: BTreeMap<Arc<str>, Weak<dyn Advance>>,
    /// The resources that have nothing left to play, with their errors.
    over: Vec<(Resource, Option<String>)>,
}

impl Streams {
    pub(super) fn add(&mut self, name: Arc<str>, stream: &Arc<dyn Advance>) {
        self.by_name.insert(name, Arc::downgrade(stream));
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<dyn Advance>> {
        self.by_name.get(name).and_then(Weak::upgrade)
    }

    pub(super) fn all(&self) -> Vec<Arc<dyn Advance>> {
        self.by_name.values().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn note_over(&mut self, resource: &Resource, error: Option<String>) {
        self.over.push((resource.clone(), error));
    }

    pub(super) fn is_over(&self, resource: &Resource) -> bool {
        self.over.iter().any(|(over, _)| over == resource)
    }

    /// The error of the first list-and-watch that ended with one.
    pub(super) fn error_of(&self, name: &str) -> Option<String> {
        let errors = self.over.iter().filter(|(resource, _)| name.starts_with(resource.path()));
        errors.filter_map(|(_, error)| error.clone()).next()
    }
}

/// Brings a cache to this position. False if it was beyond it before.
///
/// # Errors
/// The recording does not lead there, or leads to another version.
pub(super) fn bring(stream: &dyn Advance, changes: u64, version: Option<&str>) -> Result<bool, String> {
    while stream.position().0 < changes {
        if !stream.turn() {
            let reached = stream.position().0;
            return Err(format!("a read saw {changes} changes, and the recording brings {reached}"));
        }
    }
    let (reached, applied) = stream.position();
    if let (Some(applied), Some(version)) = (&applied, version)
        && reached == changes
        && compare_versions(applied, version).is_ok_and(core::cmp::Ordering::is_gt)
    {
        return Err(format!(
            "after {changes} changes a read saw version {version}, and the recording brings {applied}"
        ));
    }
    Ok(reached == changes)
}
