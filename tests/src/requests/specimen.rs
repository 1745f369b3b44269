//! A valid object of each kind, and what may become of it: `tests/data/specimens.json`.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A kind, and its objects.
#[derive(Clone, Debug, Deserialize)]
pub struct Specimen {
    /// The name of the collection, such as `apps/v1/deployments`.
    pub collection: String,
    /// The kind.
    pub kind: String,
    /// Whether its objects have no namespace.
    #[serde(default)]
    pub cluster: bool,
    /// A valid object, but for its type and metadata.
    pub object: Map<String, Value>,
    /// Merge patches, most of which leave it valid.
    #[serde(default)]
    pub changes: Vec<Value>,
    /// Strategic merge patches.
    #[serde(default)]
    pub strategic: Vec<Value>,
    /// What its status can be.
    #[serde(default)]
    pub statuses: Vec<Value>,
    /// Whether it has a scale.
    #[serde(default)]
    pub scale: bool,
    /// Field selectors.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Values of the fields of its spec, valid and invalid.
    #[serde(default)]
    pub values: BTreeMap<String, Vec<Value>>,
    /// Where the specs of pods are in it.
    #[serde(default)]
    pub pods: Vec<String>,
    /// The paths at which a server has more than it was given, apart from those. `[]` is any element.
    #[serde(default)]
    pub defaults: Vec<String>,
}

/// The specimens of all kinds.
pub static SPECIMENS: LazyLock<Vec<Specimen>> = LazyLock::new(|| {
    let text = include_str!("../../data/specimens.json");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("specimens.json: {error}"))
});

impl Specimen {
    /// Whether a definition adds the kind.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.collection.starts_with("{group}")
    }

    /// The version of the API that has it, such as `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.collection.rsplit_once('/').unwrap_or_default().0
    }

    /// The path of its collection, in the namespace if it has one.
    #[must_use]
    pub fn path(&self) -> String {
        let (version, plural) = self.collection.rsplit_once('/').unwrap_or_default();
        let root = if version == "v1" { "/api" } else { "/apis" };
        let namespace = if self.cluster { "" } else { "namespaces/{ns}/" };
        format!("{root}/{version}/{namespace}{plural}")
    }

    /// The name of an object. One without a namespace has that of the run in its own.
    #[must_use]
    pub fn name(&self, name: &str) -> String {
        if self.cluster { format!("{{ns}}-{name}") } else { name.to_owned() }
    }

    /// The name under which a side knows an object.
    #[must_use]
    pub fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.collection)
    }

    /// Whether a server has more than it was given at a path.
    #[must_use]
    pub fn has_default(&self, path: &str) -> bool {
        let is_below = |inside: &str, default: &str| {
            // Not each field of a spec is the server's.
            let rest = inside.strip_prefix(default);
            rest.is_some_and(|rest| rest.is_empty() || (default != "spec" && rest.starts_with('.')))
        };
        let in_pod = |pod: &String| {
            let inside = path.strip_prefix(pod).and_then(|rest| rest.strip_prefix('.'));
            inside.is_some_and(|inside| POD_DEFAULTS.iter().any(|default| is_below(inside, default)))
        };
        self.pods.iter().any(in_pod) || self.defaults.iter().any(|default| is_below(path, default))
    }
}

/// What a server adds to the spec of a pod.
const POD_DEFAULTS: [&str; 11] = [
    "containers[].imagePullPolicy",
    "containers[].ports[].protocol",
    "containers[].resources",
    "containers[].terminationMessagePath",
    "containers[].terminationMessagePolicy",
    "dnsPolicy",
    "restartPolicy",
    "schedulerName",
    "securityContext",
    "terminationGracePeriodSeconds",
    "tolerations",
];
