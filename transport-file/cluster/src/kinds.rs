//! The kinds that a cluster serves: Kubernetes' own, those that a caller adds, and those that objects and informers imply.

use crate::built_in::{BuiltInKind, TABLE};
pub(crate) use crate::built_in::{FieldType, Fields, ListKey, ObjectType, Shape, Trait};
use listwatch_transport_file::RecordedResource;
use listwatch_transport_file::kinds::{group_of, guessed_plural, is_built_in};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// A kind that a cluster serves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedKind {
    /// Group and version, such as `apps/v1`; for the core group the version alone, `v1`.
    pub api_version: String,
    /// The name of the kind, such as `Deployment`.
    pub kind: String,
    /// The name of the resource in paths, such as `deployments`.
    pub plural: String,
    /// Whether the objects have a namespace.
    pub namespaced: bool,
    /// Whether the status of an object changes by a request of its own.
    pub has_status: bool,
    /// Whether the objects have a scale.
    pub has_scale: bool,
    /// Whether `metadata.generation` counts the changes of an object.
    pub has_generation: bool,
    /// Whether all this was guessed by a name.
    pub is_guessed: bool,
    /// The fields by which objects can be selected, besides their names and namespaces.
    pub(crate) selectable: Vec<String>,
    /// What the table of Kubernetes' own kinds has of it.
    pub(crate) built_in: Option<&'static BuiltInKind>,
}

/// All kinds, by the names of their collections, such as `apps/v1/deployments`.
#[derive(Debug)]
pub(crate) struct Kinds {
    by_name: BTreeMap<String, Arc<ServedKind>>,
}

/// The kinds that need no recording.
static BUILT_IN: LazyLock<Kinds> = LazyLock::new(Kinds::new);

impl ServedKind {
    /// A kind of a custom resource.
    pub fn custom(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced,
            has_status: true,
            has_scale: false,
            has_generation: true,
            is_guessed: false,
            selectable: Vec::new(),
            built_in: None,
        }
    }

    fn built_in(kind: &'static BuiltInKind) -> Self {
        let has_part = |part| kind.subresources.contains(&part);
        Self {
            has_status: has_part("status"),
            has_scale: has_part("scale"),
            has_generation: kind.has(Trait::Generation),
            selectable: kind.selectable.iter().map(|field| (*field).to_owned()).collect(),
            built_in: Some(kind),
            ..Self::custom(kind.api_version, kind.kind, kind.plural, kind.has(Trait::Namespaced))
        }
    }

    fn guessed(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Self { is_guessed: true, ..Self::custom(api_version, kind, plural, namespaced) }
    }

    /// The kind of a resource of a recording. What the recording does not show is that of Kubernetes, or guessed from the
    /// plural.
    #[must_use]
    pub fn of_recorded(resource: &RecordedResource) -> Arc<Self> {
        Self::recorded(&resource.collection, resource.kind.as_deref(), resource.namespaced)
    }

    fn recorded(collection: &str, kind: Option<&str>, namespaced: bool) -> Arc<Self> {
        match (BUILT_IN.of_collection(collection, namespaced), kind) {
            (Some(known), Some(kind)) if known.kind != kind => {
                Self { kind: kind.to_owned(), ..(*known).clone() }.into()
            }
            (Some(known), _) => known,
            (None, kind) => {
                let (api_version, plural) = collection.rsplit_once('/').unwrap_or_default();
                Self::custom(api_version, kind.unwrap_or(plural), plural, namespaced).into()
            }
        }
    }

    /// The name of the collection, such as `apps/v1/deployments`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.api_version, self.plural)
    }

    /// The group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        group_of(&self.api_version)
    }

    /// The version without the group.
    #[must_use]
    pub fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(&self.api_version, |(_, version)| version)
    }

    /// The plural with the group, as messages have it: `deployments.apps`.
    pub fn qualified(&self) -> String {
        self.with_group(&self.plural)
    }

    /// The kind with the group, as messages have it: `Deployment.apps`.
    pub fn qualified_kind(&self) -> String {
        self.with_group(&self.kind)
    }

    fn with_group(&self, name: &str) -> String {
        match self.group() {
            "" => name.to_owned(),
            group => format!("{name}.{group}"),
        }
    }

    /// Whether it is a custom resource.
    pub fn is_custom(&self) -> bool {
        self.built_in.is_none()
    }

    /// Whether a server treats the objects so. It takes no version of a custom resource for granted.
    pub(crate) fn has(&self, wanted: Trait) -> bool {
        self.built_in.map_or(wanted == Trait::VersionRequired, |kind| kind.has(wanted))
    }

    /// The short names, such as `deploy`.
    #[must_use]
    pub fn short_names(&self) -> &'static [&'static str] {
        self.built_in.map_or(&[], |kind| &kind.short_names)
    }

    /// The fields by which objects can be selected, besides their names and namespaces.
    pub(crate) fn selectable_fields(&self) -> &[String] {
        &self.selectable
    }

    /// The metadata that a request for the status changes, too.
    pub(crate) fn changed_with_status(&self) -> impl Iterator<Item = &'static str> {
        self.built_in.into_iter().flat_map(BuiltInKind::changed_with_status)
    }

    /// The status that a server gives to a new object, as JSON; `None` for none.
    pub(crate) fn new_status(&self) -> Option<&'static str> {
        self.built_in.and_then(|kind| kind.status)
    }

    /// The type of the objects, as far as their lists are concerned.
    pub(crate) fn object_type(&self) -> ObjectType<'static> {
        self.built_in.map_or_else(ObjectType::custom, BuiltInKind::object_type)
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::new()
    }
}

impl Kinds {
    /// The kinds that Kubernetes has.
    pub(crate) fn new() -> Self {
        let kinds = TABLE.kinds.iter().map(ServedKind::built_in);
        Self { by_name: kinds.map(|kind| (kind.name(), kind.into())).collect() }
    }

    /// Adds a kind, or replaces what is known of its collection.
    pub(crate) fn add(&mut self, kind: ServedKind) -> Arc<ServedKind> {
        let kind = Arc::new(kind);
        self.by_name.insert(kind.name(), Arc::clone(&kind));
        kind
    }

    /// Forgets the kind of a collection, unless it is Kubernetes' own.
    pub(crate) fn remove(&mut self, name: &str) {
        if !self.is_built_in(name) {
            self.by_name.remove(name);
        }
    }

    /// Whether a collection is Kubernetes' own: no definition replaces it.
    pub(crate) fn is_built_in(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|kind| kind.built_in.is_some())
    }

    /// Adds the kinds of a CustomResourceDefinition.
    pub(crate) fn define(&mut self, definition: &Value) {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, kind, plural) =
            (text(&spec["group"]), text(&spec["names"]["kind"]), text(&spec["names"]["plural"]));
        let served = spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true);
        for version in served.filter(|_| ![&group, &kind, &plural].iter().any(|name| name.is_empty())) {
            let api_version = format!("{group}/{}", text(&version["name"]));
            let has = |part: &str| version["subresources"].get(part).is_some_and(|part| !part.is_null());
            let custom = ServedKind::custom(&api_version, &kind, &plural, spec["scope"] != "Cluster");
            let fields = version["selectableFields"].as_array().into_iter().flatten();
            let selectable = fields.map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned()).collect();
            let custom = ServedKind { has_status: has("status"), has_scale: has("scale"), selectable, ..custom };
            if !self.is_built_in(&custom.name()) {
                self.add(custom);
            }
        }
    }

    /// Whether a server has this group.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        TABLE.serves(group) || self.by_name.values().any(|kind| kind.group() == group)
    }

    /// The kinds in the order of their collections' names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<ServedKind>> {
        self.by_name.values()
    }

    /// Adds a kind, unless its collection has one.
    pub(crate) fn keep(&mut self, kind: &Arc<ServedKind>) {
        self.by_name.entry(kind.name()).or_insert_with(|| Arc::clone(kind));
    }

    /// The kind of a collection, if it was added, or an object or an informer had it.
    pub(crate) fn known(&self, name: &str) -> Option<Arc<ServedKind>> {
        self.by_name.get(name).map(Arc::clone)
    }

    /// Whether a request for a collection can be right.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        self.by_name.contains_key(name) || name.rsplit_once('/').is_some_and(|(version, _)| !is_built_in(version))
    }

    /// The kind of a collection. In a group that is not Kubernetes' own, an unknown one is guessed by the plural, and is not
    /// added.
    pub(crate) fn of_collection(&self, name: &str, namespaced: bool) -> Option<Arc<ServedKind>> {
        if let Some(kind) = self.known(name) {
            return Some(kind);
        }
        let (api_version, plural) = name.rsplit_once('/').filter(|(version, _)| !is_built_in(version))?;
        Some(ServedKind::guessed(api_version, &guessed_kind(plural), plural, namespaced).into())
    }

    /// The kind of an object. In a group that is not Kubernetes' own, it is there if an object has it: its plural is then
    /// guessed as kubectl does.
    pub(crate) fn of_object(&mut self, api_version: &str, kind: &str) -> Option<Arc<ServedKind>> {
        if let Some(known) = self.by_name.values().find(|known| known.api_version == api_version && known.kind == kind)
        {
            return Some(Arc::clone(known));
        }
        if is_built_in(api_version) {
            return None;
        }
        let plural = guessed_plural(kind);
        let known = self.by_name.get(&format!("{api_version}/{plural}"));
        let namespaced = known.is_none_or(|known| known.namespaced);
        // A kind that was guessed by its plural has its name from now on.
        Some(self.add(ServedKind::guessed(api_version, kind, &plural, namespaced)))
    }
}

/// The kind of a plural, as far as it can be guessed: `foos` are of the kind `Foo`.
fn guessed_kind(plural: &str) -> String {
    let singular = match plural {
        _ if plural.ends_with("ies") => format!("{}y", &plural[..plural.len() - 3]),
        _ if plural.ends_with("ses") => plural[..plural.len() - 2].to_owned(),
        _ => plural.strip_suffix('s').unwrap_or(plural).to_owned(),
    };
    let mut letters = singular.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_plural_is_its_singular() {
        for (plural, kind) in [("foos", "Foo"), ("policies", "Policy"), ("classes", "Class"), ("fish", "Fish")] {
            assert_eq!(guessed_kind(plural), kind);
        }
    }

    #[test]
    fn a_kind_that_an_informer_asked_for_gets_its_name_by_its_first_object() {
        let mut kinds = Kinds::new();
        let name = "example.com/v1/webapps";
        let guessed = kinds.of_collection(name, true).expect("a kind");
        assert_eq!((guessed.kind.as_str(), kinds.known(name)), ("Webapp", None));
        kinds.keep(&guessed);
        assert_eq!(kinds.of_object("example.com/v1", "WebApp").map(|kind| kind.name()), Some(name.into()));
        kinds.keep(&guessed);
        assert_eq!(kinds.of_collection(name, true).map(|kind| kind.kind.clone()), Some("WebApp".into()));
    }

    #[test]
    fn the_names_of_the_kinds_of_kubernetes_can_be_told_without_a_server() {
        for kind in Kinds::new().iter() {
            assert!(is_built_in(&kind.api_version), "{}", kind.name());
            assert_eq!(guessed_plural(&kind.kind), kind.plural);
        }
        assert!(TABLE.groups.iter().all(|group| is_built_in(&format!("{group}/v1"))));
        assert!(!is_built_in("example.com/v1") && !is_built_in("snapshot.storage.k8s.io/v1"));
    }

    #[test]
    fn a_recorded_kind_is_that_of_an_object_or_a_known_one_or_guessed() {
        let kind = |collection: &str, kind: Option<&str>, namespaced: bool| {
            let kind = ServedKind::recorded(collection, kind, namespaced);
            (kind.kind.clone(), kind.namespaced)
        };
        assert_eq!(kind("v1/nodes", None, true), ("Node".into(), false));
        assert_eq!(kind("v1/configmaps", Some("ConfigMap"), true), ("ConfigMap".into(), true));
        assert_eq!(kind("example.com/v1/webapps", None, true), ("Webapp".into(), true));
        assert_eq!(kind("example.com/v1/webapps", Some("WebApp"), false), ("WebApp".into(), false));
        assert_eq!(kind("v1/componentstatuses", Some("ComponentStatus"), false), ("ComponentStatus".into(), false));
    }

    #[test]
    fn removed_versions_of_kubernetes_have_no_kinds() {
        let kinds = Kinds::new();
        for name in [
            "policy/v1beta1/poddisruptionbudgets",
            "apps/v1beta1/deployments",
            "autoscaling/v2beta2/horizontalpodautoscalers",
            "extensions/v1beta1/ingresses",
            "authorization.k8s.io/v1/subjectaccessreviews",
            "undotted/v1/foos",
        ] {
            assert_eq!((kinds.of_collection(name, true), kinds.may_have(name)), (None, false), "{name}");
        }
        let snapshots = "snapshot.storage.k8s.io/v1/volumesnapshots";
        assert!(kinds.of_collection(snapshots, true).is_some_and(|kind| kind.is_custom()));
    }

    #[test]
    fn the_groups_of_kubernetes_have_their_own_kinds_only() {
        let mut kinds = Kinds::new();
        assert!(kinds.of_object("v1", "Podd").is_none() && kinds.of_collection("apps/v1/deployment", true).is_none());
        let node = kinds.of_object("v1", "Node");
        assert!(node.is_some_and(|node| !node.namespaced && node.has_status && !node.is_custom()));
        assert!(kinds.of_collection("v1/endpoints", true).is_some_and(|kind| kind.kind == "Endpoints"));
    }
}
