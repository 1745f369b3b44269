use super::seen::Seen;
use crate::capture::CollectionPath;
use crate::kinds::{Kinds, ServedKind};
use std::sync::{Arc, LazyLock};

/// A resource that a recording has lists or watches of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedResource {
    /// The kind of its objects. If the recording does not show it, it is guessed from the plural.
    pub kind: Arc<ServedKind>,
    /// Whether the recording has the metadata of its objects alone.
    pub metadata_only: bool,
}

/// What one object tells of its resource.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) kind: String,
    pub(super) namespaced: bool,
}

/// The collection that a path names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Collection {
    /// Such as `apps/v1/deployments`.
    pub(super) name: String,
    pub(super) namespace: Option<String>,
}

/// The kinds that need no recording.
static BUILT_IN: LazyLock<Kinds> = LazyLock::new(Kinds::new);

impl Collection {
    /// The collection of a path; `None` if it is the path of something else.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let CollectionPath { group, version, namespace, plural } = CollectionPath::parse(path)?;
        let group = group.map(|group| format!("{group}/")).unwrap_or_default();
        Some(Self { name: format!("{group}{version}/{plural}"), namespace: namespace.map(str::to_owned) })
    }

    /// The collection of the objects of a kind; of one that is not known, as kubectl guesses it.
    pub(super) fn of_kind(api_version: &str, kind: &str, kinds: &mut Kinds) -> Self {
        let known = kinds.of_object(api_version, kind);
        let name = known.map_or_else(|| format!("{api_version}/{}", kind.to_ascii_lowercase()), |known| known.name());
        Self { name, namespace: None }
    }

    /// The resource of this collection.
    pub(super) fn resource(&self, sample: Option<Sample>, metadata_only: bool) -> RecordedResource {
        let sample =
            sample.map(|sample| Sample { namespaced: sample.namespaced || self.namespace.is_some(), ..sample });
        let namespaced = sample.as_ref().is_none_or(|sample| sample.namespaced);
        let known = BUILT_IN.of_collection(&self.name, namespaced);
        let kind = sample.map(|sample| sample.kind).filter(|_| !metadata_only);
        let kind = match (known, kind) {
            (Some(known), Some(kind)) if known.kind != kind => ServedKind { kind, ..(*known).clone() }.into(),
            (Some(known), _) => known,
            (None, kind) => {
                let (api_version, plural) = self.name.rsplit_once('/').unwrap_or_default();
                let kind = kind.as_deref().unwrap_or(plural);
                Arc::new(ServedKind::custom(api_version, kind, plural, namespaced))
            }
        };
        RecordedResource { kind, metadata_only }
    }
}

impl Sample {
    pub(super) fn of_seen(object: &Seen) -> Option<Self> {
        let kind = object.type_meta().kind.into_owned();
        Some(Self { kind, namespaced: object.key.namespace().is_some() }).filter(|sample| !sample.kind.is_empty())
    }

    pub(super) fn of(object: &serde_json::Value) -> Option<Self> {
        let namespaced = object["metadata"]["namespace"].is_string();
        Some(Self { kind: object["kind"].as_str()?.to_owned(), namespaced })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_read_from_its_path_whatever_stands_before_it() {
        let parts = |path: &str| Collection::parse(path).map(|it| (it.name, it.namespace));
        let named = |name: &str, namespace: Option<&str>| Some((name.to_owned(), namespace.map(str::to_owned)));
        assert_eq!(parts("/api/v1/pods"), named("v1/pods", None));
        assert_eq!(parts("/k8s/c/api/v1/namespaces/web/pods"), named("v1/pods", Some("web")));
        assert_eq!(parts("/apis/apps/v1/deployments"), named("apps/v1/deployments", None));
        assert_eq!(parts("/api/v1/namespaces/web/pods/a"), None);
        assert_eq!(parts("/version"), None);
    }

    #[test]
    fn a_kind_is_that_of_an_object_or_a_known_one_or_guessed() {
        let kind = |name: &str, sample: Option<(&str, bool)>| {
            let sample = sample.map(|(kind, namespaced)| Sample { kind: kind.to_owned(), namespaced });
            let kind = Collection { name: name.to_owned(), namespace: None }.resource(sample, false).kind;
            (kind.kind.clone(), kind.namespaced)
        };
        assert_eq!(kind("v1/nodes", None), ("Node".into(), false));
        assert_eq!(kind("v1/configmaps", Some(("ConfigMap", true))), ("ConfigMap".into(), true));
        assert_eq!(kind("example.com/v1/webapps", None), ("Webapp".into(), true));
        assert_eq!(kind("example.com/v1/webapps", Some(("WebApp", false))), ("WebApp".into(), false));
        assert_eq!(kind("v1/componentstatuses", Some(("ComponentStatus", false))), ("ComponentStatus".into(), false));
    }
}
