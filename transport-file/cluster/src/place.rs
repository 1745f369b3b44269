//! The places of objects.

use super::custom::Version;
use super::field_set::Layout;
use super::refusal::Refusal;
use super::store::{Store, key};
use crate::kinds::{ObjectType, ServedKind};
use serde_json::Value;
use std::sync::Arc;

/// An object, or a collection where the name is empty.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) kind: Arc<ServedKind>,
    pub(super) namespace: String,
    pub(super) name: String,
    /// The version of a custom resource that the request names, if a definition has it.
    pub(super) version: Option<Arc<Version>>,
}

/// An object: the name of its collection, and its key there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) collection: String,
    pub(super) key: String,
}

impl Id {
    /// The place of the object, which is of this kind.
    pub(super) fn place(&self, kind: &Arc<ServedKind>) -> Place {
        let (namespace, name) = self.key.split_once('/').unwrap_or(("", &self.key));
        Place { kind: Arc::clone(kind), namespace: namespace.to_owned(), name: name.to_owned(), version: None }
    }
}

impl Place {
    /// The place in the namespace `default`, if it needs a namespace and has none, as kubectl takes it.
    pub(super) fn or_default(mut self) -> Self {
        if !self.kind.namespaced {
            self.namespace.clear();
        } else if self.namespace.is_empty() {
            self.namespace = "default".to_owned();
        }
        self
    }

    /// The type of the objects, as far as their lists are concerned.
    pub(super) fn object_type(&self) -> ObjectType<'_> {
        self.version.as_ref().map_or_else(|| self.kind.object_type(), |version| version.object_type())
    }

    /// The type of the objects, by which the fields of managers are told apart.
    pub(super) fn layout(&self) -> Layout<'_> {
        Layout::new(self.object_type(), !self.kind.is_custom())
    }

    /// A stored object in the version of the request.
    pub(super) fn shown(&self, object: &Value) -> Value {
        let version = self.version.as_ref().filter(|version| version.differs_from_stored());
        version.map_or_else(|| object.clone(), |version| version.shown(object))
    }

    /// An object of the version of the request, as it is stored.
    pub(super) fn to_stored(&self, object: Value) -> Result<Value, Refusal> {
        match &self.version {
            Some(version) => version.to_stored(object).map_err(|why| Refusal::without_reason(500, &why)),
            None => Ok(object),
        }
    }

    pub(super) fn key(&self) -> String {
        key(&self.namespace, &self.name)
    }

    pub(super) fn id(&self) -> Id {
        Id { collection: self.kind.name(), key: self.key() }
    }

    /// Checks that the kind has this subresource; the empty one is the whole object.
    pub(super) fn check_subresource(&self, name: &str) -> Result<(), Refusal> {
        match name {
            "" => Ok(()),
            "status" if self.kind.has_status => Ok(()),
            "scale" if self.kind.has_scale => Ok(()),
            _ if self.kind.is_custom() => Err(Refusal::not_found(&self.kind, &self.name)),
            _ => Err(Refusal::no_resource()),
        }
    }

    /// The object, if it is there.
    pub(super) fn stored<'s>(&self, store: &'s Store) -> Result<&'s Arc<Value>, Refusal> {
        store.object(&self.kind.name(), &self.key()).ok_or_else(|| Refusal::not_found(&self.kind, &self.name))
    }
}
