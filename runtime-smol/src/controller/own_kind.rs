//! The kind that a controller reconciles, whatever its type.

use crate::informers::InformerHandle;
use listwatch_core::Key;

/// The own kind of a controller.
pub(super) struct OwnKind {
    /// The API group; empty for the core group.
    pub(super) group: String,
    keys: Box<dyn Fn() -> Vec<Key> + Send + Sync>,
    contains: Box<dyn Fn(&Key) -> bool + Send + Sync>,
}

impl OwnKind {
    pub(super) fn of<T: Send + Sync + 'static>(objects: &InformerHandle<T>) -> Self {
        let group = group_of(objects.resource().path()).to_owned();
        let (listed, known) = (objects.clone(), objects.clone());
        Self {
            group,
            keys: Box::new(move || listed.keys().into_iter().collect()),
            contains: Box::new(move |key| known.contains(key)),
        }
    }

    /// The keys of all objects.
    pub(super) fn keys(&self) -> Vec<Key> {
        (self.keys)()
    }

    /// The key of the object of this name: in `namespace`, or in none.
    pub(super) fn key(&self, namespace: Option<&str>, name: &str) -> Key {
        let of_cluster = Key::new(None, name);
        if (self.contains)(&of_cluster) { of_cluster } else { Key::new(namespace, name) }
    }
}

/// The API group in the path of a collection; empty for the core group.
fn group_of(path: &str) -> &str {
    path.strip_prefix("/apis/").and_then(|rest| rest.split('/').next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_that_of_the_path() {
        for (path, group) in [
            ("/api/v1/namespaces/apis/pods", ""),
            ("/apis/apps/v1/deployments", "apps"),
            ("/apis/example.com/v1/namespaces/web/widgets", "example.com"),
        ] {
            assert_eq!(group_of(path), group, "{path}");
        }
    }
}
