mod builder;
mod shapes;
mod strings;

pub use builder::MetaBuilder;

use super::{Key, Uid};
use crate::storage::is_same;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use strings::Strings;

/// The metadata of an object that the machines and most controllers need (apimachinery `ObjectMeta`).
///
/// A cache holds one of these for every object, so it is packed: the key, the uid, a text with the version, and a text
/// with labels and owners. Siblings, such as the pods of one ReplicaSet, share the latter. So a typical pod takes about
/// 200 bytes, and 400 without siblings. A read slices a text; a label is found by a scan. A field that decoding did not
/// keep is `None`, never empty. Times are kept as the server wrote them (RFC 3339).
///
/// Equality compares everything except [`json_len`](Self::json_len).
///
/// ```
/// use listwatch_core::object::MetaBuilder;
///
/// let mut builder = MetaBuilder::default();
/// builder.set_namespace("team-0");
/// builder.set_name("web-1");
/// builder.set_resource_version("17");
/// builder.add_label("app", "web");
/// let meta = builder.build().unwrap();
///
/// assert_eq!((meta.namespace(), meta.name(), meta.resource_version()), (Some("team-0"), "web-1", "17"));
/// assert_eq!((meta.label("app"), meta.label("tier")), (Some("web"), None));
/// assert_eq!((meta.uid(), meta.deletion_timestamp()), (None, None), "nothing has set them");
/// ```
#[derive(Clone)]
pub struct Meta {
    key: Key,
    uid: Option<Uid>,
    /// Packed: the packed labels, then five strings for an owner. Shared between siblings.
    shape: Arc<str>,
    /// Packed: the resource version, the deletion timestamp, the packed annotations, the finalizers.
    text: Box<str>,
    generation: i64,
    json_len: u32,
    annotations_kept: bool,
}

/// An object that owns another one: an entry of `metadata.ownerReferences` (apimachinery `OwnerReference`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    /// Group and version of the owner, such as `apps/v1`.
    pub api_version: &'a str,
    /// Kind of the owner, such as `ReplicaSet`.
    pub kind: &'a str,
    /// Name of the owner, in the namespace of the owned object or in none.
    pub name: &'a str,
    /// Uid of the owner; `None` where the reference has none.
    pub uid: Option<Uid>,
    /// Whether this owner is the managing controller.
    pub controller: bool,
    /// Whether a foreground deletion of the owner waits until this object is deleted.
    pub block_owner_deletion: bool,
}

impl Meta {
    /// `namespace/name`, or the name where there are no namespaces (client-go `MetaNamespaceKeyFunc`).
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The namespace; `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// The uid, which is new each time an object is created, also under an old name. `None` where the server sent none.
    pub fn uid(&self) -> Option<Uid> {
        self.uid.clone()
    }

    /// The resource version, as opaque as the server wrote it; see
    /// [`compare_versions`](crate::object::compare_versions).
    pub fn resource_version(&self) -> &str {
        Strings(&self.text).next_or_empty()
    }

    /// Whether both are of one state of one object: uid and resource version agree, and both are there. An object
    /// without them can change unnoticed.
    pub fn is_same_state(&self, other: &Self) -> bool {
        let version = self.resource_version();
        self.uid.is_some() && self.uid == other.uid && !version.is_empty() && version == other.resource_version()
    }

    /// The generation, which grows with each change of the desired state; zero where the server keeps none.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// The time at which deletion was requested, while finalizers or a grace period keep the object.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        Strings(&self.text).nth(1).filter(|time| !time.is_empty())
    }

    /// The labels, in the server's order.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        Strings(&self.shape).nested().pairs()
    }

    /// The value of one label.
    pub fn label(&self, name: &str) -> Option<&str> {
        let mut labels = Strings(&self.shape).nested();
        while let Some(label) = labels.next() {
            let value = labels.next_or_empty();
            if is_same(label, name) {
                return Some(value);
            }
        }
        None
    }

    /// The owners, in the server's order.
    #[doc(alias("ownerReferences", "owns"))]
    pub fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        let mut strings = Strings(&self.shape);
        strings.next();
        core::iter::from_fn(move || {
            let api_version = strings.next()?;
            let [kind, name, uid, flags] = core::array::from_fn(|_| strings.next_or_empty());
            Some(OwnerReference {
                api_version,
                kind,
                name,
                uid: Some(uid).filter(|uid| !uid.is_empty()).map(Uid::from),
                controller: flags.contains('c'),
                block_owner_deletion: flags.contains('b'),
            })
        })
    }

    /// The annotations, in the server's order; `None` where decoding did not keep them: the object may have any.
    #[cfg_attr(
        feature = "json",
        doc = "[`DecodeOptions::annotations`](crate::decode::DecodeOptions::annotations) keeps them."
    )]
    pub fn annotations(&self) -> Option<impl Iterator<Item = (&str, &str)>> {
        self.annotations_kept.then(|| self.lists().nested().pairs())
    }

    /// The finalizers, in the server's order.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        let mut lists = self.lists();
        lists.next();
        lists
    }

    /// The length of the JSON that the object was decoded from, in bytes; zero where it was not decoded.
    pub fn json_len(&self) -> usize {
        self.json_len as usize
    }

    /// Takes over the texts of an earlier state that are equal.
    pub(super) fn share_with(&mut self, earlier: &Self) {
        if self.key == earlier.key {
            self.key = earlier.key.clone();
        }
        if !Arc::ptr_eq(&self.shape, &earlier.shape) && self.shape == earlier.shape {
            self.shape = Arc::clone(&earlier.shape);
        }
    }

    /// The packed annotations, then the finalizers.
    fn lists(&self) -> Strings<'_> {
        let mut strings = Strings(&self.text);
        strings.nth(1);
        strings
    }
}

impl PartialEq for Meta {
    fn eq(&self, other: &Self) -> bool {
        let Self { key, uid, shape, text, generation, annotations_kept, json_len: _ } = self;
        (key, uid, shape, text) == (&other.key, &other.uid, &other.shape, &other.text)
            && (generation, annotations_kept) == (&other.generation, &other.annotations_kept)
    }
}

impl Eq for Meta {}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut meta = f.debug_struct("Meta");
        meta.field("key", &self.key);
        self.uid.iter().for_each(|uid| _ = meta.field("uid", uid));
        meta.field("resource_version", &self.resource_version()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn packed() -> Meta {
        let mut builder = MetaBuilder::default();
        builder.add_finalizer("example.com/guard");
        builder.add_annotation("note", "größer");
        builder.add_owner_reference(&OwnerReference {
            kind: "ReplicaSet",
            name: "web",
            controller: true,
            ..OwnerReference::default()
        });
        builder.add_owner_reference(&OwnerReference {
            uid: Some(Uid::from("u-2")),
            block_owner_deletion: true,
            ..OwnerReference::default()
        });
        builder.add_label("app", "web");
        builder.add_label("tier", "");
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
        assert_eq!((meta.uid(), meta.resource_version(), meta.generation()), (Some(Uid::from("u-1")), "17", 3));
        assert_eq!(meta.deletion_timestamp(), None);
        assert_eq!(meta.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "")]);
        assert_eq!((meta.label("tier"), meta.label("zone")), (Some(""), None));
        assert_eq!(meta.annotations().unwrap().collect::<Vec<_>>(), [("note", "größer")]);
        assert_eq!(meta.finalizers().collect::<Vec<_>>(), ["example.com/guard"]);
        let owners: Vec<_> = meta.owner_references().collect();
        assert_eq!((owners[0].kind, owners[0].name, owners[0].controller), ("ReplicaSet", "web", true));
        assert_eq!(
            (&owners[1].uid, owners[1].controller, owners[1].block_owner_deletion),
            (&Some(Uid::from("u-2")), false, true)
        );
    }

    #[test]
    fn a_changed_object_shares_labels_and_key_with_its_earlier_state() {
        let (earlier, mut meta) = (packed(), packed());
        meta.share_with(&earlier);
        assert!(
            Arc::ptr_eq(&meta.shape, &earlier.shape) && meta.key.as_str().as_ptr() == earlier.key.as_str().as_ptr()
        );
        assert_eq!(meta, earlier);
        let mut builder = MetaBuilder::default();
        builder.set_name("web-2");
        builder.add_label("app", "db");
        let mut other = builder.build().unwrap();
        other.share_with(&earlier);
        assert_eq!((other.name(), other.label("app"), other.owner_references().count()), ("web-2", Some("db"), 0));
    }

    #[test]
    fn a_builder_used_again_keeps_nothing() {
        let mut builder = MetaBuilder::default();
        builder.add_label("app", "web");
        builder.add_annotation("note", "n");
        builder.set_name("a");
        builder.set_uid("u");
        let _ = builder.build();
        builder.set_name("b");
        let meta = builder.build().unwrap();
        assert_eq!((meta.labels().count(), meta.uid(), meta.key().as_str()), (0, None, "b"));
        assert!(meta.annotations().is_none(), "nobody has said that it has none");
    }
}
