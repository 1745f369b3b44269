//! The names of kinds, as far as they can be told without a server.

/// The groups of Kubernetes that have a dot, also those of which a server has to be told to serve a version.
const DOTTED_GROUPS: [&str; 19] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "imagepolicy.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// The group of a version; empty for the core group.
#[must_use]
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Where a server has the objects of a version.
pub(crate) fn root_of(api_version: &str) -> &'static str {
    if api_version.contains('/') { "/apis" } else { "/api" }
}

/// Whether all kinds of a version are known, because its group is Kubernetes' own. No custom resource has a group without
/// a dot.
#[must_use]
pub fn is_built_in(api_version: &str) -> bool {
    let group = group_of(api_version);
    !group.contains('.') || DOTTED_GROUPS.contains(&group)
}

/// The plural of a kind, as kubectl guesses it (apimachinery `meta.UnsafeGuessKindToResource`). It is right for each kind
/// of Kubernetes.
#[must_use]
pub fn guessed_plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    if singular == "endpoints" {
        return singular;
    }
    match singular.as_bytes().last() {
        Some(b's') => format!("{singular}es"),
        Some(b'y') => format!("{}ies", &singular[..singular.len() - 1]),
        _ => format!("{singular}s"),
    }
}

/// Whether an object of this version and kind is certainly none of a collection. In one group that is not Kubernetes' own, a
/// plural tells no kind with certainty.
pub(crate) fn is_foreign(collection: &str, api_version: &str, kind: &str) -> bool {
    let Some((version, plural)) = collection.rsplit_once('/') else { return false };
    if api_version.is_empty() {
        return false;
    }
    // Groups of Kubernetes share some kinds, such as the Event.
    if is_built_in(version) && is_built_in(api_version) {
        return guessed_plural(kind) != plural;
    }
    group_of(version) != group_of(api_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plural_is_guessed_as_kubectl_does() {
        for (kind, plural) in
            [("Foo", "foos"), ("Policy", "policies"), ("IngressClass", "ingressclasses"), ("Endpoints", "endpoints")]
        {
            assert_eq!(guessed_plural(kind), plural);
        }
    }

    #[test]
    fn an_object_is_of_no_collection_of_another_group_or_another_known_kind() {
        for (collection, version, kind, is_excluded) in [
            ("demo.io/v1/shares", "v1", "ConfigMap", true),
            ("v1/secrets", "v1", "ConfigMap", true),
            ("v1/secrets", "demo.io/v1", "Secret", true),
            ("demo.io/v1/shares", "other.io/v1", "Share", true),
            ("networking.k8s.io/v1/ingresses", "networking.k8s.io/v1", "NetworkPolicy", true),
            ("v1/configmaps", "v1", "ConfigMap", false),
            ("autoscaling/v1/horizontalpodautoscalers", "autoscaling/v2", "HorizontalPodAutoscaler", false),
            ("events.k8s.io/v1/events", "v1", "Event", false),
            ("metrics.k8s.io/v1beta1/pods", "metrics.k8s.io/v1beta1", "PodMetrics", false),
            ("demo.io/v1/oxen", "demo.io/v1", "Ox", false),
            ("demo.io/v2/shares", "demo.io/v1", "Share", false),
            ("v1/secrets", "", "ConfigMap", false),
        ] {
            assert_eq!(is_foreign(collection, version, kind), is_excluded, "{collection} {version} {kind}");
        }
    }
}
