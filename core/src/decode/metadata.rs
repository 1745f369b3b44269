use super::reader::{Error, Reader, Unread};
use super::text::Text;
use crate::object::{MetaBuilder, OwnerReference, Uid};
use crate::storage::Reused;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

/// The optional metadata that decoding keeps, and the size limit of an object.
///
/// By default it keeps none of it: `managedFields` alone is almost half of a typical object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Keeps `metadata.annotations` in [`Meta`](crate::Meta), whose `annotations` is `None` otherwise. The decoded type
    /// gets them in any case.
    pub annotations: bool,
    /// Passes `metadata.managedFields` to the decoded type. By default the type gets no such field, as if the server
    /// had left it out. [`Meta`](crate::Meta) never has it.
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
    /// Whether the object is a bookmark, whose annotations matter.
    pub(super) bookmark: bool,
    /// Unreadable fields are skipped, because decoding has failed and only key and version are wanted.
    pub(super) lenient: bool,
    /// The addresses of the skipped `managedFields`, their names included.
    pub(super) managed_fields: Vec<Range<usize>>,
    /// Which of the list's types the object was given.
    pub(super) given: Given,
    /// The address behind an error in a value that was read later than the rest.
    pub(super) failed_at: Option<usize>,
}

/// `kind` and `apiVersion`, which an item of a list may lack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    pub(super) kind: bool,
    pub(super) api_version: bool,
}

/// A field of `metadata` that the machines need.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Name,
    Namespace,
    Uid,
    ResourceVersion,
    Generation,
    DeletionTimestamp,
    Labels,
    OwnerReferences,
    Annotations,
    Finalizers,
}

const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl Metadata {
    /// Clears everything, for the next object.
    pub(super) fn start(&mut self, bookmark: bool) {
        self.builder.clear();
        self.managed_fields.start_over();
        (self.seen, self.initial_events_end, self.bookmark) = (false, false, bookmark);
        self.given = Given::default();
    }

    pub(super) fn field(&self, name: &str) -> Option<Field> {
        Some(match name {
            "name" => Field::Name,
            "namespace" => Field::Namespace,
            "uid" => Field::Uid,
            "resourceVersion" => Field::ResourceVersion,
            "generation" => Field::Generation,
            "deletionTimestamp" => Field::DeletionTimestamp,
            "labels" => Field::Labels,
            "ownerReferences" => Field::OwnerReferences,
            "annotations" if self.keep.annotations || self.bookmark => Field::Annotations,
            "finalizers" => Field::Finalizers,
            _ => return None,
        })
    }

    /// Reads a field, whose value is `json`. `null` counts as absent.
    pub(super) fn read<E: de::Error>(&mut self, field: Field, json: &str) -> Result<(), E> {
        match self.try_read(field, json) {
            Err(_) if self.lenient => Ok(()),
            result => self.failed(result),
        }
    }

    /// Notes the place of an error in a value that was read later than the rest.
    pub(super) fn failed<T, E: de::Error>(&mut self, result: Result<T, Error>) -> Result<T, E> {
        result.map_err(|error| {
            self.failed_at = self.failed_at.or_else(|| error.address());
            E::custom(error)
        })
    }

    fn try_read(&mut self, field: Field, json: &str) -> Result<(), Error> {
        self.on_again(field);
        if json == "null" {
            return Ok(());
        }
        let Self { builder, keep, bookmark, initial_events_end, .. } = self;
        match field {
            Field::Name => builder.set_name(text(json)?.as_str()),
            Field::Namespace => builder.set_namespace(text(json)?.as_str()),
            Field::Uid => builder.set_uid(text(json)?.as_str()),
            Field::ResourceVersion => builder.set_resource_version(text(json)?.as_str()),
            Field::DeletionTimestamp => builder.set_deletion_timestamp(text(json)?.as_str()),
            Field::Generation => builder.set_generation(Reader::value(json)?),
            Field::Labels => pairs(json, |name, value| builder.add_label(name, value))?,
            Field::Annotations => pairs(json, |name, value| {
                *initial_events_end |= *bookmark && name == INITIAL_EVENTS_END && value == "true";
                if keep.annotations {
                    builder.add_annotation(name, value);
                }
            })?,
            Field::OwnerReferences => {
                let owners: Vec<Owner<'_>> = Reader::value(json)?;
                owners.iter().for_each(|owner| builder.add_owner_reference(&owner.reference()));
            }
            Field::Finalizers => {
                let finalizers: Vec<Text<'_>> = Reader::value(json)?;
                finalizers.iter().for_each(|finalizer| builder.add_finalizer(finalizer.as_str()));
            }
        }
        Ok(())
    }

    /// Clears the values of an earlier field of the same name: the last one counts.
    fn on_again(&mut self, field: Field) {
        match field {
            Field::Labels => self.builder.clear_labels(),
            Field::OwnerReferences => self.builder.clear_owner_references(),
            Field::Finalizers => self.builder.clear_finalizers(),
            Field::Annotations => {
                self.builder.clear_annotations();
                self.initial_events_end = false;
            }
            Field::Name
            | Field::Namespace
            | Field::Uid
            | Field::ResourceVersion
            | Field::Generation
            | Field::DeletionTimestamp => {}
        }
    }

    /// Skips `managedFields`, and notes the addresses of name and value.
    pub(super) fn skip_managed_fields<'de, A: MapAccess<'de>>(
        &mut self,
        name: &'de str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let Unread(skipped) = map.next_value()?;
        let quote = name.as_ptr().addr() - 1;
        self.managed_fields.push(quote..skipped.as_bytes().as_ptr_range().end.addr());
        Ok(())
    }
}

fn text(json: &str) -> Result<Text<'_>, Error> {
    Reader::value(json)
}

/// Calls `note` with every entry of a map of strings.
fn pairs(json: &str, note: impl FnMut(&str, &str)) -> Result<(), Error> {
    Reader::read(json, |reader| reader.deserialize_map(Pairs(note)))
}

struct Pairs<F>(F);

impl<'de, F: FnMut(&str, &str)> Visitor<'de> for Pairs<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
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
#[serde(rename_all = "camelCase", default)]
struct Owner<'a> {
    #[serde(borrow)]
    api_version: Option<Text<'a>>,
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
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
