//! The collections of the API in paths.

/// The collection that a path names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Collection {
    /// Such as `apps/v1/deployments`.
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
}

impl Collection {
    /// Reads `…/api/VERSION/PLURAL`, `…/apis/GROUP/VERSION/PLURAL`, or the same within `namespaces/NAME`; `None` for any
    /// other path, such as that of a single object or of discovery.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut segments = path.split('/').skip_while(|segment| !matches!(*segment, "api" | "apis"));
        let group = if segments.next()? == "apis" { format!("{}/", segments.next()?) } else { String::new() };
        let version = segments.next()?;
        let rest: Vec<&str> = segments.filter(|segment| !segment.is_empty()).collect();
        let (namespace, plural) = match rest[..] {
            [plural] => (None, plural),
            ["namespaces", namespace, plural] => (Some(namespace.to_owned()), plural),
            _ => return None,
        };
        Some(Self { name: format!("{group}{version}/{plural}"), namespace })
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
}
