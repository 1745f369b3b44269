//! The collections of the API in paths.

/// The parts of a path of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CollectionPath<'p> {
    /// `None` for the core group.
    pub(crate) group: Option<&'p str>,
    pub(crate) version: &'p str,
    pub(crate) namespace: Option<&'p str>,
    pub(crate) plural: &'p str,
}

impl<'p> CollectionPath<'p> {
    /// Reads `…/api/VERSION/PLURAL`, `…/apis/GROUP/VERSION/PLURAL`, or the same within `namespaces/NAME`; `None` for any
    /// other path, such as that of a single object or of discovery.
    pub(crate) fn parse(path: &'p str) -> Option<Self> {
        let mut segments = path.split('/').skip_while(|segment| !matches!(*segment, "api" | "apis"));
        let group = if segments.next()? == "apis" { Some(segments.next()?) } else { None };
        let version = segments.next()?;
        let rest: Vec<&str> = segments.filter(|segment| !segment.is_empty()).collect();
        let (namespace, plural) = match rest[..] {
            [plural] => (None, plural),
            ["namespaces", namespace, plural] => (Some(namespace), plural),
            _ => return None,
        };
        Some(Self { group, version, namespace, plural })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_collection(path: &str) -> bool {
        CollectionPath::parse(path).is_some()
    }

    #[test]
    fn a_path_is_taken_apart_whatever_stands_before_it() {
        let parts = |path| CollectionPath::parse(path).map(|it| (it.group, it.version, it.namespace, it.plural));
        assert_eq!(parts("/api/v1/namespaces"), Some((None, "v1", None, "namespaces")));
        assert_eq!(parts("/x/api/v1/namespaces/web/pods/"), Some((None, "v1", Some("web"), "pods")));
        assert_eq!(parts("/apis/apps/v1/deployments"), Some((Some("apps"), "v1", None, "deployments")));
    }

    #[test]
    fn a_list_is_told_from_discovery_and_single_objects_by_its_path() {
        for path in
            ["/api/v1/pods", "/api/v1/namespaces", "/apis/apps/v1/namespaces/web/deployments", "/x/api/v1/pods/"]
        {
            assert!(is_collection(path), "{path}");
        }
        for path in ["/api", "/api/v1", "/apis/apps/v1", "/version", "/api/v1/namespaces/web", "/api/v1/nodes/a"] {
            assert!(!is_collection(path), "{path}");
        }
        assert!(!is_collection("/api/v1/namespaces/web/pods/a"));
        assert!(!is_collection("/api/v1/namespaces/web/pods/a/log"));
    }
}
