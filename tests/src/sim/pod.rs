//! The objects of a world as its clients decode them.

use serde::{Deserialize, Serialize};

/// What objects are decoded into; of metadata alone, nothing is left.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
pub struct Pod {
    spec: Option<Spec>,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Spec {
    value: u64,
}

impl Pod {
    /// What follows from its last change.
    pub(super) fn value(&self) -> Option<u64> {
        self.spec.as_ref().map(|spec| spec.value)
    }
}
