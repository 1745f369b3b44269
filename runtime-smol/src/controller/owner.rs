//! From an object to its owner's key.

use super::own_kind::OwnKind;
use listwatch_core::Key;
use listwatch_core::object::Meta;
use std::sync::Arc;

/// The kind of owner that counts, and its objects.
#[derive(Clone)]
pub(super) struct Owner(Arc<OwnKind>);

impl Owner {
    /// The own kind as an owner.
    ///
    /// # Errors
    /// No one knows the name of the kind.
    pub(super) fn new(kind: &Arc<OwnKind>) -> Result<Self, String> {
        if kind.name.is_some() { Ok(Self(Arc::clone(kind))) } else { Err(kind.unnamed()) }
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
