//! An object as the machines know it: its key, metadata, uid and version; its kind; the handle that shares it; label
//! selectors. For objects that a controller writes: conditions, and names by hash.

#[cfg(feature = "json")]
mod condition;
mod handle;
#[cfg(feature = "json")]
mod hashed_name;
mod key;
mod kind;
mod meta;
mod namespace;
#[cfg(feature = "k8s-openapi")]
mod openapi_kind;
mod selector;
mod uid;
mod version;

#[cfg(feature = "json")]
pub use condition::{Condition, ConditionStatus, Conditions};
pub use handle::ObjectHandle;
#[cfg(feature = "json")]
pub use hashed_name::{hashed_name, hashed_name_within};
pub use key::Key;
pub use kind::Kind;
pub use meta::{Meta, MetaBuilder, OwnerReference};
pub use namespace::AsNamespace;
pub use selector::{LabelSelector, ParseSelectorError};
pub use uid::Uid;
#[cfg(feature = "json")]
pub(crate) use version::digits;
pub use version::{ParseVersionError, compare_versions};

/// A decoded object: its metadata as the machines read it, and the caller's own type.
///
/// This is the form that its owner may change. Caches and events share objects by [`ObjectHandle`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<T> {
    /// Namespace, name, uid, version, labels and owners.
    pub meta: Meta,
    /// The decoded value.
    pub value: T,
}
