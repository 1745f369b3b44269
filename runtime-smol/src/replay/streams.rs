//! The caches of a replay, each at its own position.

use listwatch_core::object::{Version, compare_versions};
use listwatch_core::text::Counted;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// A list-and-watch that goes on when it is told to.
pub(crate) trait Advance: Send + Sync {
    /// How many changes its cache has, and up to which version.
    fn position(&self) -> (u64, Option<Version>);

    fn has_synced(&self) -> bool;

    /// The object of this path, whole, as its cache shows it now.
    fn object(&self, path: &str) -> Option<Value>;

    /// Takes the next event, or passes time for it. False if nothing is left.
    fn turn(&self) -> bool;
}

/// The lists and watches by their names.
#[derive(Default)]
pub(super) struct Streams {
    by_name: BTreeMap<Arc<str>, Weak<dyn Advance>>,
    /// Those that have nothing left to play, with their errors.
    over: BTreeMap<Arc<str>, Option<String>>,
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

    pub(super) fn note_over(&mut self, name: &Arc<str>, error: Option<String>) {
        self.over.insert(Arc::clone(name), error);
    }

    pub(super) fn is_over(&self, name: &str) -> bool {
        self.over.contains_key(name)
    }

    /// The error that a list-and-watch ended with.
    pub(super) fn error_of(&self, name: &str) -> Option<String> {
        self.over.get(name).cloned().flatten()
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
            let seen = Counted(changes, "change", "changes");
            return Err(format!("a read saw {seen}, and the recording brings {reached}"));
        }
    }
    let (reached, applied) = stream.position();
    if let (Some(applied), Some(version)) = (&applied, version)
        && reached == changes
        && compare_versions(applied, version).is_ok_and(core::cmp::Ordering::is_gt)
    {
        let seen = Counted(changes, "change", "changes");
        return Err(format!("after {seen} a read saw version {version}, and the recording brings {applied}"));
    }
    Ok(reached == changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_and_watch_has_the_error_of_its_own_path_alone() {
        let mut streams = Streams::default();
        streams.note_over(&"/api/v1/namespaces".into(), Some("x".to_owned()));
        assert_eq!(streams.error_of("/api/v1/namespaces"), Some("x".to_owned()));
        assert_eq!(streams.error_of("/api/v1/namespaces/web/pods"), None);
        assert_eq!(streams.error_of("/api/v1/namespaces #2"), None);
    }
}
