//! The kind Widget: what users write, and what the operator tells them.

use listwatch::definition::Definition;
use listwatch::kind;
use listwatch::object::Conditions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Widget {
    pub spec: WidgetSpec,
    #[serde(default)]
    pub status: WidgetStatus,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpec {
    /// The image of the pods.
    #[schemars(length(min = 1))]
    pub image: String,
    /// The number of pods.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// The files below /etc/settings, by their names.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

// A number that is absent is unknown: an `Option`, so that a 0 is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    /// The number of pods that are ready.
    pub ready_replicas: Option<i32>,
    #[serde(default)]
    pub conditions: Conditions,
}

kind! {
    Widget, "example.com/v1alpha1", "widgets"
}

/// The CustomResourceDefinition. `cargo run -- crd > deploy/crd.yaml` writes the manifest anew.
pub fn crd() -> Definition {
    Definition::of::<Widget>()
        .column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#)
        .column("Pods", ".status.readyReplicas")
        .column("Age", ".metadata.creationTimestamp")
        .rule(
            "",
            "size(self.metadata.name) <= 63",
            "a name is a label of pods: 63 characters at most",
        )
}

fn one() -> i32 {
    1
}
