use crate::object::{Kind, Meta, Uid};
use alloc::string::String;
use core::fmt;
use serde::Serialize;

/// Something that happened to an object. Occurrences that agree in all but their note and the object's version are a
/// series; the series keeps its first note, because a server lets nobody change it.
///
/// A text that is too long for a server is cut at a character, and ends with `…`.
///
/// ```
/// use listwatch_core::recorder::{ObjectReference, Occurrence};
///
/// let foo = ObjectReference::new("samplecontroller.k8s.io/v1alpha1", "Foo", Some("web"), "a");
/// let synced = Occurrence::normal(foo.clone(), "Synced").note("the Deployment is as it should be");
/// let failed = Occurrence::warning(foo, "NameTaken").action("Creating").note("another owner has it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Occurrence {
    pub(super) key: Key,
    /// The first object with its version; the key has none.
    pub(super) regarding: ObjectReference,
    pub(super) note: String,
}

/// Whether an occurrence needs an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum EventType {
    /// All goes well.
    Normal,
    /// Something may be wrong.
    Warning,
}

/// What the occurrences of a series have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) r#type: EventType,
    pub(super) reason: String,
    pub(super) action: String,
    pub(super) regarding: ObjectReference,
    pub(super) related: Option<ObjectReference>,
}

impl Occurrence {
    /// An occurrence of type `Normal`. `reason` is a word in `UpperCamelCase` for programs; an empty one becomes `Unknown`.
    pub fn normal(regarding: ObjectReference, reason: &str) -> Self {
        Self::new(EventType::Normal, regarding, reason)
    }

    /// An occurrence of type `Warning`; otherwise as [`normal`](Self::normal).
    pub fn warning(regarding: ObjectReference, reason: &str) -> Self {
        Self::new(EventType::Warning, regarding, reason)
    }

    /// The text for operators.
    pub fn note(self, note: &str) -> Self {
        Self { note: cut(note, LONGEST_NOTE), ..self }
    }

    /// What the controller did or tried, in `UpperCamelCase`. Without it, the reason stands there too: a server demands one.
    pub fn action(mut self, action: &str) -> Self {
        if !action.is_empty() {
            self.key.action = cut(action, LONGEST_WORD);
        }
        self
    }

    /// Another object that takes part, such as one that was created.
    pub fn related(mut self, related: &ObjectReference) -> Self {
        self.key.related = Some(related.in_any_state());
        self
    }

    fn new(r#type: EventType, regarding: ObjectReference, reason: &str) -> Self {
        let reason = cut(if reason.is_empty() { "Unknown" } else { reason }, LONGEST_WORD);
        let action = reason.clone();
        let key = Key { r#type, reason, action, regarding: regarding.in_any_state(), related: None };
        Self { key, regarding, note: String::new() }
    }
}

/// The limits of `ValidateEventCreate` (kube-apiserver), in bytes.
const LONGEST_NOTE: usize = 1024;
const LONGEST_WORD: usize = 128;

/// The beginning of a text that is too long.
fn cut(text: &str, most: usize) -> String {
    const MORE: char = '…';
    if text.len() <= most {
        return text.into();
    }
    let ends = text.char_indices().map(|(at, _)| at);
    let end = ends.take_while(|at| *at <= most - MORE.len_utf8()).last();
    let mut cut: String = text[..end.unwrap_or_default()].into();
    cut.push(MORE);
    cut
}

/// The object that an [`Occurrence`] is about (core/v1 `ObjectReference`).
///
/// ```
/// use listwatch_core::recorder::ObjectReference;
///
/// let deployment = ObjectReference::new("apps/v1", "Deployment", Some("web"), "frontend").uid("u-1");
/// assert_eq!(deployment.to_string(), "Deployment web/frontend");
/// let node = ObjectReference::new("v1", "Node", None, "a").field_path("spec.taints");
/// assert_eq!(node.to_string(), "Node a");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct ObjectReference {
    api_version: String,
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    field_path: String,
}

impl ObjectReference {
    /// An object by its kind and name; `None` is the namespace of an object that belongs to the cluster.
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        Self {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: namespace.unwrap_or_default().into(),
            name: name.into(),
            uid: String::new(),
            resource_version: String::new(),
            field_path: String::new(),
        }
    }

    /// An object of a known kind, by its metadata.
    pub fn of<T: Kind>(meta: &Meta) -> Self {
        let reference = Self::new(T::API_VERSION, T::KIND, meta.namespace(), meta.name());
        let (uid, mut buffer) = (meta.uid(), [0; Uid::CANONICAL_LEN]);
        let uid = uid.as_ref().map_or("", |uid| uid.encode(&mut buffer));
        reference.uid(uid).resource_version(meta.resource_version())
    }

    /// Names one life of the object. `kubectl describe` shows the Events of that life alone.
    pub fn uid(self, uid: &str) -> Self {
        Self { uid: uid.into(), ..self }
    }

    /// Names one state of the object.
    pub fn resource_version(self, version: &str) -> Self {
        Self { resource_version: version.into(), ..self }
    }

    /// Names a part of the object, such as `spec.containers{web}`.
    pub fn field_path(self, path: &str) -> Self {
        Self { field_path: path.into(), ..self }
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        Some(self.namespace.as_str()).filter(|namespace| !namespace.is_empty())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The object, in whatever state.
    pub(super) fn in_any_state(&self) -> Self {
        Self { resource_version: String::new(), ..self.clone() }
    }

    /// The object, whatever part and state.
    pub(super) fn whole(&self) -> Self {
        Self { field_path: String::new(), ..self.in_any_state() }
    }
}

/// The kind, and `namespace/name`. The text may come from a server.
impl fmt::Display for ObjectReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        self.namespace().map_or(Ok(()), |namespace| write!(f, "{namespace}/"))?;
        f.write_str(&self.name)
    }
}
