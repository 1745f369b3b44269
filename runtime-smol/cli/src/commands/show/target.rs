//! The object of a request.

use listwatch::file::RecordedResource;
use listwatch::file::kinds::guessed_plural;
use listwatch::request::percent_decode;

/// What a path of the API names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    /// Such as `apps/v1/deployments`.
    pub(super) collection: String,
    pub(super) namespace: Option<String>,
    /// `None` for the whole collection.
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl Target {
    /// Reads the path of a collection, an object or its subresource; `None` for another path.
    pub(super) fn parse(target: &str) -> Option<Self> {
        let path = target.split('?').next().unwrap_or_default();
        let mut segments =
            path.split('/').filter(|part| !part.is_empty()).skip_while(|part| !matches!(*part, "api" | "apis"));
        let group = if segments.next()? == "apis" { format!("{}/", segments.next()?) } else { String::new() };
        let version = segments.next()?;
        let rest: Vec<String> = segments.map(percent_decode).collect();
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let (namespace, rest) = match rest[..] {
            ["namespaces", _, "status" | "finalize"] | ["namespaces"] | ["namespaces", _] => (None, &rest[..]),
            ["namespaces", namespace, ..] => (Some(namespace), &rest[2..]),
            _ => (None, &rest[..]),
        };
        let (plural, rest) = rest.split_first()?;
        let subresource = rest.get(1..).filter(|rest| !rest.is_empty()).map(|rest| rest.join("/"));
        Some(Self {
            collection: format!("{group}{version}/{plural}"),
            namespace: namespace.map(str::to_owned),
            name: rest.first().map(|name| (*name).to_owned()),
            subresource,
        })
    }

    /// The key of the object, if the path names one.
    pub(super) fn key(&self) -> Option<String> {
        let name = self.name.as_ref()?;
        Some(self.namespace.as_ref().map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}")))
    }
}

/// The resource of a collection as kubectl names it: `deployments.apps`.
pub(super) fn resource_of(collection: &str) -> String {
    match collection.split('/').collect::<Vec<_>>()[..] {
        [group, _version, plural] => format!("{plural}.{group}"),
        [_version, plural] => plural.to_owned(),
        _ => collection.to_owned(),
    }
}

/// Whether a collection is the one that a user names by its plural, its kind or its whole name.
pub(super) fn is_named(collection: &str, name: &str) -> bool {
    let resource = resource_of(collection);
    let plural = resource.split('.').next().unwrap_or_default();
    let name = name.trim_start_matches('/');
    let by_kind = || name.starts_with(|c: char| c.is_ascii_uppercase()) && guessed_plural(name) == plural;
    name == collection
        || name == resource
        || name.eq_ignore_ascii_case(plural)
        || by_kind()
        || (guessed_plural(name) == plural && !name.contains(['.', '/']))
}

/// Whether a recording has the objects of a resource as metadata alone.
pub(super) fn name_of(resource: &RecordedResource) -> String {
    let name = resource_of(&resource.collection);
    if resource.metadata_only { format!("{name} (metadata)") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_collection_an_object_or_a_subresource() {
        let parts = |path: &str| {
            Target::parse(path).map(|it| (it.collection.clone(), it.key(), it.subresource)).unwrap_or_default()
        };
        let named = |collection: &str, key: Option<&str>, subresource: Option<&str>| {
            (collection.to_owned(), key.map(str::to_owned), subresource.map(str::to_owned))
        };
        for (path, expected) in [
            ("/api/v1/nodes/a?x=1", named("v1/nodes", Some("a"), None)),
            ("/apis/apps/v1/namespaces/web/deployments/c%35", named("apps/v1/deployments", Some("web/c5"), None)),
            ("/apis/a.io/v1/namespaces/web/foos/a/status", named("a.io/v1/foos", Some("web/a"), Some("status"))),
            ("/api/v1/namespaces/web/pods", named("v1/pods", None, None)),
            ("/api/v1/namespaces/web", named("v1/namespaces", Some("web"), None)),
            ("/api/v1/namespaces/web/finalize", named("v1/namespaces", Some("web"), Some("finalize"))),
            ("/version", named("", None, None)),
        ] {
            assert_eq!(parts(path), expected, "{path}");
        }
    }

    #[test]
    fn a_resource_is_named_by_its_plural_its_kind_or_its_whole_name() {
        for name in
            ["deployments", "Deployment", "deployment", "deployments.apps", "apps/v1/deployments", "Deployments"]
        {
            assert!(is_named("apps/v1/deployments", name), "{name}");
        }
        for name in ["deploy", "deployments.other.io", "v1/deployments", "pods", ""] {
            assert!(!is_named("apps/v1/deployments", name), "{name}");
        }
    }
}
