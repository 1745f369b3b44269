use super::limits::{ENTRY, Memory};
use super::place::TypeMeta;
use super::resource::Collection;
use crate::error::Fault;
use crate::kinds::Kinds;
use listwatch_core::Resource;
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
    memory: Memory,
}

impl KindScopes {
    pub(super) fn new(memory: &Memory) -> Self {
        Self { kinds: Kinds::new(), known: HashMap::new(), memory: memory.clone() }
    }

    pub(super) fn of(&mut self, object: &TypeMeta<'_>) -> Result<Arc<Scope>, Fault> {
        let (api_version, kind) = (&*object.api_version, &*object.kind);
        let name = format!("{api_version}/{kind}");
        if let Some(known) = self.known.get(&name) {
            return Ok(Arc::clone(known));
        }
        let scope = Arc::new(Scope::whole(Collection::of_kind(api_version, kind, &mut self.kinds)));
        self.memory.take(scope.weight() + name.len() as u64)?;
        self.known.insert(name, Arc::clone(&scope));
        Ok(scope)
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

    /// The memory of what is known of it, about: entries in several maps.
    pub(super) fn weight(&self) -> u64 {
        let texts = [
            Some(&self.collection.name),
            self.collection.namespace.as_ref(),
            self.labels.as_ref(),
            self.fields.as_ref(),
        ];
        4 * ENTRY + texts.into_iter().flatten().map(|text| text.len() as u64).sum::<u64>()
    }

    /// The same, with the metadata of the objects alone.
    pub(super) fn of_metadata(&self) -> Self {
        Self { metadata_only: true, ..self.clone() }
    }

    /// The scopes that show every object of this one, and as much of each: at most fifteen others, and itself.
    pub(super) fn covering(&self) -> impl Iterator<Item = Self> {
        let without = |part: u8, own: &Option<String>, parts: u8| own.clone().filter(|_| parts & part == 0);
        (0..16_u8).map(move |parts| Self {
            collection: Collection {
                name: self.collection.name.clone(),
                namespace: without(1, &self.collection.namespace, parts),
            },
            labels: without(2, &self.labels, parts),
            fields: without(4, &self.fields, parts),
            metadata_only: self.metadata_only && parts & 8 == 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_was_compared_with_every_other() {
        let text = |parts: u8, part: u8| (parts & part != 0).then(|| "a".to_owned());
        let scope = |parts: u8| Scope {
            collection: Collection { name: "v1/pods".to_owned(), namespace: text(parts, 1) },
            labels: text(parts, 2),
            fields: text(parts, 4),
            metadata_only: parts & 8 != 0,
        };
        for parts in 0..16 {
            let covering: std::collections::HashSet<Scope> = scope(parts).covering().collect();
            let expected = (0..16).filter(|other| other & parts == *other).map(scope).collect();
            assert_eq!(covering, expected, "{parts}");
        }
    }
}
