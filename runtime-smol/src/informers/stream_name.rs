//! Which resource and which namespace a stream follows.

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
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.0
    }

    /// The namespace; `None` where the stream has the objects of all namespaces, or the resource has none.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.parts().namespace
    }

    /// The command by which an operator asks whether the RBAC rules allow `operation` on this stream.
    #[must_use]
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
        match (class, self.parts().group) {
            (FailureClass::Forbidden, _) => Some(format!("check with `{}`", self.access_check(operation))),
            (FailureClass::NotFound, "") => Some("check with `kubectl api-resources`".to_owned()),
            (FailureClass::NotFound, group) => {
                Some(format!("is the CRD installed? check with `kubectl api-resources --api-group={group}`"))
            }
            _ => None,
        }
    }

    /// The one object that the field selector names.
    fn object_name(&self) -> Option<&str> {
        let fields = self.0.field_selector()?;
        fields.split(',').find_map(|field| field.strip_prefix("metadata.name="))
    }

    fn parts(&self) -> Parts<'_> {
        Parts::of(self.0.path())
    }
}

/// What a path of the API is made of.
struct Parts<'a> {
    /// Empty for the core group.
    group: &'a str,
    namespace: Option<&'a str>,
    plural: &'a str,
}

impl<'a> Parts<'a> {
    fn of(path: &'a str) -> Self {
        let (before, plural) = path.rsplit_once('/').unwrap_or_default();
        let (before, namespace) = match before.rsplit_once("/namespaces/") {
            Some((version, namespace)) if !namespace.contains('/') => (version, Some(namespace)),
            _ => (before, None),
        };
        let version = before.rsplit_once("/apis/").map(|(_, version)| version);
        let group = version.and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
        Self { group, namespace, plural: if plural.is_empty() { path } else { plural } }
    }

    /// As `kubectl` has it: `deployments.apps`.
    fn kubectl_name(&self) -> String {
        let Self { group, plural, .. } = self;
        if group.is_empty() { (*plural).to_owned() } else { format!("{plural}.{group}") }
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

#[cfg(test)]
mod tests {
    use super::*;

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
