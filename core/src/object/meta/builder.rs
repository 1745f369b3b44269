use super::super::{Key, Uid};
use super::shapes::Shapes;
use super::{Meta, OwnerReference, strings};
use crate::storage::Reused;
use alloc::string::String;

/// Collects metadata in any order and packs it into a [`Meta`].
///
/// `set_…` replaces a value, `add_…` appends to a list. [`build`](Self::build) leaves the builder empty for the next
/// object. A builder that is used again allocates only the result. Objects of one builder whose labels and owners are
/// the same share the memory of those.
///
/// ```
/// use listwatch_core::object::MetaBuilder;
///
/// let mut builder = MetaBuilder::default();
/// builder.add_label("app", "web");
/// builder.set_name("web-1");
/// builder.set_namespace("team-0");
/// let meta = builder.build().unwrap();
/// assert_eq!((meta.key().as_str(), meta.label("app")), ("team-0/web-1", Some("web")));
/// assert!(builder.build().is_none(), "the next object has no name yet");
/// ```
#[derive(Debug, Default)]
pub struct MetaBuilder {
    namespace: String,
    name: String,
    uid: Option<Uid>,
    version: String,
    deletion: String,
    generation: i64,
    /// These four are packed.
    labels: String,
    owners: String,
    annotations: String,
    finalizers: String,
    annotations_kept: bool,
    json_len: u32,
    /// The texts of the object that is being built.
    packed: String,
    shapes: Shapes,
}

impl MetaBuilder {
    /// Empties the builder.
    pub fn clear(&mut self) {
        let Self { namespace, name, version, deletion, labels, owners, annotations, finalizers, packed, .. } = self;
        for text in [namespace, name, version, deletion, labels, owners, annotations, finalizers, packed] {
            text.start_over();
        }
        self.uid = None;
        self.generation = 0;
        (self.annotations_kept, self.json_len) = (false, 0);
    }

    /// Sets the name, without which there is no object.
    pub fn set_name(&mut self, name: &str) {
        set(&mut self.name, name);
    }

    /// Sets the namespace; an empty text is none.
    pub fn set_namespace(&mut self, namespace: &str) {
        set(&mut self.namespace, namespace);
    }

    /// Sets the uid; an empty text is none.
    pub fn set_uid(&mut self, uid: &str) {
        self.uid = (!uid.is_empty()).then(|| Uid::from(uid));
    }

    /// Sets the resource version.
    pub fn set_resource_version(&mut self, version: &str) {
        set(&mut self.version, version);
    }

    /// Sets the deletion timestamp.
    pub fn set_deletion_timestamp(&mut self, time: &str) {
        set(&mut self.deletion, time);
    }

    /// Sets the generation.
    pub fn set_generation(&mut self, generation: i64) {
        self.generation = generation;
    }

    /// Sets the length of the JSON that the object is decoded from, in bytes.
    pub fn set_json_len(&mut self, len: usize) {
        self.json_len = u32::try_from(len).unwrap_or(u32::MAX);
    }

    /// Adds a label.
    pub fn add_label(&mut self, name: &str, value: &str) {
        push(&mut self.labels, [name, value]);
    }

    /// Removes the labels that were added.
    pub fn clear_labels(&mut self) {
        self.labels.clear();
    }

    /// Adds an owner reference.
    pub fn add_owner_reference(&mut self, owner: &OwnerReference<'_>) {
        let mut buffer = [0; Uid::CANONICAL_LEN];
        let uid = owner.uid.as_ref().map(|uid| uid.encode(&mut buffer)).unwrap_or_default();
        let flags = match (owner.controller, owner.block_owner_deletion) {
            (true, true) => "cb",
            (true, false) => "c",
            (false, true) => "b",
            (false, false) => "",
        };
        push(&mut self.owners, [owner.api_version, owner.kind, owner.name, uid, flags]);
    }

    /// Removes the owner references that were added.
    pub fn clear_owner_references(&mut self) {
        self.owners.clear();
    }

    /// States that the annotations are known, also where none is added; otherwise [`Meta::annotations`] is `None`.
    pub fn keep_annotations(&mut self) {
        self.annotations_kept = true;
    }

    /// Adds an annotation.
    pub fn add_annotation(&mut self, name: &str, value: &str) {
        self.annotations_kept = true;
        push(&mut self.annotations, [name, value]);
    }

    /// Removes the annotations that were added.
    pub fn clear_annotations(&mut self) {
        self.annotations.clear();
    }

    /// Adds a finalizer.
    pub fn add_finalizer(&mut self, name: &str) {
        push(&mut self.finalizers, [name]);
    }

    /// Removes the finalizers that were added.
    pub fn clear_finalizers(&mut self) {
        self.finalizers.clear();
    }

    /// The resource version collected so far; empty while there is none.
    pub fn resource_version(&self) -> &str {
        &self.version
    }

    /// The key collected so far; `None` while there is no name.
    pub fn key(&self) -> Option<Key> {
        (!self.name.is_empty()).then(|| Key::new(Some(&self.namespace), &self.name))
    }

    /// Packs the metadata and empties the builder. `None` where no name was set; nothing is emptied then.
    #[must_use]
    pub fn build(&mut self) -> Option<Meta> {
        let key = self.key()?;
        let Self { packed, version, deletion, labels, owners, annotations, finalizers, .. } = self;
        packed.clear();
        strings::push(packed, labels);
        packed.push_str(owners);
        let shape = self.shapes.share(packed);
        packed.clear();
        push(packed, [version, deletion, annotations]);
        packed.push_str(finalizers);
        let meta = Meta {
            key,
            uid: self.uid.take(),
            shape,
            text: packed.as_str().into(),
            generation: self.generation,
            json_len: self.json_len,
            annotations_kept: self.annotations_kept,
        };
        self.clear();
        Some(meta)
    }
}

fn push<const N: usize>(list: &mut String, entry: [&str; N]) {
    entry.iter().for_each(|string| strings::push(list, string));
}

fn set(field: &mut String, value: &str) {
    field.clear();
    field.push_str(value);
}
