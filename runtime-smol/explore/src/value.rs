//! The values of objects, as a failure tells them.

use serde_json::Value;

const SECRETS: &str = "v1/secrets";

/// A value of an object. Those of Secrets are told by a fingerprint, which shows whether two are the same.
pub(crate) fn told(resource: &str, value: &Value) -> String {
    let text = value.to_string();
    match resource {
        SECRETS if !value.is_null() => format!("(secret {:04x})", fingerprint(text.as_bytes()) & 0xffff),
        _ => text,
    }
}

/// A fingerprint of a text, alike in all runs (FNV-1a).
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
