//! Which elements of two lists are the same, in the types of Kubernetes (`x-kubernetes-list-map-keys`, `patchMergeKey`).

use serde_json::Value;

/// How the elements of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListType {
    /// The list is one value.
    Atomic,
    /// Each element is itself.
    Set,
    /// Each element is named by this field.
    Map(&'static str),
}

impl ListType {
    /// What is equal for two elements that are the same. Those of an atomic list are not told apart.
    pub(super) fn identity(self, element: &Value) -> Option<&Value> {
        match self {
            Self::Atomic | Self::Set => Some(element),
            Self::Map(key) => element.get(key),
        }
    }

    /// The type of the list in a field. Of custom resources, only metadata have lists that are no single value.
    pub(super) fn of(is_known: bool, field: &str, list: &[Value]) -> Self {
        let key = match field {
            "ownerReferences" => "uid",
            "finalizers" => return Self::Set,
            _ if !is_known => return Self::Atomic,
            "containers" | "initContainers" | "ephemeralContainers" | "env" | "volumes" | "imagePullSecrets" => "name",
            "secrets" | "resourceClaims" => "name",
            "volumeMounts" => "mountPath",
            "volumeDevices" => "devicePath",
            "conditions" => "type",
            "hostAliases" => "ip",
            "topologySpreadConstraints" => "topologyKey",
            "ports" if list.iter().any(|port| port.get("containerPort").is_some()) => "containerPort",
            "ports" => "port",
            _ => return Self::Atomic,
        };
        let is_keyed = list.iter().all(|element| element.get(key).is_some());
        if is_keyed { Self::Map(key) } else { Self::Atomic }
    }
}
