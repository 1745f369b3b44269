//! The collections of the API in paths.

use listwatch_core::Key;
use listwatch_core::request::percent_decode;

/// The collection that a path names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Collection {
    /// Such as `apps/v1/deployments`.
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
}

/// The part of the API that a path names: a collection, an object of it, or a subresource.
///
/// ```
/// use listwatch_transport_file::Target;
///
/// let target = Target::parse("/apis/apps/v1/namespaces/web/deployments/a/scale?dryRun=All").unwrap();
/// assert_eq!((target.collection(), target.subresource()), ("apps/v1/deployments", Some("scale")));
/// assert_eq!(target.key().unwrap().as_str(), "web/a");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(crate) collection: Collection,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Collection {
    /// Reads `…/api/VERSION/PLURAL`, `…/apis/GROUP/VERSION/PLURAL`, or the same within `namespaces/NAME`; `None` for any
    /// other path, such as that of a single object or of discovery.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        Target::parse(path).filter(|target| target.name.is_none()).map(|target| target.collection)
    }
}

impl Target {
    /// Reads a path, whose query does not count; `None` for one that names no collection, such as that of discovery.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        let mut segments = path.split('/').skip_while(|segment| !matches!(*segment, "api" | "apis"));
        let group = if segments.next()? == "apis" { format!("{}/", segments.next()?) } else { String::new() };
        let version = segments.next()?;
        let rest: Vec<&str> = segments.filter(|segment| !segment.is_empty()).collect();
        let (namespace, plural, rest) = match &rest[..] {
            ["namespaces", _, "status" | "finalize"] | [_] | [_, _] => (None, rest[0], &rest[1..]),
            ["namespaces", namespace, plural, rest @ ..] => (Some((*namespace).to_owned()), *plural, rest),
            [plural, rest @ ..] => (None, *plural, rest),
            [] => return None,
        };
        let collection = Collection { name: format!("{group}{version}/{plural}"), namespace };
        let mut rest = rest.iter().map(|segment| percent_decode(segment));
        let name = rest.next();
        let subresource = rest.collect::<Vec<_>>().join("/");
        Some(Self { collection, name, subresource: Some(subresource).filter(|part| !part.is_empty()) })
    }

    /// The name of the collection, such as `apps/v1/deployments`.
    #[must_use]
    pub fn collection(&self) -> &str {
        &self.collection.name
    }

    /// The namespace, if the path has one.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.collection.namespace.as_deref()
    }

    /// The key of the object; `None` for a whole collection.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        Some(Key::new(self.namespace(), self.name.as_ref()?))
    }

    /// The subresource, such as `status`.
    #[must_use]
    pub fn subresource(&self) -> Option<&str> {
        self.subresource.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_read_from_its_path_whatever_stands_before_it() {
        let parts = |path: &str| Collection::parse(path).map(|it| (it.name, it.namespace));
        let named = |name: &str, namespace: Option<&str>| Some((name.to_owned(), namespace.map(str::to_owned)));
        assert_eq!(parts("/api/v1/namespaces"), named("v1/namespaces", None));
        assert_eq!(parts("/x/api/v1/namespaces/web/pods/"), named("v1/pods", Some("web")));
        assert_eq!(parts("/k8s/c/api/v1/namespaces/web/pods"), named("v1/pods", Some("web")));
        assert_eq!(parts("/apis/apps/v1/deployments"), named("apps/v1/deployments", None));
    }

    #[test]
    fn a_list_is_told_from_discovery_and_single_objects_by_its_path() {
        let others =
            ["/api", "/api/v1", "/apis/apps/v1", "/version", "/api/v1/namespaces/web", "/api/v1/namespaces/web/pods/a"];
        for path in others.into_iter().chain(["/api/v1/nodes/a", "/api/v1/namespaces/web/pods/a/log"]) {
            assert_eq!(Collection::parse(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_names_an_object_and_a_subresource() {
        let parts = |path: &str| {
            let Target { collection, name, subresource } = Target::parse(path).unwrap();
            [Some(collection.name), collection.namespace, name, subresource].map(Option::unwrap_or_default).join(" ")
        };
        assert_eq!(parts("/api/v1/namespaces/web/pods/a/log"), "v1/pods web a log");
        assert_eq!(parts("/api/v1/namespaces/web/finalize"), "v1/namespaces  web finalize");
        assert_eq!(parts("/api/v1/namespaces/web"), "v1/namespaces  web ");
        assert_eq!(parts("/api/v1/namespaces/web/pods"), "v1/pods web  ");
        assert_eq!(parts("/api/v1/nodes/a?x=1"), "v1/nodes  a ");
        assert_eq!(parts("/apis/apps/v1/namespaces/web/deployments/c%35"), "apps/v1/deployments web c5 ");
        assert_eq!(parts("/apis/a.io/v1/namespaces/web/foos/a/status"), "a.io/v1/foos web a status");
        assert_eq!(parts("/api/v1/namespaces/web/pods/a/proxy/x"), "v1/pods web a proxy/x");
        assert_eq!(Target::parse("/version"), None);
        assert_eq!(
            parts("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"),
            "rbac.authorization.k8s.io/v1/clusterroles  system:node "
        );
    }
}
