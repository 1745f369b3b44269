//! The end of a saved state: the end of its items, and the checksum of all before.

use super::checksum::Checksum;
use alloc::format;
use alloc::string::String;

const BEFORE: &[u8] = b"\n],\"checksum\":\"";
const AFTER: &[u8] = b"\"}\n";

/// How many bytes the end has.
pub(super) const LEN: usize = BEFORE.len() + 16 + AFTER.len();

pub(super) fn write(checksum: Checksum) -> String {
    format!("\n],\"checksum\":\"{:016x}\"}}\n", checksum.0)
}

/// The checksum that the end names; `None` if it is no end.
pub(super) fn read(tail: &[u8]) -> Option<Checksum> {
    let digits = tail.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
    let is_hexadecimal = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let digits = core::str::from_utf8(digits).ok().filter(|digits| is_hexadecimal && digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok().map(Checksum)
}
