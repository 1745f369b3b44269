//! From an object to its owner's key.

use super::keys::Keys;
use super::own_kind::OwnKind;
use listwatch_core::object::Meta;
use std::sync::Arc;

/// The kind of owner that counts, and its objects.
pub(super) struct Owner {
    objects: Arc<OwnKind>,
    kind: String,
}

impl Owner {
    pub(super) fn new(objects: Arc<OwnKind>, kind: &str) -> Self {
        Self { objects, kind: kind.to_owned() }
    }

    /// Adds the key of the object's owner, if it has one that counts.
    pub(super) fn add_to(&self, keys: &mut Keys<'_>, meta: &Meta) {
        let mut owners = meta.owner_references().filter(|owner| owner.controller);
        if let Some(owner) = owners.find(|owner| owner.kind == self.kind && self.is_of_group(owner.api_version)) {
            keys.add(self.objects.key(meta.namespace(), owner.name));
        }
    }

    fn is_of_group(&self, api_version: &str) -> bool {
        api_version.split_once('/').map_or("", |(group, _version)| group) == self.objects.group
    }
}
