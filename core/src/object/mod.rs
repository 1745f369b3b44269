//! An object as the machines know it: its key, metadata, uid and version; its kind; the handle that shares it; label
//! selectors. For objects that a controller writes: conditions, and names by hash.

#[cfg(feature = "json")]
mod condition;
#[cfg(feature = "alloc")]
mod handle;
#[cfg(feature = "json")]
mod hashed_name;
#[cfg(feature = "alloc")]
mod key;
mod kind;
#[cfg(feature = "alloc")]
mod meta;
#[cfg(feature = "alloc")]
mod selector;
#[cfg(feature = "alloc")]
mod uid;
mod version;

#[cfg(feature = "json")]
pub use condition::{Condition, ConditionStatus, Conditions};
#[cfg(feature = "alloc")]
pub use handle::ObjectHandle;
#[cfg(feature = "json")]
pub use hashed_name::{hashed_name, hashed_name_within};
#[cfg(feature = "alloc")]
pub use key::{AsNamespace, Key};
pub use kind::Kind;
#[cfg(feature = "alloc")]
pub use meta::{Meta, MetaBuilder, OwnerReference};
#[cfg(feature = "alloc")]
pub use selector::{LabelSelector, ParseSelectorError};
#[cfg(feature = "json")]
pub(crate) use selector::{is_domain, is_qualified_name};
#[cfg(feature = "alloc")]
pub use uid::Uid;
#[cfg(feature = "json")]
pub(crate) use version::digits;
#[cfg(any(feature = "json", feature = "fixed"))]
pub(crate) use version::is_older;
pub use version::{ParseVersionError, Version, compare_versions};

/// A decoded object: its metadata as the machines read it, and the caller's own type.
///
/// This is the form that its owner may change. Caches and events share objects by [`ObjectHandle`].
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<T> {
    /// Namespace, name, uid, version, labels and owners.
    pub meta: Meta,
    /// The decoded value.
    pub value: T,
}

#[cfg(feature = "alloc")]
impl<T> crate::storage::Keyed for Object<T> {
    type Key = Key;

    fn key(&self) -> &Key {
        self.meta.key()
    }

    fn bytes(&self) -> usize {
        self.meta.json_len()
    }
}
