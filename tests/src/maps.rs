//! Kinds of objects with nothing but data.

use listwatch_core::kind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A ConfigMap of which the data are known.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ConfigMap {
    /// Its values.
    #[serde(default)]
    pub data: Value,
}

kind!(ConfigMap, "v1", "configmaps");

/// A Secret of which the data are known.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Secret {
    /// Its values.
    #[serde(default)]
    pub data: Value,
}

kind!(Secret, "v1", "secrets");

/// A ConfigMap of this name in the namespace `web`.
pub fn config_map(name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "web" }, "data": data })
}

/// A Secret without data.
pub fn secret(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "web" } })
}
