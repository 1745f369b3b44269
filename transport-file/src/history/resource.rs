use std::fmt::Write;

/// A resource that a recording has lists or watches of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordedResource {
    /// The group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The plural, which paths contain.
    pub plural: String,
    /// The kind of its objects. If the recording has metadata alone, or no object, it is guessed from the plural.
    pub kind: String,
    /// Whether its objects have a namespace.
    pub namespaced: bool,
    /// Whether the recording has the metadata of its objects alone.
    pub metadata_only: bool,
}

impl RecordedResource {
    /// The group and the version, as objects name them, such as `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of the collection of all objects, such as `/apis/apps/v1/deployments`.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::from(if self.group.is_empty() { "/api" } else { "/apis" });
        let _infallible = write!(path, "/{}/{}", self.api_version(), self.plural);
        path
    }
}

/// The collection that a path names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Collection {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) namespace: Option<String>,
}

impl Collection {
    /// Reads `…/api/VERSION/PLURAL`, `…/apis/GROUP/VERSION/PLURAL`, or the same within `namespaces/NAME`.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let mut segments = path.split('/').skip_while(|segment| !matches!(*segment, "api" | "apis"));
        let group = if segments.next()? == "apis" { segments.next()? } else { "" };
        let version = segments.next()?;
        let rest: Vec<&str> = segments.filter(|segment| !segment.is_empty()).collect();
        let (namespace, plural) = match rest[..] {
            [plural] => (None, plural),
            ["namespaces", namespace, plural] => (Some(namespace.to_owned()), plural),
            _ => return None,
        };
        Some(Self { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned(), namespace })
    }

    /// The collection of the objects of a kind, as kubectl guesses it.
    pub(super) fn of_kind(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.to_owned(), version: version.to_owned(), plural: plural_of(kind), namespace: None }
    }

    /// The resource of this collection; with the kind and the scope of its objects, if one is known.
    pub(super) fn resource(&self, known: Option<(String, bool)>, metadata_only: bool) -> RecordedResource {
        let (kind, namespaced) = match known {
            Some((kind, namespaced)) if !metadata_only => (kind, namespaced),
            known => {
                let guessed = self.namespace.is_some() || !is_cluster_scoped(&self.plural);
                (kind_of(&self.plural), known.map_or(guessed, |(_, namespaced)| namespaced))
            }
        };
        let Self { group, version, plural, .. } = self.clone();
        RecordedResource { group, version, plural, kind, namespaced, metadata_only }
    }

    pub(super) fn is_of(&self, resource: &RecordedResource) -> bool {
        self.group == resource.group && self.version == resource.version && self.plural == resource.plural
    }
}

/// The plural of a kind, as `UnsafeGuessKindToResource` of apimachinery guesses it.
fn plural_of(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    match singular.as_str() {
        "endpoints" => singular,
        _ if singular.ends_with('s') => singular + "es",
        _ => match singular.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => singular + "s",
        },
    }
}

/// The kind of a plural, where no object tells it.
fn kind_of(plural: &str) -> String {
    let singular = match plural {
        "endpoints" => "Endpoints".into(),
        _ if plural.ends_with("sses") => plural[..plural.len() - 2].into(),
        _ => match (plural.strip_suffix("ies"), plural.strip_suffix('s')) {
            (Some(stem), _) => format!("{stem}y"),
            (None, Some(stem)) => stem.to_owned(),
            (None, None) => plural.to_owned(),
        },
    };
    let known = KINDS.iter().find(|kind| kind.eq_ignore_ascii_case(&singular));
    known.map_or_else(|| capitalized(&singular), |kind| (*kind).to_owned())
}

/// Kinds of more than one word.
const KINDS: [&str; 13] = [
    "ConfigMap",
    "CronJob",
    "CustomResourceDefinition",
    "DaemonSet",
    "EndpointSlice",
    "LimitRange",
    "NetworkPolicy",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ReplicaSet",
    "ServiceAccount",
    "StatefulSet",
    "StorageClass",
];

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether the objects of a built-in plural have no namespace.
fn is_cluster_scoped(plural: &str) -> bool {
    matches!(
        plural,
        "namespaces"
            | "nodes"
            | "persistentvolumes"
            | "clusterroles"
            | "clusterrolebindings"
            | "customresourcedefinitions"
            | "storageclasses"
            | "priorityclasses"
            | "ingressclasses"
            | "runtimeclasses"
            | "csidrivers"
            | "csinodes"
            | "volumeattachments"
            | "apiservices"
            | "certificatesigningrequests"
            | "mutatingwebhookconfigurations"
            | "validatingwebhookconfigurations"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plural_and_its_kind_are_guessed_from_each_other() {
        for (kind, plural) in [
            ("Pod", "pods"),
            ("Endpoints", "endpoints"),
            ("NetworkPolicy", "networkpolicies"),
            ("IngressClass", "ingressclasses"),
            ("ConfigMap", "configmaps"),
            ("Foo", "foos"),
        ] {
            assert_eq!(plural_of(kind), plural);
            assert_eq!(kind_of(plural).to_ascii_lowercase(), kind.to_ascii_lowercase());
        }
        assert_eq!(kind_of("persistentvolumeclaims"), "PersistentVolumeClaim");
    }

    #[test]
    fn a_collection_is_read_from_its_path_whatever_stands_before_it() {
        let parts = |path: &str| Collection::parse(path).map(|it| (it.group, it.version, it.plural, it.namespace));
        let named = |group: &str, plural: &str, namespace: Option<&str>| {
            Some((group.to_owned(), "v1".to_owned(), plural.to_owned(), namespace.map(str::to_owned)))
        };
        assert_eq!(parts("/api/v1/pods"), named("", "pods", None));
        assert_eq!(parts("/k8s/c/api/v1/namespaces/web/pods"), named("", "pods", Some("web")));
        assert_eq!(parts("/apis/apps/v1/deployments"), named("apps", "deployments", None));
        assert_eq!(parts("/api/v1/namespaces/web/pods/a"), None);
        assert_eq!(parts("/version"), None);
    }
}
