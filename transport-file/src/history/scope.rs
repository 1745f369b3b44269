use super::resource::Collection;
use listwatch_core::Resource;

/// The objects that a list or a watch shows: those of a collection, and of one namespace, by selectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) collection: Collection,
    labels: Option<String>,
    fields: Option<String>,
    pub(super) metadata_only: bool,
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
