//! How much is taken into memory.

use crate::error::{CaptureErrorKind, Fault};
use listwatch_core::Key;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes of an object, or of an event.
pub(crate) const OBJECT_LIMIT: usize = 8 * 1024 * 1024;

/// The most bytes of the lists that are read and of the first states, and again of the objects that are there, as they are
/// in memory.
pub(crate) const MOST_STATE: u64 = 4 << 30;

/// What a byte of an object's text counts, until the object is a value that is weighed.
pub(crate) const TEXT: u64 = 2;

/// The memory of the key of an object, about.
pub(crate) fn weight_of_key(key: &Key) -> u64 {
    ENTRY + key.as_str().len() as u64
}

/// The memory that a history takes. Each of its parts has a clone of this.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    held: Arc<AtomicU64>,
    most: u64,
}

impl Memory {
    pub(crate) fn at_most(most: u64) -> Self {
        Self { held: Arc::default(), most }
    }

    /// None, with the same limit.
    pub(crate) fn anew(&self) -> Self {
        Self::at_most(self.most)
    }

    /// Takes this much or, if it is too much, nothing.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Fault> {
        self.check(bytes)?;
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Checks whether this much can be taken.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), Fault> {
        if self.held.load(Ordering::Relaxed).saturating_add(bytes) <= self.most {
            return Ok(());
        }
        let most = self.most;
        let message = format!("the lists up to here take more than {most} bytes of memory; record fewer resources");
        Err(Fault::new(CaptureErrorKind::TooLong, message))
    }

    /// Gives back what was taken.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The fault of an object over the limit.
pub(crate) fn object_too_long() -> Fault {
    Fault::too_long("object", OBJECT_LIMIT)
}

/// The memory of an entry in a map, about.
pub(crate) const ENTRY: u64 = 64;

/// The most fields of a node in a map of fields.
const NODE: usize = 11;

/// The memory of a node, which has room for that many fields.
const NODE_BYTES: u64 = 16 + NODE as u64 * (size_of::<String>() + size_of::<Value>()) as u64;

/// The memory of a value, about.
pub fn weight(value: &Value) -> u64 {
    let inner = match value {
        Value::String(text) => weight_of_text(text),
        Value::Array(values) => {
            let unused = values.capacity() - values.len();
            (unused * size_of::<Value>()) as u64 + values.iter().map(weight).sum::<u64>()
        }
        Value::Object(fields) => {
            let unnamed = nodes(fields.len()) * NODE_BYTES;
            let inside = |value: &Value| weight(value) - size_of::<Value>() as u64;
            unnamed + fields.iter().map(|(name, value)| weight_of_text(name) + inside(value)).sum::<u64>()
        }
        _ => 0,
    };
    size_of::<Value>() as u64 + inner
}

/// The memory of a text beside its place. An allocation has a header, and a smallest size.
pub(crate) fn weight_of_text(text: &str) -> u64 {
    weight_of_bytes(text.len())
}

/// The memory of so many bytes, in the same way.
pub(crate) fn weight_of_bytes(len: usize) -> u64 {
    if len == 0 { 0 } else { (len as u64 + 8).next_multiple_of(16).max(32) }
}

/// The nodes of a map with this many fields. Nodes that were filled in order are half full.
fn nodes(fields: usize) -> u64 {
    match fields {
        0 => 0,
        1..=NODE => 1,
        _ => 1 + (fields / (NODE / 2 + 1)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_weighs_at_least_the_nodes_that_it_takes() {
        let map = |fields: usize| -> Value { (0..fields).map(|field| (field.to_string(), Value::Null)).collect() };
        let measured = [(0, 32), (1, 632), (11, 632 + 11 * 32), (12, 3 * 632)];
        for (fields, least) in measured {
            let found = weight(&map(fields));
            assert!(found >= least, "{fields} fields weigh {found}");
        }
        assert!(weight(&map(11)) < 2 * 632, "eleven fields fit into one node");
    }
}
