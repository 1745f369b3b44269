//! Functions of a test that convert custom resources between versions, as a webhook does.

use core::fmt;
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};

/// Converts an object to a version; `None` if it does not convert its kind.
pub(super) type Convert = dyn Fn(&Value, &str) -> Option<Result<Value, String>> + Send + Sync;

/// The functions of a cluster, which its versions share.
#[derive(Clone, Default)]
pub(super) struct Conversions(Arc<RwLock<Vec<Box<Convert>>>>);

impl Conversions {
    pub(super) fn add(&self, convert: Box<Convert>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(convert);
    }

    /// The object in another version. A function may change labels and annotations, and no other metadata. Without a
    /// function, all fields stay.
    pub(super) fn convert(&self, object: Value, version: &str) -> Result<Value, String> {
        let functions = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(converted) = functions.iter().find_map(|convert| convert(&object, version)) else { return Ok(object) };
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let failed =
            |why| format!("conversion webhook for {}, Kind={} failed: {why}", text("apiVersion"), text("kind"));
        let mut converted = converted.map_err(failed)?;
        let mut metadata = object["metadata"].as_object().cloned().unwrap_or_default();
        for name in ["labels", "annotations"] {
            match converted["metadata"][name].take() {
                Value::Null => drop(metadata.remove(name)),
                map => drop(metadata.insert(name.to_owned(), map)),
            }
        }
        converted["metadata"] = metadata.into();
        Ok(converted)
    }
}

impl fmt::Debug for Conversions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conversions")
    }
}
