//! A `Lease` as JSON: what an election reads of it, and what it writes into it. All else is kept.

use crate::object::Version;
use crate::time::{MicroTime, WallTime};
use alloc::string::{String, ToString};
use core::time::Duration;
use serde_json::{Map, Value, json};

/// The record of an election: the part of `spec` that decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) holder: Option<String>,
    /// Absent if the field is, or if it is not a positive number.
    pub(super) duration: Option<Duration>,
    pub(super) acquired: Option<WallTime>,
    pub(super) renewed: Option<WallTime>,
    pub(super) transitions: u32,
}

impl Record {
    /// Reads a lease. A field of another type counts as absent.
    pub(super) fn read(lease: &Value) -> Self {
        let spec = &lease["spec"];
        let text = |name: &str| spec[name].as_str().filter(|text| !text.is_empty());
        let number = |name: &str| spec[name].as_u64().filter(|number| *number > 0);
        let time = |name: &str| text(name).and_then(|text| text.parse().ok());
        Self {
            holder: text("holderIdentity").map(String::from),
            duration: number("leaseDurationSeconds").map(|seconds| Duration::from_secs(seconds.min(MAX_INT32))),
            acquired: time("acquireTime"),
            renewed: time("renewTime"),
            transitions: number("leaseTransitions").map_or(0, |number| number.min(MAX_INT32) as u32),
        }
    }

    /// Writes the record into a lease.
    pub(super) fn write(&self, lease: &mut Value) {
        let spec = object(field(lease, "spec"));
        let time = |time: Option<WallTime>| time.map(|time| MicroTime(time).to_string());
        spec.insert("holderIdentity".into(), json!(self.holder.as_deref().unwrap_or_default()));
        spec.insert("leaseDurationSeconds".into(), json!(self.duration.map(|duration| duration.as_secs())));
        spec.insert("acquireTime".into(), json!(time(self.acquired)));
        spec.insert("renewTime".into(), json!(time(self.renewed)));
        spec.insert("leaseTransitions".into(), json!(self.transitions));
    }
}

/// Both numbers are an `int32`.
pub(super) const MAX_INT32: u64 = i32::MAX as u64;

/// A lease that does not exist yet.
pub(super) fn created(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "namespace": namespace, "name": name },
    })
}

/// Gives a lease the configured labels; it keeps the others.
pub(super) fn label(lease: &mut Value, ours: &[(String, String)]) {
    if ours.is_empty() {
        return;
    }
    let labels = object(field(field(lease, "metadata"), "labels"));
    for (name, value) in ours {
        labels.insert(name.clone(), json!(value));
    }
}

/// The resource version of a lease. Without one, a write would not notice another candidate's.
pub(super) fn version(lease: &Value) -> Option<Version> {
    lease["metadata"]["resourceVersion"].as_str().filter(|text| !text.is_empty()).and_then(Version::copied)
}

/// A field of an object.
fn field<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    object(value).entry(name).or_insert(Value::Null)
}

/// The fields of a value. Anything else than an object becomes an empty one.
fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().unwrap_or_else(|| unreachable!("it is an object now"))
}
