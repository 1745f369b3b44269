//! From an object to its owner's key.

use super::own_kind::OwnKind;
use listwatch_core::Key;
use listwatch_core::object::Meta;
use std::sync::Arc;

/// The kind of owner that counts, and its objects.
#[derive(Clone)]
pub(super) struct Owner {
    objects: Arc<OwnKind>,
    kind: String,
}

impl Owner {
    pub(super) fn new(objects: Arc<OwnKind>, kind: &str) -> Self {
        Self { objects, kind: kind.to_owned() }
    }

    /// The kind of the owners.
    pub(super) fn kind(&self) -> &OwnKind {
        &self.objects
    }

    /// The key of the object's owner, if it has one that counts; [both](OwnKind::keys_of) that it may have.
    pub(super) fn keys(&self, meta: &Meta) -> impl Iterator<Item = Key> + use<> {
        let mut owners = meta.owner_references().filter(|owner| owner.controller);
        let owner = owners.find(|owner| owner.kind == self.kind && self.is_of_group(owner.api_version));
        let keys = owner.map(|owner| self.objects.keys_of(meta.namespace(), owner.name));
        keys.into_iter().flatten()
    }

    fn is_of_group(&self, api_version: &str) -> bool {
        api_version.split_once('/').map_or("", |(group, _version)| group) == self.objects.group
    }
}
