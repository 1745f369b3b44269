#[cfg(feature = "alloc")]
use super::percent::PercentEncoded;
#[cfg(feature = "alloc")]
use crate::object::Kind;
use crate::text::SharedText;
#[cfg(feature = "alloc")]
use alloc::{format, string::ToString, vec::Vec};
#[cfg(feature = "alloc")]
use core::fmt;
use core::hash::{Hash, Hasher};

/// A collection that can be listed and watched, with its selectors.
///
/// ```
/// use listwatch_core::Resource;
///
/// let pods = Resource::new("/api/v1/pods").with_label_selector("app=web");
/// assert_eq!(pods, Resource::named("v1/pods")?.with_label_selector("app=web"));
///
/// let deployments = Resource::named("apps/v1/deployments")?.in_namespace("web");
/// assert_eq!(deployments.path(), "/apis/apps/v1/namespaces/web/deployments");
/// # Ok::<(), listwatch_core::request::ParseResourceError>(())
/// ```
///
/// Neither the kind of its objects nor whether managed fields are asked for makes another resource of it.
#[derive(Clone, Debug)]
#[doc(alias("GroupVersionResource", "ListOptions"))]
#[must_use]
pub struct Resource {
    path: SharedText,
    labels: Option<SharedText>,
    fields: Option<SharedText>,
    shards: Option<SharedText>,
    metadata_only: bool,
    as_table: bool,
    unmanaged: bool,
    kind: Option<OfKind>,
}

/// What a [`Kind`] says of its objects.
#[derive(Clone, Copy, Debug)]
struct OfKind {
    name: &'static str,
    is_namespaced: bool,
}

impl Resource {
    /// The collection at a path, with a label selector and a field selector; an empty selector matches all. It takes
    /// constants, so that firmware can have it in a constant.
    ///
    /// ```
    /// use listwatch_core::Resource;
    ///
    /// const PODS: Resource = Resource::constant("/api/v1/pods", "", "spec.nodeName=node-1");
    /// assert_eq!(PODS.to_string(), "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1");
    /// ```
    pub const fn constant(path: &'static str, labels: &'static str, fields: &'static str) -> Self {
        Self {
            path: SharedText::constant(path),
            labels: selector(labels),
            fields: selector(fields),
            shards: None,
            metadata_only: false,
            as_table: false,
            unmanaged: false,
            kind: None,
        }
    }

    /// Requests only the metadata of each object (`PartialObjectMetadata`), if the server supports it.
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    /// Requests each object in a row of a `meta.k8s.io/v1` Table, with the cells that kubectl prints, if the server
    /// supports it. [`Tables`](crate::decode::Tables) decodes the answer. With [`metadata_only`](Self::metadata_only),
    /// a row has the metadata of its object; otherwise it has the whole object.
    pub fn as_table(mut self) -> Self {
        self.as_table = true;
        self
    }

    /// Requests each object without `metadata.managedFields`, often half of its bytes, if the server supports it; or with
    /// them, as a new resource does. The parameter `drop` of `Accept` is alpha in Kubernetes 1.38 (KEP-5958): other servers
    /// ignore it. An informer asks for what its decoder [keeps](crate::decode::Decode::keeps_managed_fields), whatever its
    /// resource says.
    pub fn without_managed_fields(mut self, without: bool) -> Self {
        self.unmanaged = without;
        self
    }

    /// The path without a query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The kind of the objects, such as `Deployment`, if the resource is [of a kind](Self::of).
    pub fn kind(&self) -> Option<&'static str> {
        self.kind.map(|kind| kind.name)
    }

    /// Whether the objects have a namespace, if the resource is [of a kind](Self::of).
    pub fn is_namespaced(&self) -> Option<bool> {
        self.kind.map(|kind| kind.is_namespaced)
    }

    /// The label selector.
    pub fn label_selector(&self) -> Option<&str> {
        self.labels.as_deref()
    }

    /// The field selector.
    pub fn field_selector(&self) -> Option<&str> {
        self.fields.as_deref()
    }

    /// The shard selector.
    pub fn shard_selector(&self) -> Option<&str> {
        self.shards.as_deref()
    }

    /// Whether only metadata is requested.
    pub fn is_metadata_only(&self) -> bool {
        self.metadata_only
    }

    /// Whether a Table is requested.
    pub fn is_table(&self) -> bool {
        self.as_table
    }

    /// Whether objects are requested without `metadata.managedFields`.
    pub fn is_without_managed_fields(&self) -> bool {
        self.unmanaged
    }
}

#[cfg(feature = "alloc")]
impl Resource {
    /// The collection at `path`, such as `/api/v1/pods` or `/apis/apps/v1/namespaces/web/deployments`.
    pub fn new(path: &str) -> Self {
        Self { path: path.into(), ..Self::constant("", "", "") }
    }

    /// The collection of all objects with this name in the API: version and plural, `v1/pods`, with the group before
    /// them where there is one, `apps/v1/deployments`.
    ///
    /// # Errors
    /// If `name` does not have this form.
    pub fn named(name: &str) -> Result<Self, ParseResourceError> {
        let parts: Vec<&str> = name.split('/').collect();
        match parts[..] {
            [version, plural] if is_version(version) && is_name(plural) => Ok(Self::new(&format!("/api/{name}"))),
            [group, version, plural] if is_name(group) && is_version(version) && is_name(plural) => {
                Ok(Self::new(&format!("/apis/{name}")))
            }
            _ => Err(ParseResourceError(name.into())),
        }
    }

    /// The collection of all objects of a kind, whose [name](Self::kind) it knows.
    ///
    /// ```
    /// # struct Deployment;
    /// # listwatch_core::kind!(Deployment, "apps/v1", "deployments");
    /// use listwatch_core::Resource;
    ///
    /// assert_eq!(Resource::of::<Deployment>().path(), "/apis/apps/v1/deployments");
    /// ```
    pub fn of<K: Kind>() -> Self {
        let root = if K::API_VERSION.contains('/') { "/apis" } else { "/api" };
        let kind = OfKind { name: K::KIND, is_namespaced: K::NAMESPACED };
        Self { kind: Some(kind), ..Self::new(&format!("{root}/{}/{}", K::API_VERSION, K::PLURAL)) }
    }

    /// Selects the objects of one namespace; an empty name selects those of all namespaces. It replaces a namespace
    /// that the path already has. Special characters are escaped, so an invalid name cannot change the path.
    ///
    /// If the resource is cluster-scoped, such as `v1/nodes`, the server responds with 404. Discovery returns the scope
    /// (`ApiResource::namespaced`).
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        if let Some((version, plural)) = without_namespace(&self.path) {
            // A segment of dots would change the path.
            let namespace = match namespace.contains(|c| c != '.') {
                true => PercentEncoded(namespace).to_string(),
                false => namespace.replace('.', "%2E"),
            };
            self.path = match &*namespace {
                "" => format!("{version}/{plural}"),
                namespace => format!("{version}/namespaces/{namespace}/{plural}"),
            }
            .into();
        }
        self
    }

    /// Selects the objects that match the label selector; an empty selector matches all.
    pub fn with_label_selector(mut self, selector: &str) -> Self {
        self.labels = Some(selector.into()).filter(|_| !selector.is_empty());
        self
    }

    /// Selects the objects that match the field selector; an empty selector matches all.
    pub fn with_field_selector(mut self, selector: &str) -> Self {
        self.fields = Some(selector.into()).filter(|_| !selector.is_empty());
        self
    }

    /// Selects objects by the hash of their uid or namespace, as in `shardRange(object.metadata.uid, '0x…', '0x…')`; an empty
    /// selector selects all. The parameter `shardSelector` is alpha in Kubernetes 1.36: other servers ignore it, and send all.
    pub fn with_shard_selector(mut self, selector: &str) -> Self {
        self.shards = Some(selector.into()).filter(|_| !selector.is_empty());
        self
    }
}

impl Resource {
    /// What makes two resources the same.
    fn parts(&self) -> (&str, [Option<&str>; 3], [bool; 2]) {
        let Self { path, labels, fields, shards, metadata_only, as_table, unmanaged: _, kind: _ } = self;
        (path, [labels, fields, shards].map(Option::as_deref), [*metadata_only, *as_table])
    }
}

impl PartialEq for Resource {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Resource {}

impl Hash for Resource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// The selector of a text.
const fn selector(text: &'static str) -> Option<SharedText> {
    if text.is_empty() { None } else { Some(SharedText::constant(text)) }
}

/// The text is not the name of a resource.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseResourceError(SharedText);

#[cfg(feature = "alloc")]
impl fmt::Display for ParseResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not the name of a resource; give version and plural, such as v1/pods or apps/v1/deployments",
            self.0
        )
    }
}

#[cfg(feature = "alloc")]
impl core::error::Error for ParseResourceError {}

/// The version's path and the plural of a collection, without the namespace that may stand between them.
#[cfg(feature = "alloc")]
fn without_namespace(path: &str) -> Option<(&str, &str)> {
    let (before, plural) = path.rsplit_once('/')?;
    let mut parts = before.rsplitn(3, '/');
    let version = match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some("namespaces"), version) => version,
        _ => None,
    };
    let version = version.filter(|path| path.rsplit('/').next().is_some_and(is_version));
    Some((version.unwrap_or(before), plural))
}

/// Whether `text` is a version, such as `v1` or `v2beta1`. This distinguishes `apps/v1` from `v1/pods`.
#[cfg(feature = "alloc")]
fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or_default();
    number.starts_with(|first: char| first.is_ascii_digit()) && is_name(text)
}

/// Whether `text` needs no escapes in a path: it has only characters that Kubernetes allows in names.
#[cfg(feature = "alloc")]
fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    !text.is_empty() && text.chars().all(allowed)
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_named_by_group_version_and_plural() {
        let path = |name| Resource::named(name).unwrap().path().to_string();
        assert_eq!(path("v1/pods"), "/api/v1/pods");
        assert_eq!(path("apps/v1/deployments"), "/apis/apps/v1/deployments");
        assert_eq!(path("metrics.k8s.io/v1beta1/pods"), "/apis/metrics.k8s.io/v1beta1/pods");
        assert_eq!(Resource::named("v1/pods").unwrap().in_namespace("").path(), "/api/v1/pods");
        assert_eq!(Resource::named("v1/pods").unwrap().in_namespace("a").path(), "/api/v1/namespaces/a/pods");
    }

    struct Node;

    crate::kind!(cluster Node, "v1", "nodes");

    #[test]
    fn a_resource_of_a_kind_is_the_one_of_its_name_and_knows_the_kind() {
        let (of_kind, named) = (Resource::of::<Node>(), Resource::named("v1/nodes").unwrap());
        assert_eq!(of_kind, named);
        assert_eq!((of_kind.kind(), of_kind.is_namespaced()), (Some("Node"), Some(false)));
        assert_eq!((named.kind(), named.is_namespaced()), (None, None));
        assert_eq!(of_kind.with_label_selector("a=b").in_namespace("x").kind(), Some("Node"));
    }

    #[test]
    fn a_namespace_cannot_lead_to_another_resource() {
        let path = |namespace| Resource::named("v1/pods").unwrap().in_namespace(namespace).path().to_string();
        assert_eq!(path("a/secrets?x=/"), "/api/v1/namespaces/a%2Fsecrets%3Fx%3D%2F/pods");
        assert_eq!(path(".."), "/api/v1/namespaces/%2E%2E/pods");
    }

    #[test]
    fn a_second_namespace_takes_the_place_of_the_first() {
        let twice = Resource::named("v1/pods").unwrap().in_namespace("a").in_namespace("b");
        assert_eq!(twice.path(), "/api/v1/namespaces/b/pods");
        assert_eq!(twice.in_namespace("").path(), "/api/v1/pods", "an empty one is all of them");
        let path = |path: &str| Resource::new(path).in_namespace("b").path().to_string();
        assert_eq!(path("/api/v1/namespaces/a/pods"), "/api/v1/namespaces/b/pods");
        assert_eq!(path("/apis/apps/v1/namespaces/a/deployments"), "/apis/apps/v1/namespaces/b/deployments");
        assert_eq!(path("/k8s/clusters/c-1/api/v1/namespaces/a/pods"), "/k8s/clusters/c-1/api/v1/namespaces/b/pods");
    }

    #[test]
    fn what_only_looks_like_a_namespace_stays() {
        let path = |path: &str| Resource::new(path).in_namespace("b").path().to_string();
        assert_eq!(path("/api/v1/namespaces"), "/api/v1/namespaces/b/namespaces");
        assert_eq!(path("/apis/x/v1/widgets"), "/apis/x/v1/namespaces/b/widgets");
        assert_eq!(path("/namespaces/x/api/v1/pods"), "/namespaces/x/api/v1/namespaces/b/pods", "a proxy's path");
        assert_eq!(path("pods"), "pods");
    }

    /// A server answers 404: better than all objects, where one namespace was asked for.
    #[test]
    fn a_cluster_scoped_resource_in_a_namespace_is_not_all_of_it() {
        for (name, path) in
            [("v1/nodes", "/api/v1/namespaces/a/nodes"), ("v1/namespaces", "/api/v1/namespaces/a/namespaces")]
        {
            let resource = Resource::named(name).unwrap();
            assert_eq!(resource.clone().in_namespace("a").path(), path);
            assert_eq!(resource.clone().in_namespace("b").in_namespace("a").path(), path);
            assert_eq!(resource.clone().in_namespace("a").in_namespace(""), resource);
        }
    }

    #[test]
    fn what_is_no_name_of_a_resource_is_refused_with_advice() {
        for name in [
            "",
            "pods",
            "v1",
            "v1/",
            "/pods",
            "apps/deployments",
            "v1/Pods",
            "v1/pods/x",
            "a/v1/b/c",
            "v1/p ds",
            "v1/../x",
        ] {
            let error = Resource::named(name).unwrap_err().to_string();
            assert!(error.contains(&format!("{name:?}")) && error.contains("v1/pods"), "{error}");
        }
    }
}
