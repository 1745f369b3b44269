use super::keys::Keys;
use super::own_kind::OwnKind;
use super::owner::Owner;
use listwatch_core::object::ObjectHandle;
use std::sync::Arc;

/// What calls [`Keys::add`] for an object.
type AddKeys<T> = Box<dyn Fn(&ObjectHandle<T>, &mut Keys<'_>) + Send>;

/// From an object to keys.
pub(super) enum Mapper<T> {
    /// To the object's own key.
    Own(Arc<OwnKind>),
    /// To its owner's.
    Owner(Owner),
    /// To those that the program's function adds.
    Program(AddKeys<T>),
}

impl<T> Mapper<T> {
    pub(super) fn map(&self, object: &ObjectHandle<T>, keys: &mut Keys<'_>) {
        match self {
            Self::Own(_) => keys.add(object.key().clone()),
            Self::Owner(owner) => owner.keys(object.meta()).for_each(|key| keys.add(key)),
            Self::Program(map) => map(object, keys),
        }
    }
}
