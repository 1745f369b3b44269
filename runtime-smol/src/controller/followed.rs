//! Which collections a controller follows.

use super::sources::lock;
use crate::informers::Collection;
use std::sync::{Arc, Mutex};

/// The collections of the sources, and those that were missed among them.
#[derive(Default)]
pub(super) struct Followed(Mutex<Paths>);

#[derive(Default)]
struct Paths {
    /// One for each source.
    sources: Vec<Arc<str>>,
    missed: Vec<Box<str>>,
}

impl Followed {
    pub(super) fn of(sources: impl Iterator<Item = Arc<str>>) -> Self {
        Self(Mutex::new(Paths { sources: sources.collect(), missed: Vec::new() }))
    }

    pub(super) fn add(&self, path: &Arc<str>) {
        lock(&self.0).sources.push(Arc::clone(path));
    }

    /// One of the sources of this path is removed.
    pub(super) fn remove(&self, path: &str) {
        let sources = &mut lock(&self.0).sources;
        if let Some(at) = sources.iter().position(|source| **source == *path) {
            sources.swap_remove(at);
        }
    }

    /// The source whose path a text begins with; the longest of them.
    #[cfg(feature = "file")]
    pub(super) fn source_of(&self, text: &str) -> Option<Arc<str>> {
        let paths = lock(&self.0);
        let begins = |source: &&Arc<str>| {
            text.strip_prefix(&***source).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        paths.sources.iter().filter(begins).max_by_key(|source| source.len()).cloned()
    }

    /// Whether no source has objects of this collection, for the first time that it is missed. Another informer of the
    /// same objects counts: one of their metadata alone, of another version, or of one of their namespaces.
    pub(super) fn misses(&self, path: &str) -> bool {
        let mut paths = lock(&self.0);
        if paths.sources.iter().any(|source| overlap(source, path)) || paths.missed.iter().any(|known| **known == *path)
        {
            return false;
        }
        paths.missed.push(path.into());
        true
    }
}

/// Whether two collections may have objects in common. A path that is not of the API is compared as it is.
fn overlap(one: &str, other: &str) -> bool {
    match (Collection::of(one), Collection::of(other)) {
        (Some(one), Some(other)) => one.covers(&other) || other.covers(&one),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_missed_once_unless_a_source_has_objects_of_it() {
        let (apps, web) = ("/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/web/deployments");
        let (pods, db) = (Arc::<str>::from("/api/v1/pods"), "/apis/apps/v1/namespaces/db/deployments");
        let followed = Followed::of([Arc::from(web)].into_iter());
        assert_eq!([web, apps, &pods, &pods, db].map(|path| followed.misses(path)), [false, false, true, false, true]);
        let followed = Followed::default();
        [&pods, &pods].into_iter().for_each(|path| followed.add(path));
        followed.remove(&pods);
        assert!(!followed.misses(&pods), "one of two is left");
        followed.remove(&pods);
        assert!(followed.misses(&pods));
    }
}
