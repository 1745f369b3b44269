//! What the machines know of an object: its key, its metadata, its version; and how one selects by labels.

mod key;
mod meta;
mod selector;
mod version;

pub use key::Key;
pub use meta::{Meta, MetaBuilder, OwnerReference};
pub use selector::{LabelSelector, SelectorError};
pub use version::{ParseVersionError, compare_versions};

use crate::storage::Keyed;
use alloc::sync::Arc;

/// A decoded object: its metadata as the machines read it, and the user's own type.
#[derive(Clone, Debug, PartialEq)]
pub struct Object<T> {
    /// Namespace, name, uid, version, labels and owners.
    pub meta: Meta,
    /// What the user asked objects to be decoded into.
    pub value: T,
}

impl<T> Keyed for Arc<Object<T>> {
    type Key = Key;

    fn key(&self) -> &Key {
        self.meta.key()
    }

    fn bytes(&self) -> usize {
        self.meta.json_len()
    }
}
