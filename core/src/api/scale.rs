use alloc::string::String;
use serde::{Deserialize, Serialize};

/// The replicas of an object, wanted and present (`autoscaling/v1` `Scale`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scale {
    /// The metadata of the scaled object.
    pub metadata: serde_json::Value,
    /// The replicas that are wanted.
    pub spec: ScaleSpec,
    /// The replicas that are present.
    pub status: ScaleStatus,
}

/// The replicas that are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleSpec {
    /// Their number.
    pub replicas: u32,
}

/// The replicas that are present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleStatus {
    /// Their number.
    pub replicas: u32,
    /// The label selector that finds them.
    pub selector: String,
}
