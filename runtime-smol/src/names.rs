//! The names of collections and of streams, as paths of the API and as people have them.

use core::fmt;
use listwatch_core::Resource;
use listwatch_core::reflector::{FailureClass, Operation};
use std::sync::Arc;

/// The name of one list-and-watch of an informer: its resource, with the namespace and the selectors.
///
/// [`Display`](fmt::Display) writes it for people: `deployments.apps in namespace web, with labels app=web`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct StreamName(Arc<Resource>);

impl StreamName {
    pub(crate) fn new(resource: Resource) -> Self {
        Self(Arc::new(resource))
    }

    /// The collection that is listed and watched, with its namespace and selectors.
    pub fn resource(&self) -> &Resource {
        &self.0
    }

    /// The namespace; `None` where the stream has the objects of all namespaces, or the resource has none.
    pub fn namespace(&self) -> Option<&str> {
        self.parts().namespace
    }

    /// The command by which an operator asks whether the RBAC rules allow `operation` on this stream.
    pub fn access_check(&self, operation: Operation) -> String {
        let verb = match operation {
            Operation::List | Operation::Page | Operation::Resume => "list",
            Operation::WatchList | Operation::Watch => "watch",
        };
        let name = self.object_name().map(|name| format!("/{name}")).unwrap_or_default();
        let scope = self.namespace().map_or_else(|| "-A".to_owned(), |namespace| format!("-n {namespace}"));
        format!("kubectl auth can-i {verb} {}{name} {scope}", self.parts().kubectl_name())
    }

    /// What an operator can do about a failure of this class, where there is a command to begin with.
    pub(crate) fn help(&self, class: FailureClass, operation: Operation) -> Option<String> {
        match class {
            FailureClass::Forbidden => Some(format!("check with `{}`", self.access_check(operation))),
            FailureClass::NotFound => Some(self.parts().missing_help()),
            _ => None,
        }
    }

    /// The one object that the field selector names.
    fn object_name(&self) -> Option<&str> {
        let fields = self.0.field_selector()?;
        fields.split(',').find_map(|field| field.strip_prefix("metadata.name="))
    }

    /// The collection, also behind a proxy. A path that is not of the API has no more than its last name.
    fn parts(&self) -> Collection<'_> {
        let path = self.0.path();
        let begin = [path.find("/api/"), path.find("/apis/")].into_iter().flatten().min().unwrap_or_default();
        let plural = path.rsplit('/').next().filter(|plural| !plural.is_empty()).unwrap_or(path);
        let unknown = Collection { group: "", version: "", namespace: None, plural, name: None, subresource: None };
        Collection::of(&path[begin..]).filter(|collection| collection.name.is_none()).unwrap_or(unknown)
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts();
        f.write_str(&parts.kubectl_name())?;
        if let Some(namespace) = parts.namespace {
            write!(f, " in namespace {namespace}")?;
        }
        if let Some(labels) = self.0.label_selector() {
            write!(f, ", with labels {labels}")?;
        }
        self.0.field_selector().map_or(Ok(()), |fields| write!(f, ", with fields {fields}"))
    }
}

impl fmt::Debug for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A collection, and the name of the object in it that a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collection<'p> {
    /// Empty for the core group.
    pub(crate) group: &'p str,
    version: &'p str,
    pub(crate) namespace: Option<&'p str>,
    plural: &'p str,
    pub(crate) name: Option<&'p str>,
    /// Such as `status`, in a path that leads to a part of an object.
    pub(crate) subresource: Option<&'p str>,
}

impl<'p> Collection<'p> {
    /// Reads a path such as `/apis/apps/v1/namespaces/web/deployments/a/scale`; `None` if it is not of the API.
    pub(crate) fn of(path: &'p str) -> Option<Self> {
        let mut segments = path.strip_prefix('/')?.split('/');
        let group = match segments.next()? {
            "api" => "",
            "apis" => segments.next()?,
            _ => return None,
        };
        let version = segments.next()?;
        let mut rest = [(); 5].map(|()| segments.next());
        let namespace = match rest {
            // The subresources of a namespace.
            [Some("namespaces"), _, Some("status" | "finalize"), ..] => None,
            [Some("namespaces"), namespace, Some(plural), name, part] => {
                rest = [Some(plural), name, part, None, None];
                namespace
            }
            _ => None,
        };
        Some(Self { group, version, namespace, plural: rest[0]?, name: rest[1], subresource: rest[2] })
    }

    /// The group and version, such as `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        let Self { group, version, .. } = self;
        if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") }
    }

    /// As `kubectl` has it: `deployments.apps`.
    fn kubectl_name(&self) -> String {
        let Self { group, plural, .. } = self;
        if group.is_empty() { (*plural).to_owned() } else { format!("{plural}.{group}") }
    }

    /// What an operator can do if the server does not know the collection. Kubernetes' own groups need no CRD.
    fn missing_help(&self) -> String {
        let Self { group, version, plural, .. } = self;
        match *group {
            "" if version.is_empty() => "check with `kubectl api-resources`".to_owned(),
            "" => {
                format!("is \"{version}\" the version, and \"{plural}\" the plural? check with `kubectl api-resources`")
            }
            group if !group.contains('.') || group.ends_with(".k8s.io") => format!(
                "is \"{}\" the version, and \"{plural}\" the plural? \
                 check with `kubectl api-resources --api-group={group}`",
                self.api_version()
            ),
            group => format!(
                "is the CRD installed, and are version and plural right? \
                 check with `kubectl api-resources --api-group={group}`"
            ),
        }
    }

    /// What an operator can do if the server has no such resource.
    pub(crate) fn help(&self) -> String {
        let Self { plural, group, .. } = self;
        let of_group = if group.is_empty() { String::new() } else { format!(" --api-group={group}") };
        let resources = format!("`kubectl api-resources{of_group}`");
        format!("is `{plural}` a plural of {}, and is it namespaced? check with {resources}", self.api_version())
    }

    /// Whether the objects of `other` are among those of this collection. Versions of the API share their objects.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        (self.group, self.plural) == (other.group, other.plural)
            && self.namespace.is_none_or(|namespace| other.namespace == Some(namespace))
    }
}

#[cfg(test)]
mod tests {
    mod stream_name {
        use super::super::*;

        fn name(resource: &str) -> StreamName {
            StreamName::new(resource.parse().unwrap())
        }

        #[test]
        fn a_stream_is_named_as_kubectl_names_its_resource() {
            for (resource, shown, check) in [
                ("v1/pods", "pods", "kubectl auth can-i list pods -A"),
                ("/api/v1/namespaces/a/pods", "pods in namespace a", "kubectl auth can-i list pods -n a"),
                (
                    "/apis/apps/v1/namespaces/a/deployments",
                    "deployments.apps in namespace a",
                    "kubectl auth can-i list deployments.apps -n a",
                ),
                (
                    "/k8s/clusters/c-1/apis/apps/v1/deployments",
                    "deployments.apps",
                    "kubectl auth can-i list deployments.apps -A",
                ),
                ("v1/namespaces", "namespaces", "kubectl auth can-i list namespaces -A"),
                (
                    "/api/v1/namespaces/a/pods?labelSelector=app%3Dweb&fieldSelector=metadata.name%3Dx",
                    "pods in namespace a, with labels app=web, with fields metadata.name=x",
                    "kubectl auth can-i list pods/x -n a",
                ),
                ("/pods", "pods", "kubectl auth can-i list pods -A"),
            ] {
                let name = name(resource);
                assert_eq!((name.to_string().as_str(), name.access_check(Operation::List).as_str()), (shown, check));
            }
            assert_eq!(name("v1/pods").access_check(Operation::WatchList), "kubectl auth can-i watch pods -A");
        }
    }

    mod collection {
        use super::super::*;

        #[test]
        fn a_collection_that_the_server_does_not_know_needs_a_crd_only_outside_of_the_groups_of_kubernetes() {
            for (path, help) in [
                ("/api/v2/pods", "is \"v2\" the version, and \"pods\" the plural? check with `kubectl api-resources`"),
                (
                    "/apis/apps/v2/deployments",
                    "is \"apps/v2\" the version, and \"deployments\" the plural? \
                     check with `kubectl api-resources --api-group=apps`",
                ),
                (
                    "/apis/networking.k8s.io/v1/ingress",
                    "is \"networking.k8s.io/v1\" the version, and \"ingress\" the plural? \
                     check with `kubectl api-resources --api-group=networking.k8s.io`",
                ),
                (
                    "/apis/example.com/v1/foos",
                    "is the CRD installed, and are version and plural right? \
                     check with `kubectl api-resources --api-group=example.com`",
                ),
            ] {
                assert_eq!(Collection::of(path).unwrap().missing_help(), help);
            }
        }

        #[test]
        fn the_parts_are_those_of_the_path() {
            for (path, parts) in [
                ("/api/v1/namespaces/apis/pods", Some(("", Some("apis"), "pods", None))),
                ("/api/v1/namespaces/web/pods/a/status", Some(("", Some("web"), "pods", Some("a")))),
                ("/api/v1/namespaces/web/status", Some(("", None, "namespaces", Some("web")))),
                ("/api/v1/namespaces/web", Some(("", None, "namespaces", Some("web")))),
                ("/api/v1/namespaces", Some(("", None, "namespaces", None))),
                ("/apis/apps/v1/deployments", Some(("apps", None, "deployments", None))),
                ("/apis/example.com/v1/widgets/a", Some(("example.com", None, "widgets", Some("a")))),
                ("/apis/example.com", None),
                ("/healthz", None),
            ] {
                let found = Collection::of(path).map(|found| (found.group, found.namespace, found.plural, found.name));
                assert_eq!(found, parts, "{path}");
            }
        }

        #[test]
        fn a_subresource_comes_after_the_name() {
            for (path, subresource) in [
                ("/api/v1/namespaces/web/pods/a/status", Some("status")),
                ("/apis/example.com/v1/widgets/a/scale", Some("scale")),
                ("/api/v1/namespaces/web/status", Some("status")),
                ("/api/v1/namespaces/web/pods/a", None),
                ("/api/v1/namespaces/web/pods/status", None),
                ("/api/v1/pods", None),
            ] {
                assert_eq!(Collection::of(path).unwrap().subresource, subresource, "{path}");
            }
        }

        #[test]
        fn the_version_of_the_api_has_its_group() {
            let version = |path| Collection::of(path).map(|collection| collection.api_version());
            assert_eq!(version("/api/v1/pods").as_deref(), Some("v1"));
            assert_eq!(version("/apis/apps/v1/namespaces/web/deployments").as_deref(), Some("apps/v1"));
            assert_eq!(version("/k8s/clusters/c-1/apis/apps/v1/deployments"), None, "of a proxy");
        }

        #[test]
        fn a_collection_covers_its_objects_in_every_version() {
            let covers = |one, other| Collection::of(one).unwrap().covers(&Collection::of(other).unwrap());
            let web = "/apis/apps/v1/namespaces/web/deployments";
            assert!(covers("/apis/apps/v1/deployments", web));
            assert!(covers("/apis/apps/v1beta1/namespaces/web/deployments", web));
            assert!(!covers(web, "/apis/apps/v1/deployments"));
            assert!(!covers(web, "/apis/apps/v1/namespaces/db/deployments"));
            assert!(!covers(web, "/apis/apps/v1/namespaces/web/replicasets"));
            assert!(!covers(web, "/apis/extensions/v1/namespaces/web/deployments"));
        }
    }
}
