use super::Key;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The metadata of an object that the machines and most controllers need.
///
/// A cache holds one of these for every object, so it is packed: the key, one allocation of text and one of offsets,
/// about 400 bytes for a typical pod. What decoding did not keep is `None`, never empty. Reading a field is slicing; finding a label is a scan over a handful.
///
/// Times are kept as the server wrote them (RFC 3339).
/// Two are equal if all that the object says is: [`json_len`](Self::json_len) is not part of it.
#[derive(Clone)]
pub struct Meta {
    key: Key,
    text: Box<str>,
    /// Where each string of `text` ends, in the order: uid, resource version, deletion timestamp, then two for a label,
    /// five for an owner, two for an annotation, one for a finalizer.
    ends: Box<[u32]>,
    generation: i64,
    labels: u32,
    owners: u32,
    /// [`NOT_KEPT`], or how many there are.
    annotations: u32,
    json_len: u32,
}

const NOT_KEPT: u32 = u32::MAX;

const UID: usize = 0;
const VERSION: usize = 1;
const DELETION: usize = 2;
const LABELS: usize = 3;
const OWNER_STRINGS: usize = 5;

/// An object that owns another one, as `metadata.ownerReferences` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OwnerReference<'a> {
    /// Group and version of the owner, such as `apps/v1`.
    pub api_version: &'a str,
    /// Kind of the owner, such as `ReplicaSet`.
    pub kind: &'a str,
    /// Name of the owner, in the namespace of the owned object or in none.
    pub name: &'a str,
    /// Uid of the owner.
    pub uid: &'a str,
    /// Whether this owner is the managing controller.
    pub controller: bool,
    /// Whether the owner cannot go away in the foreground before this object does.
    pub block_owner_deletion: bool,
}

impl Meta {
    /// `namespace/name`.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The namespace; `None` for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// The uid: a new one each time an object is created, whatever its name.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.string(UID)
    }

    /// The resource version, as opaque as the server wrote it; see [`compare_versions`](crate::object::compare_versions).
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.string(VERSION)
    }

    /// Whether both are of one state of one object: uid and resource version agree, and neither is empty. An object
    /// without them can change unnoticed.
    #[must_use]
    pub fn is_same_state(&self, other: &Self) -> bool {
        [UID, VERSION].iter().all(|at| !self.string(*at).is_empty() && self.string(*at) == other.string(*at))
    }

    /// The generation, which grows with each change of the desired state; zero where the server keeps none.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// When deletion was asked for, while finalizers or a grace period keep the object.
    #[must_use]
    pub fn deletion_timestamp(&self) -> Option<&str> {
        Some(self.string(DELETION)).filter(|time| !time.is_empty())
    }

    /// The labels, in the server's order.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs(LABELS, self.labels)
    }

    /// The value of one label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels().find(|(label, _)| *label == name).map(|(_, value)| value)
    }

    /// The owners, in the server's order.
    pub fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        let first = LABELS + 2 * self.labels as usize;
        (0..self.owners as usize).map(move |n| {
            let at = first + OWNER_STRINGS * n;
            OwnerReference {
                api_version: self.string(at),
                kind: self.string(at + 1),
                name: self.string(at + 2),
                uid: self.string(at + 3),
                controller: self.string(at + 4).contains('c'),
                block_owner_deletion: self.string(at + 4).contains('b'),
            }
        })
    }

    /// The annotations, in the server's order; `None` where decoding did not keep them: the object may have any.
    #[cfg_attr(
        feature = "json",
        doc = "[`DecodeOptions::annotations`](crate::decode::DecodeOptions::annotations) asks for them."
    )]
    #[must_use]
    pub fn annotations(&self) -> Option<impl Iterator<Item = (&str, &str)>> {
        (self.annotations != NOT_KEPT).then(|| self.pairs(self.annotations_at(), self.annotations))
    }

    /// The finalizers, in the server's order.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        let annotations = if self.annotations == NOT_KEPT { 0 } else { self.annotations as usize };
        (self.annotations_at() + 2 * annotations..self.ends.len()).map(|at| self.string(at))
    }

    /// How many bytes of JSON the object was decoded from: a measure of its size that costs nothing. Zero where it was not
    /// decoded.
    #[must_use]
    pub fn json_len(&self) -> usize {
        self.json_len as usize
    }

    fn annotations_at(&self) -> usize {
        LABELS + 2 * self.labels as usize + OWNER_STRINGS * self.owners as usize
    }

    fn pairs(&self, first: usize, count: u32) -> impl Iterator<Item = (&str, &str)> {
        (0..count as usize).map(move |n| (self.string(first + 2 * n), self.string(first + 2 * n + 1)))
    }

    fn string(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.text[start..self.ends[at] as usize]
    }
}

impl PartialEq for Meta {
    fn eq(&self, other: &Self) -> bool {
        let Self { key, text, ends, generation, labels, owners, annotations, json_len: _ } = self;
        (key, text, ends) == (&other.key, &other.text, &other.ends)
            && (generation, labels, owners, annotations)
                == (&other.generation, &other.labels, &other.owners, &other.annotations)
    }
}

impl Eq for Meta {}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meta")
            .field("key", &self.key)
            .field("uid", &self.uid())
            .field("resource_version", &self.resource_version())
            .finish_non_exhaustive()
    }
}

/// Collects metadata in whatever order it comes and packs it; used again for the next object, it allocates only what
/// the object keeps.
///
/// ```
/// use listwatch_core::object::MetaBuilder;
///
/// let mut builder = MetaBuilder::default();
/// builder.label("app", "web");
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
    uid: String,
    version: String,
    deletion: String,
    generation: i64,
    labels: Strings,
    owners: Strings,
    annotations: Strings,
    finalizers: Strings,
    annotations_kept: bool,
    json_len: u32,
}

#[derive(Debug, Default)]
struct Strings {
    text: String,
    lengths: Vec<u32>,
}

impl MetaBuilder {
    /// Forgets what was collected.
    pub fn clear(&mut self) {
        for string in [&mut self.namespace, &mut self.name, &mut self.uid, &mut self.version, &mut self.deletion] {
            string.clear();
        }
        for strings in [&mut self.labels, &mut self.owners, &mut self.annotations, &mut self.finalizers] {
            strings.clear();
        }
        self.generation = 0;
        (self.annotations_kept, self.json_len) = (false, 0);
    }

    /// The name, without which there is no object.
    pub fn set_name(&mut self, name: &str) {
        set(&mut self.name, name);
    }

    /// The namespace.
    pub fn set_namespace(&mut self, namespace: &str) {
        set(&mut self.namespace, namespace);
    }

    /// The uid.
    pub fn set_uid(&mut self, uid: &str) {
        set(&mut self.uid, uid);
    }

    /// The resource version.
    pub fn set_resource_version(&mut self, version: &str) {
        set(&mut self.version, version);
    }

    /// The deletion timestamp.
    pub fn set_deletion_timestamp(&mut self, time: &str) {
        set(&mut self.deletion, time);
    }

    /// The generation.
    pub fn set_generation(&mut self, generation: i64) {
        self.generation = generation;
    }

    /// How many bytes of JSON the object is decoded from.
    pub fn set_json_len(&mut self, len: usize) {
        self.json_len = u32::try_from(len).unwrap_or(u32::MAX);
    }

    /// Adds a label.
    pub fn label(&mut self, name: &str, value: &str) {
        self.labels.push(name);
        self.labels.push(value);
    }

    /// Forgets the labels that were added.
    pub fn clear_labels(&mut self) {
        self.labels.clear();
    }

    /// Adds an owner.
    pub fn owner(&mut self, owner: OwnerReference<'_>) {
        for string in [owner.api_version, owner.kind, owner.name, owner.uid] {
            self.owners.push(string);
        }
        self.owners.push(match (owner.controller, owner.block_owner_deletion) {
            (true, true) => "cb",
            (true, false) => "c",
            (false, true) => "b",
            (false, false) => "",
        });
    }

    /// Forgets the owner references that were added.
    pub fn clear_owners(&mut self) {
        self.owners.clear();
    }

    /// Says that annotations are kept, also those of an object that has none.
    pub fn keep_annotations(&mut self) {
        self.annotations_kept = true;
    }

    /// Adds an annotation.
    pub fn annotation(&mut self, name: &str, value: &str) {
        self.annotations_kept = true;
        self.annotations.push(name);
        self.annotations.push(value);
    }

    /// Forgets the annotations that were added.
    pub fn clear_annotations(&mut self) {
        self.annotations.clear();
    }

    /// Adds a finalizer.
    pub fn finalizer(&mut self, name: &str) {
        self.finalizers.push(name);
    }

    /// Forgets the finalizers that were added.
    pub fn clear_finalizers(&mut self) {
        self.finalizers.clear();
    }

    /// The resource version collected so far; empty while there is none.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        &self.version
    }

    /// The key collected so far; `None` while there is no name.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        (!self.name.is_empty()).then(|| Key::new(Some(&self.namespace), &self.name))
    }

    /// Packs what was collected and starts anew; `None` where no name was given.
    #[must_use]
    pub fn build(&mut self) -> Option<Meta> {
        let key = self.key()?;
        let scalars = [&self.uid, &self.version, &self.deletion];
        let lists = [&self.labels, &self.owners, &self.annotations, &self.finalizers];
        let mut text =
            String::with_capacity(scalars.iter().map(|s| s.len()).chain(lists.iter().map(|l| l.text.len())).sum());
        let mut ends = Vec::with_capacity(LABELS + lists.iter().map(|l| l.lengths.len()).sum::<usize>());
        for scalar in scalars {
            text.push_str(scalar);
            ends.push(text.len() as u32);
        }
        for list in lists {
            let mut end = text.len() as u32;
            ends.extend(list.lengths.iter().map(|length| {
                end += length;
                end
            }));
            text.push_str(&list.text);
        }
        let meta = Meta {
            key,
            text: text.into_boxed_str(),
            ends: ends.into_boxed_slice(),
            generation: self.generation,
            labels: (self.labels.lengths.len() / 2) as u32,
            owners: (self.owners.lengths.len() / OWNER_STRINGS) as u32,
            annotations: if self.annotations_kept { (self.annotations.lengths.len() / 2) as u32 } else { NOT_KEPT },
            json_len: self.json_len,
        };
        self.clear();
        Some(meta)
    }
}

impl Strings {
    fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.lengths.push(string.len() as u32);
    }

    fn clear(&mut self) {
        self.text.clear();
        self.lengths.clear();
    }
}

fn set(field: &mut String, value: &str) {
    field.clear();
    field.push_str(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed() -> Meta {
        let mut builder = MetaBuilder::default();
        builder.finalizer("example.com/guard");
        builder.annotation("note", "größer");
        builder.owner(OwnerReference {
            kind: "ReplicaSet",
            name: "web",
            controller: true,
            ..OwnerReference::default()
        });
        builder.owner(OwnerReference { uid: "u-2", block_owner_deletion: true, ..OwnerReference::default() });
        builder.label("app", "web");
        builder.label("tier", "");
        builder.set_resource_version("17");
        builder.set_uid("u-1");
        builder.set_generation(3);
        builder.set_name("web-1");
        builder.build().unwrap()
    }

    #[test]
    fn every_field_comes_back_out_of_the_packing() {
        let meta = packed();
        assert_eq!((meta.key().as_str(), meta.namespace(), meta.name()), ("web-1", None, "web-1"));
        assert_eq!((meta.uid(), meta.resource_version(), meta.generation()), ("u-1", "17", 3));
        assert_eq!(meta.deletion_timestamp(), None);
        assert_eq!(meta.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "")]);
        assert_eq!((meta.label("tier"), meta.label("zone")), (Some(""), None));
        assert_eq!(meta.annotations().unwrap().collect::<Vec<_>>(), [("note", "größer")]);
        assert_eq!(meta.finalizers().collect::<Vec<_>>(), ["example.com/guard"]);
        let owners: Vec<_> = meta.owner_references().collect();
        assert_eq!((owners[0].kind, owners[0].name, owners[0].controller), ("ReplicaSet", "web", true));
        assert_eq!((owners[1].uid, owners[1].controller, owners[1].block_owner_deletion), ("u-2", false, true));
    }

    #[test]
    fn a_builder_used_again_keeps_nothing() {
        let mut builder = MetaBuilder::default();
        builder.label("app", "web");
        builder.annotation("note", "n");
        builder.set_name("a");
        builder.set_uid("u");
        let _ = builder.build();
        builder.set_name("b");
        let meta = builder.build().unwrap();
        assert_eq!((meta.labels().count(), meta.uid(), meta.key().as_str()), (0, "", "b"));
        assert!(meta.annotations().is_none(), "nobody has said that it has none");
    }
}
