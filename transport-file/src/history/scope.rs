//! The resources of a recording, and which of their objects a list or a watch shows.

use crate::capture::Collection;
use crate::error::{CaptureErrorKind, Fault};
use crate::kinds::guessed_plural;
use crate::memory::{ENTRY, Memory};
use crate::object::{ObjectText, TypeMeta};
use listwatch_core::Resource;
use std::collections::HashMap;
use std::sync::Arc;

/// A resource that a recording has lists or watches of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedResource {
    /// The name of the collection, such as `apps/v1/deployments`.
    pub collection: String,
    /// The kind of its objects, if the recording shows it.
    pub kind: Option<String>,
    /// Whether its objects have a namespace. Without an object, they are taken to have one.
    pub namespaced: bool,
    /// Whether the recording has the metadata of its objects alone.
    pub metadata_only: bool,
}

/// What one object tells of its resource.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
}

impl Collection {
    /// The collection of the objects of a kind, as kubectl guesses it.
    pub(super) fn of_kind(api_version: &str, kind: &str) -> Self {
        Self { name: format!("{api_version}/{}", guessed_plural(kind)), namespace: None }
    }

    /// The resource of this collection.
    pub(crate) fn resource(&self, sample: Option<Sample>, metadata_only: bool) -> RecordedResource {
        let namespaced = self.namespace.is_some() || sample.as_ref().is_none_or(|sample| sample.namespaced);
        let kind = sample.map(|sample| sample.kind).filter(|_| !metadata_only);
        RecordedResource { collection: self.name.clone(), kind, namespaced, metadata_only }
    }
}

impl Sample {
    pub(crate) fn of(object: &ObjectText) -> Option<Self> {
        let kind = object.type_meta().kind.into_owned();
        Some(Self { kind, namespaced: object.key.namespace().is_some() }).filter(|sample| !sample.kind.is_empty())
    }
}

/// The objects that a list or a watch shows: those of a collection, and of one namespace, by selectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    pub(crate) collection: Collection,
    labels: Option<String>,
    fields: Option<String>,
    pub(crate) metadata_only: bool,
}

/// The scopes of objects that no request names, by their kinds.
#[derive(Debug)]
pub(super) struct KindScopes {
    known: HashMap<String, Arc<Scope>>,
    /// The collection of objects that do not say it.
    unnamed: Option<Collection>,
    memory: Memory,
}

impl KindScopes {
    pub(super) fn new(unnamed: Option<&Collection>, memory: &Memory) -> Self {
        Self { known: HashMap::new(), unnamed: unnamed.cloned(), memory: memory.clone() }
    }

    pub(super) fn of(&mut self, object: &TypeMeta<'_>) -> Result<Arc<Scope>, Fault> {
        let (api_version, kind) = (&*object.api_version, &*object.kind);
        let metadata_only = kind == "PartialObjectMetadata";
        let unnamed = self.unnamed.clone().filter(|_| metadata_only || kind.is_empty());
        if api_version.starts_with("meta.k8s.io/") && unnamed.is_none() {
            let rows = if kind == "Table" { ", without `as=Table` in the header Accept" } else { "" };
            let message = format!("a {kind} names no resource; save whole objects, as with `-o json`{rows}");
            return Err(Fault::new(CaptureErrorKind::Unrecognized, message));
        }
        let name = format!("{api_version}/{kind}");
        if let Some(known) = self.known.get(&name) {
            return Ok(Arc::clone(known));
        }
        let collection = unnamed.unwrap_or_else(|| Collection::of_kind(api_version, kind));
        let scope = Arc::new(Scope { metadata_only, ..Scope::whole(collection) });
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
    fn the_covering_scopes_of_one_have_a_subset_of_its_parts() {
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

    #[test]
    fn a_resource_is_as_an_object_shows_it() {
        let resource = |sample: Option<(&str, bool)>, metadata_only: bool| {
            let sample = sample.map(|(kind, namespaced)| Sample { kind: kind.to_owned(), namespaced });
            let collection = Collection { name: "example.com/v1/webapps".to_owned(), namespace: None };
            let resource = collection.resource(sample, metadata_only);
            (resource.kind, resource.namespaced)
        };
        assert_eq!(resource(None, false), (None, true));
        assert_eq!(resource(Some(("WebApp", false)), false), (Some("WebApp".into()), false));
        assert_eq!(resource(Some(("PartialObjectMetadata", true)), true), (None, true));
    }
}
