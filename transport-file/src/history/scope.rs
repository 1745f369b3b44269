use super::resource::Collection;
use crate::cluster::Kinds;
use listwatch_core::Resource;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The objects that a list or a watch shows: those of a collection, and of one namespace, by selectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) collection: Collection,
    labels: Option<String>,
    fields: Option<String>,
    pub(super) metadata_only: bool,
}

/// The scopes of objects that no request names, by their kinds.
#[derive(Debug)]
pub(super) struct KindScopes {
    kinds: Kinds,
    known: HashMap<String, Arc<Scope>>,
}

impl KindScopes {
    pub(super) fn new() -> Self {
        Self { kinds: Kinds::new(), known: HashMap::new() }
    }

    pub(super) fn of(&mut self, object: &Value) -> Arc<Scope> {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let scope = self.known.entry(format!("{api_version}/{kind}"));
        let scope =
            scope.or_insert_with(|| Arc::new(Scope::whole(Collection::of_kind(api_version, kind, &mut self.kinds))));
        Arc::clone(scope)
    }
}

impl Scope {
    /// The scope of a request; `None` for a request of something else than a collection.
    pub(super) fn of(resource: &Resource) -> Option<Self> {
        Some(Self {
            labels: resource.label_selector().map(str::to_owned),
            fields: resource.field_selector().map(str::to_owned),
            metadata_only: resource.is_metadata_only(),
            ..Self::whole(Collection::parse(resource.path())?)
        })
    }

    /// A whole collection.
    pub(super) fn whole(collection: Collection) -> Self {
        Self { collection, labels: None, fields: None, metadata_only: false }
    }

    /// Whether both show objects of the same resource.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        self.collection.name == other.collection.name
    }

    /// Whether this scope shows every object of the other one, and as much of each.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let selected = |own: &Option<String>, others: &Option<String>| own.is_none() || own == others;
        self.is_beside(other)
            && selected(&self.collection.namespace, &other.collection.namespace)
            && selected(&self.labels, &other.labels)
            && selected(&self.fields, &other.fields)
            && (!self.metadata_only || other.metadata_only)
    }
}
