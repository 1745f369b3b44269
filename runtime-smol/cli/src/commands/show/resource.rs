//! The names of resources.

use crate::resource;
use listwatch::file::RecordedResource;
use listwatch::file::kinds::guessed_plural;

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

/// The name of a kind, or what kubectl means by it, such as by `crd`.
pub(super) fn meant(name: &str) -> String {
    let resource = resource::resource_of(name);
    let collection = resource.as_ref().and_then(|resource| resource.path().splitn(3, '/').nth(2));
    collection.filter(|collection| !is_named(collection, name)).map_or_else(|| name.to_owned(), resource_of)
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
    fn a_resource_is_named_by_its_plural_its_kind_or_its_whole_name() {
        for name in
            ["deployments", "Deployment", "deployment", "deployments.apps", "apps/v1/deployments", "Deployments"]
        {
            assert!(is_named("apps/v1/deployments", name), "{name}");
        }
        assert_eq!([meant("deploy"), meant("Pods"), meant("pods")], ["deployments.apps", "Pods", "pods"]);
        for name in ["deploy", "deployments.other.io", "v1/deployments", "pods", ""] {
            assert!(!is_named("apps/v1/deployments", name), "{name}");
        }
    }
}
