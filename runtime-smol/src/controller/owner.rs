//! From an object to its owner's key.

use super::keys::Keys;
use crate::informers::InformerHandle;
use listwatch_core::Key;
use listwatch_core::object::Meta;

/// The kind of owner that counts, and its objects.
pub(super) struct Owner<T> {
    objects: InformerHandle<T>,
    group: String,
    kind: String,
}

impl<T> Owner<T> {
    pub(super) fn new(objects: &InformerHandle<T>, kind: &str) -> Self {
        let group = group_of(objects.resource().path()).to_owned();
        Self { objects: objects.clone(), group, kind: kind.to_owned() }
    }

    /// Adds the key of the object's owner, if it has one that counts.
    pub(super) fn add_to(&self, keys: &mut Keys<'_>, meta: &Meta) {
        let mut owners = meta.owner_references().filter(|owner| owner.controller);
        if let Some(owner) = owners.find(|owner| owner.kind == self.kind && self.is_of_group(owner.api_version)) {
            keys.add(self.key(meta.namespace(), owner.name));
        }
    }

    fn is_of_group(&self, api_version: &str) -> bool {
        api_version.split_once('/').map_or("", |(group, _version)| group) == self.group
    }

    /// An owner is in the namespace of the object, or in none.
    fn key(&self, namespace: Option<&str>, name: &str) -> Key {
        let of_cluster = Key::new(None, name);
        if self.objects.contains(&of_cluster) { of_cluster } else { Key::new(namespace, name) }
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
