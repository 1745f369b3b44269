use crate::object::{Kind, Meta, Uid};
use alloc::string::String;
use core::fmt;
use serde::Serialize;

/// The object that an [`Occurrence`](super::Occurrence) is about (core/v1 `ObjectReference`).
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
    #[must_use]
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
    #[must_use]
    pub fn of<T: Kind>(meta: &Meta) -> Self {
        let reference = Self::new(T::API_VERSION, T::KIND, meta.namespace(), meta.name());
        let (uid, mut buffer) = (meta.uid(), [0; Uid::CANONICAL_LEN]);
        let uid = uid.as_ref().map_or("", |uid| uid.encode(&mut buffer));
        reference.uid(uid).resource_version(meta.resource_version())
    }

    /// Names one life of the object. `kubectl describe` shows the Events of that life alone.
    #[must_use]
    pub fn uid(self, uid: &str) -> Self {
        Self { uid: uid.into(), ..self }
    }

    /// Names one state of the object.
    #[must_use]
    pub fn resource_version(self, version: &str) -> Self {
        Self { resource_version: version.into(), ..self }
    }

    /// Names a part of the object, such as `spec.containers{web}`.
    #[must_use]
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
