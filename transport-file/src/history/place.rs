//! Where an object is, and in which version.

use crate::error::{CaptureErrorKind, Fault};
use listwatch_core::Key;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// `metav1.TypeMeta`; what an object does not say is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TypeMeta<'a> {
    #[serde(borrow)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) kind: Cow<'a, str>,
}

impl<'a> TypeMeta<'a> {
    pub(super) fn of(object: &'a Value) -> Self {
        let text = |name: &str| object[name].as_str().unwrap_or_default().into();
        Self { api_version: text("apiVersion"), kind: text("kind") }
    }

    pub(super) fn into_owned(self) -> TypeMeta<'static> {
        TypeMeta { api_version: self.api_version.into_owned().into(), kind: self.kind.into_owned().into() }
    }
}

/// The largest version of an API server.
const MAX_VERSION: u64 = i64::MAX as u64;

/// The key of an object; `None` if it has no name.
pub(super) fn key_of(object: &Value) -> Option<Key> {
    let metadata = &object["metadata"];
    Some(Key::new(metadata["namespace"].as_str(), metadata["name"].as_str()?))
}

/// The version of an object; zero if it has none, or one that is no number.
pub(super) fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().map_or(0, number)
}

pub(super) fn number(version: &str) -> u64 {
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    // One that does not fit is refused by its check.
    if is_number { version.parse().unwrap_or(u64::MAX) } else { 0 }
}

/// Refuses a version from which a cluster cannot go on.
pub(super) fn check_version(version: u64) -> Result<(), Fault> {
    if version <= MAX_VERSION {
        return Ok(());
    }
    let message = format!("a resourceVersion is above {MAX_VERSION}, the largest of an API server");
    Err(Fault::of_line(CaptureErrorKind::Record, message))
}
