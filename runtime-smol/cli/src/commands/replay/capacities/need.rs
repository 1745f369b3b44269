//! What the recording needs.

use super::field::Field;
use super::index::Indexes;
use listwatch::decode::Raw;
use listwatch::object::ObjectHandle;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most of everything that has a capacity.
pub(super) struct Need {
    pub(super) fields: Vec<Field>,
    /// For each index the place of its field; the namespace has none.
    pub(super) by: Vec<Option<usize>>,
    pub(super) indexes: Indexes,
    /// The values of each object in the indexes.
    objects: BTreeMap<String, Vec<Option<String>>>,
    /// Keys that a list lacks. A list in parts takes its items before it deletes them.
    vanished: BTreeSet<String>,
    pub(super) most_objects: usize,
    pub(super) longest_key: usize,
    pub(super) longest_object: usize,
    pub(super) longest_uid: usize,
    pub(super) longest_version: usize,
    /// Of labels and owners.
    pub(super) longest_text: usize,
    pub(super) longest_line: usize,
    pub(super) deepest_stage: usize,
    pub(super) deepest_backlog: usize,
}

impl Need {
    pub(super) fn new(fields: Vec<Field>, by: Vec<Option<usize>>) -> Self {
        Self {
            fields,
            by,
            indexes: Indexes::default(),
            objects: BTreeMap::new(),
            vanished: BTreeSet::new(),
            most_objects: 0,
            longest_key: 0,
            longest_object: 0,
            longest_uid: 0,
            longest_version: 0,
            longest_text: 0,
            longest_line: 0,
            deepest_stage: 0,
            deepest_backlog: 0,
        }
    }

    pub(super) fn stage(&mut self, items: Option<usize>) {
        self.deepest_stage = self.deepest_stage.max(items.unwrap_or_default());
    }

    pub(super) fn backlog(&mut self, deltas: usize) {
        self.deepest_backlog = self.deepest_backlog.max(deltas);
    }

    /// An object, or its new state.
    pub(super) fn insert(&mut self, object: &ObjectHandle<Raw>) {
        let values = self.measure(object);
        let key = object.meta().key().as_str();
        self.vanished.remove(key);
        if let Some(before) = self.objects.remove(key) {
            self.forget(before);
        }
        let places = values.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_deref()?)));
        places.for_each(|(index, value)| self.indexes.insert(index, value));
        self.objects.insert(key.to_owned(), values);
        self.most_objects = self.most_objects.max(self.objects.len());
        self.indexes.settle();
    }

    /// An object that was deleted, or that a list lacks.
    pub(super) fn remove(&mut self, object: &ObjectHandle<Raw>, is_certain: bool) {
        // A decoder reads the last state like any other.
        let _values = self.measure(object);
        let key = object.meta().key().as_str().to_owned();
        if is_certain {
            self.take(&key);
        } else {
            self.vanished.insert(key);
        }
    }

    /// Removes what the list lacks that was read.
    pub(super) fn settle(&mut self) {
        for key in std::mem::take(&mut self.vanished) {
            self.take(&key);
        }
    }

    fn take(&mut self, key: &str) {
        if let Some(values) = self.objects.remove(key) {
            self.forget(values);
        }
    }

    fn forget(&mut self, values: Vec<Option<String>>) {
        let values = values.into_iter().enumerate();
        values.filter_map(|(index, value)| Some((index, value?))).for_each(|(index, value)| {
            self.indexes.remove(index, value);
        });
    }

    /// Notes the lengths of an object, and its fields. Returns its value in each index.
    fn measure(&mut self, object: &ObjectHandle<Raw>) -> Vec<Option<String>> {
        let meta = object.meta();
        let uid = meta.uid().map_or(0, |uid| uid.to_string().len());
        let texts = meta.labels().map(|(_, value)| value.len());
        let owners = meta.owner_references().map(|owner| owner.name.len());
        for (most, seen) in [
            (&mut self.longest_key, meta.key().as_str().len()),
            (&mut self.longest_object, object.as_str().len()),
            (&mut self.longest_uid, uid),
            (&mut self.longest_version, meta.resource_version().len()),
            (&mut self.longest_text, texts.chain(owners).max().unwrap_or_default()),
        ] {
            *most = seen.max(*most);
        }
        let json = if self.fields.is_empty() { Value::Null } else { object.decode().unwrap_or_default() };
        let texts: Vec<Option<&str>> = self.fields.iter_mut().map(|field| field.note(&json)).collect();
        let text = |by: &Option<usize>| match by {
            None => object.meta().namespace(),
            Some(field) => texts[*field].filter(|text| !text.is_empty()),
        };
        self.by.iter().map(|by| text(by).map(str::to_owned)).collect()
    }
}
