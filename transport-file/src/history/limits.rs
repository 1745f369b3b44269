//! How much a history takes into memory.

use crate::error::{CaptureErrorKind, Fault};
use listwatch_core::Key;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes of an object, or of an event.
pub(super) const OBJECT_LIMIT: usize = 8 * 1024 * 1024;

/// The most bytes of the lists that are read, of the first states and of what is known of objects, as they are in memory.
pub(super) const MOST_STATE: u64 = 4 << 30;

/// The memory of an entry in a map, about.
pub(super) const ENTRY: u64 = 64;

/// The memory of a value, about.
pub(super) fn weight(value: &Value) -> u64 {
    let inner = match value {
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| ENTRY + name.len() as u64 + weight(value)).sum(),
        _ => 0,
    };
    size_of::<Value>() as u64 + inner
}

/// The memory of the key of an object, about.
pub(super) fn weight_of_key(key: &Key) -> u64 {
    ENTRY + key.as_str().len() as u64
}

/// The memory that a history takes. Each of its parts has a clone of this.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    held: Arc<AtomicU64>,
    most: u64,
}

impl Memory {
    pub(super) fn at_most(most: u64) -> Self {
        Self { held: Arc::default(), most }
    }

    /// None, with the same limit.
    pub(super) fn anew(&self) -> Self {
        Self::at_most(self.most)
    }

    /// Takes this much, or says that it is too much.
    pub(super) fn take(&self, bytes: u64) -> Result<(), Fault> {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if held <= self.most {
            return Ok(());
        }
        let most = self.most;
        let message = format!("the lists up to here take more than {most} bytes of memory; record fewer resources");
        Err(Fault::new(CaptureErrorKind::TooLong, message))
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The fault of an object over the limit.
pub(super) fn object_too_long() -> Fault {
    Fault::too_long("object", OBJECT_LIMIT)
}
