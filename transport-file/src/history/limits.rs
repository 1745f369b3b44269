//! How much a history takes into memory.

use crate::error::{CaptureErrorKind, Fault};
use serde_json::Value;

/// The most bytes of an object, or of an event.
pub(super) const OBJECT_LIMIT: usize = 8 * 1024 * 1024;

/// The most bytes of the lists that are read and of the first states, as they are in memory.
const MOST_STATE: u64 = 4 << 30;

/// The memory of an entry in a map, about.
const ENTRY: u64 = 64;

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

/// Checks the memory of all that is held.
pub(super) fn check_state(held: u64) -> Result<(), Fault> {
    if held <= MOST_STATE {
        return Ok(());
    }
    let message = format!("the lists up to here take more than {MOST_STATE} bytes of memory; record fewer resources");
    Err(Fault::new(CaptureErrorKind::TooLong, message))
}

/// The fault of an object over the limit.
pub(super) fn object_too_long() -> Fault {
    Fault::too_long("object", OBJECT_LIMIT)
}
