use super::raw;
use super::reader::{Error, Given, Level, Reader, Role, Text, Watch};
use crate::object::{MetaBuilder, OwnerReference, Uid};
use crate::storage::Reused;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

/// The optional metadata that decoding keeps, and the size limit of an object.
///
/// By default it keeps none of it: `managedFields` alone is almost half of a typical object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct DecodeOptions {
    /// Keeps `metadata.annotations` in [`Meta`](crate::Meta), whose `annotations` is `None` otherwise. The decoded type
    /// gets them in any case.
    pub annotations: bool,
    /// Passes `metadata.managedFields` to the decoded type. By default the type gets no such field, and the server is asked
    /// to leave it out ([`Resource::without_managed_fields`](crate::Resource::without_managed_fields)).
    /// [`Meta`](crate::Meta) never has it.
    pub managed_fields: bool,
    /// Checks the JSON of values that the decoded type does not read, as client-go does. By default their brackets and
    /// strings are only counted, so an object with `tru` or `[1}` in such a value is decoded. What a type keeps is always
    /// checked: [`Raw`](super::Raw) is valid JSON. The check costs up to half of the speed.
    pub strict: bool,
    /// How many bytes the JSON of one object may have: 8 MiB by default. [`Json`](super::Json) skips a larger one
    /// without storing it, and reports it as undecodable. A [`Decoder`](super::Decoder) ignores this.
    pub frame_limit: usize,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { annotations: false, managed_fields: false, strict: false, frame_limit: 8 << 20 }
    }
}

/// The metadata of the object that is being read.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) builder: MetaBuilder,
    pub(super) keep: DecodeOptions,
    /// Whether the object was seen as a map, so that its metadata was noted.
    pub(super) seen: bool,
    /// Whether an annotation says that the initial events of a watch-list end here.
    pub(super) initial_events_end: bool,
    /// Unreadable fields are skipped, because decoding has failed and only key and version are wanted.
    pub(super) lenient: bool,
    /// Whether the object is a bookmark, whose annotations matter.
    is_bookmark: bool,
    /// The places of the skipped `managedFields`, their names included.
    managed_fields: Vec<Range<usize>>,
    /// The field whose value comes next.
    field: Option<&'static str>,
}

/// The fields that the machines need.
const NOTED: [&str; 10] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "deletionTimestamp",
    "labels",
    "ownerReferences",
    "annotations",
    "finalizers",
];

const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl Watch for Metadata {
    fn start(&mut self, is_bookmark: bool) {
        self.builder.clear();
        self.managed_fields.start_over();
        (self.seen, self.initial_events_end, self.is_bookmark) = (false, false, is_bookmark);
    }

    fn on_name(&mut self, level: Level, name: &str) -> Role {
        match (level, name) {
            (Level::Object, "metadata") => {
                // Of two members the last one counts, as in Go.
                self.builder.clear();
                self.initial_events_end = false;
                Role::Metadata
            }
            (Level::Metadata, _) => {
                self.seen = true;
                self.field = self.noted(name);
                match name {
                    "managedFields" if !self.keep.managed_fields => Role::Hidden,
                    _ if self.field.is_some() => Role::Noted,
                    _ => Role::Passed,
                }
            }
            _ => Role::Passed,
        }
    }

    fn on_value(&mut self, json: &str) -> Result<(), Error> {
        let read = self.field.take().map_or(Ok(()), |field| self.read(field, json));
        if self.lenient { Ok(()) } else { read }
    }

    fn on_hidden(&mut self, member: Range<usize>) {
        self.managed_fields.push(member);
    }

    fn rewritten(&self, text: &str, start: usize, given: &Given<'_>) -> String {
        raw::rewrite(text, start, given, &self.managed_fields)
    }
}

impl Metadata {
    pub(super) fn new(keep: DecodeOptions) -> Self {
        Self { keep, ..Self::default() }
    }

    /// The name of a field that is noted.
    fn noted(&self, name: &str) -> Option<&'static str> {
        let is_wanted = name != "annotations" || self.keep.annotations || self.is_bookmark;
        NOTED.into_iter().find(|noted| is_wanted && *noted == name)
    }

    /// Reads a field. A list takes the place of an earlier one of the same name. `null` counts as absent.
    fn read(&mut self, field: &str, json: &str) -> Result<(), Error> {
        let Self { builder, keep, is_bookmark, initial_events_end, .. } = self;
        match field {
            "labels" => {
                builder.clear_labels();
                pairs(json, |name, value| builder.add_label(name, value))?;
            }
            "annotations" => {
                builder.clear_annotations();
                *initial_events_end = false;
                pairs(json, |name, value| {
                    *initial_events_end |= *is_bookmark && name == INITIAL_EVENTS_END && value == "true";
                    if keep.annotations {
                        builder.add_annotation(name, value);
                    }
                })?;
            }
            "ownerReferences" => {
                builder.clear_owner_references();
                let owners: Option<Vec<Owner<'_>>> = Reader::value(json)?;
                owners.iter().flatten().for_each(|owner| builder.add_owner_reference(&owner.reference()));
            }
            "finalizers" => {
                builder.clear_finalizers();
                let finalizers: Option<Vec<Text<'_>>> = Reader::value(json)?;
                finalizers.iter().flatten().for_each(|finalizer| builder.add_finalizer(finalizer.as_str()));
            }
            _ if json == "null" => {}
            "name" => builder.set_name(text(json)?.as_str()),
            "namespace" => builder.set_namespace(text(json)?.as_str()),
            "uid" => builder.set_uid(text(json)?.as_str()),
            "resourceVersion" => builder.set_resource_version(text(json)?.as_str()),
            "deletionTimestamp" => builder.set_deletion_timestamp(text(json)?.as_str()),
            _ => builder.set_generation(Reader::value(json)?),
        }
        Ok(())
    }
}

fn text(json: &str) -> Result<Text<'_>, Error> {
    Reader::value(json)
}

/// Calls `note` with every entry of a map of strings, which may be null.
fn pairs(json: &str, note: impl FnMut(&str, &str)) -> Result<(), Error> {
    Reader::read(json, |reader| reader.deserialize_option(Pairs(note)))
}

struct Pairs<F>(F);

impl<'de, F: FnMut(&str, &str)> Visitor<'de> for Pairs<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, map: D) -> Result<(), D::Error> {
        map.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, value)) = map.next_entry::<Text<'de>, Option<Text<'de>>>()? {
            (self.0)(name.as_str(), value.unwrap_or_default().as_str());
        }
        Ok(())
    }
}

/// `metav1.OwnerReference`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "'de: 'a"))]
struct Owner<'a> {
    api_version: Option<Text<'a>>,
    kind: Option<Text<'a>>,
    name: Option<Text<'a>>,
    uid: Option<Text<'a>>,
    controller: Option<bool>,
    block_owner_deletion: Option<bool>,
}

impl Owner<'_> {
    fn reference(&self) -> OwnerReference<'_> {
        let [api_version, kind, name, uid] = [&self.api_version, &self.kind, &self.name, &self.uid]
            .map(|text| text.as_ref().map(Text::as_str).unwrap_or_default());
        let uid = (!uid.is_empty()).then(|| Uid::from(uid));
        OwnerReference {
            api_version,
            kind,
            name,
            uid,
            controller: self.controller.unwrap_or(false),
            block_owner_deletion: self.block_owner_deletion.unwrap_or(false),
        }
    }
}
