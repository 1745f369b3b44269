//! Kinds of objects with nothing but data.

use listwatch_runtime_smol::kind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct ConfigMap {
    #[serde(default)]
    pub(crate) data: Value,
}

kind!(ConfigMap, "v1", "configmaps");

#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Secret {
    #[serde(default)]
    pub(crate) data: Value,
}

kind!(Secret, "v1", "secrets");

/// A ConfigMap of this name in the namespace `web`.
pub(crate) fn config_map(name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "web" }, "data": data })
}

/// A Secret without data.
pub(crate) fn secret(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "web" } })
}
