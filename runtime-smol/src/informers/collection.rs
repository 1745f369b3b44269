//! The parts of an API path.

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
    use super::*;

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
