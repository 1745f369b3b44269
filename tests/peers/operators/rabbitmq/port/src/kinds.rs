//! The kind RabbitmqCluster, with the fields that this operator knows.

use listwatch::kind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

pub type Map = BTreeMap<String, String>;

#[derive(Clone, Serialize, Deserialize)]
pub struct RabbitmqCluster {
    pub metadata: Metadata,
    #[serde(default)]
    pub spec: Spec,
    pub status: Option<Status>,
}

kind!(RabbitmqCluster, "rabbitmq.com/v1beta1", "rabbitmqclusters");

/// The CRD fills in replicas, persistence, resources and the grace period.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    pub replicas: Option<i32>,
    pub image: Option<String>,
    pub image_pull_secrets: Option<Vec<Reference>>,
    pub service: Option<ServiceSpec>,
    pub persistence: Option<Persistence>,
    pub resources: Option<Value>,
    pub affinity: Option<Value>,
    pub tolerations: Option<Vec<Value>>,
    pub rabbitmq: Option<Rabbitmq>,
    pub tls: Option<Tls>,
    #[serde(rename = "override")]
    pub overrides: Option<Overrides>,
    pub skip_post_deploy_steps: Option<bool>,
    pub termination_grace_period_seconds: Option<i64>,
    pub delay_start_seconds: Option<i32>,
    pub secret_backend: Option<SecretBackend>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Metadata {
    pub labels: Option<Map>,
    pub annotations: Option<Map>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    pub name: String,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSpec {
    #[serde(rename = "type")]
    pub type_: Option<String>,
    pub annotations: Option<Map>,
    pub ip_family_policy: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Persistence {
    pub storage_class_name: Option<String>,
    pub storage: Option<Value>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rabbitmq {
    pub additional_plugins: Option<Vec<String>>,
    pub additional_config: Option<String>,
    pub advanced_config: Option<String>,
    pub env_config: Option<String>,
    pub erlang_inet_config: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tls {
    pub secret_name: Option<String>,
    #[serde(rename = "disableNonTLSListeners")]
    pub disable_non_tls_listeners: Option<bool>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overrides {
    pub stateful_set: Option<Value>,
    pub service: Option<Value>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretBackend {
    pub vault: Option<Value>,
    pub external_secret: Option<ExternalSecret>,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct ExternalSecret {
    pub name: Option<String>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    #[serde(default)]
    pub conditions: Vec<Condition>,
    pub default_user: Option<DefaultUser>,
    pub binding: Option<Reference>,
    pub observed_generation: Option<i64>,
}

/// The kind's own condition: texts that are empty are left out, and it has no generation.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    pub type_: String,
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefaultUser {
    pub secret_reference: Option<SecretReference>,
    pub service_reference: Option<ServiceReference>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct SecretReference {
    pub name: String,
    pub namespace: String,
    pub keys: Map,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceReference {
    pub name: String,
    pub namespace: String,
}

impl RabbitmqCluster {
    pub fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    pub fn rabbitmq(&self) -> Rabbitmq {
        self.spec.rabbitmq.clone().unwrap_or_default()
    }

    pub fn has_plugin(&self, name: &str) -> bool {
        let plugins = self.spec.rabbitmq.as_ref().and_then(|it| it.additional_plugins.as_ref());
        plugins.is_some_and(|plugins| plugins.iter().any(|plugin| plugin == name))
    }

    pub fn needs_stream(&self) -> bool {
        ["rabbitmq_stream", "rabbitmq_stream_management", "rabbitmq_multi_dc_replication"]
            .iter()
            .any(|name| self.has_plugin(name))
    }

    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    pub fn label(&self, name: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(name).map(String::as_str)
    }

    /// The Secret that the user has made in place of the operator's.
    pub fn external_secret(&self) -> Option<&str> {
        let secret = self.spec.secret_backend.as_ref()?.external_secret.as_ref()?;
        secret.name.as_deref().filter(|name| !name.is_empty())
    }

    /// What the spec asks for and this port does not have.
    pub fn unsupported(&self) -> Option<&'static str> {
        let tls = self.spec.tls.as_ref();
        let has_tls = tls.is_some_and(|tls| {
            tls.secret_name.as_ref().is_some_and(|name| !name.is_empty()) || tls.disable_non_tls_listeners == Some(true)
        });
        let overrides = self.spec.overrides.as_ref();
        let has_vault = self.spec.secret_backend.as_ref().is_some_and(|backend| backend.vault.is_some());
        if has_tls {
            Some("spec.tls")
        } else if overrides.is_some_and(|it| it.stateful_set.is_some() || it.service.is_some()) {
            Some("spec.override")
        } else {
            has_vault.then_some("spec.secretBackend.vault")
        }
    }
}
