//! From an object to its owner's key.

use super::own_kind::OwnKind;
use crate::informers::InformerHandle;
use listwatch_core::Key;
use listwatch_core::object::Meta;
use std::sync::Arc;

/// The kind of owner that counts, and its objects.
#[derive(Clone)]
pub(super) struct Owner(Arc<OwnKind>);

impl Owner {
    /// The own kind as the owner of the objects of an informer.
    ///
    /// # Errors
    /// The name of the kind is not known, or the objects are in another world.
    pub(super) fn of<T>(owned: &InformerHandle<T>, kind: &Arc<OwnKind>) -> Result<Self, String> {
        kind.check_owns(owned).map(|()| Self(Arc::clone(kind)))
    }

    /// The kind of the owners.
    pub(super) fn kind(&self) -> &OwnKind {
        &self.0
    }

    /// The key of the object's owner, if it has one that counts; [both](OwnKind::keys_of) that it may have.
    pub(super) fn keys(&self, meta: &Meta) -> impl Iterator<Item = Key> + use<> {
        let mut owners = meta.owner_references().filter(|owner| owner.controller);
        let owner =
            owners.find(|owner| Some(owner.kind) == self.0.name.as_deref() && self.is_of_group(owner.api_version));
        let keys = owner.map(|owner| self.0.keys_of(meta.namespace(), owner.name));
        keys.into_iter().flatten()
    }

    fn is_of_group(&self, api_version: &str) -> bool {
        api_version.split_once('/').map_or("", |(group, _version)| group) == self.0.group
    }
}
