//! What stands around the objects of a saved state: a first line, which is all of the List before its items, and an end with
//! a checksum of all bytes before it.

use super::error::SavedError;
use super::origin::Origin;
use crate::time::WallTime;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Value, json};

/// The version of the format.
const FORMAT: &str = "1";
/// What the names of the annotations begin with.
const PREFIX: &str = "listwatch.saved/";
/// The end of the first line.
const ITEMS: &str = ",\"items\":[\n";
/// The end of the items, and the field of the checksum.
const BEFORE: &[u8] = b"\n],\"checksum\":\"";
const AFTER: &[u8] = b"\"}\n";

/// What the first line says.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) origin: Origin,
    pub(super) version: String,
    pub(super) saved: WallTime,
    pub(super) count: usize,
    /// Objects are missing that could not be decoded.
    pub(super) is_partial: bool,
}

impl Head {
    /// Appends the first line.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let Self { origin, version, saved, count, is_partial } = self;
        let kind = origin.resource.kind().unwrap_or_default();
        let api_version = if kind.is_empty() { "v1" } else { api_version(origin.resource.path()) };
        let annotation = |name: &str, value: &str| (format!("{PREFIX}{name}"), Value::from(value));
        let annotations: serde_json::Map<_, _> = [
            annotation("format", FORMAT),
            annotation("server", &origin.server),
            annotation("authority", &origin.authority),
            annotation("resource", &origin.collection),
            annotation("objects", &origin.form),
            annotation("count", &count.to_string()),
            annotation("date", &saved.to_string()),
        ]
        .into_iter()
        .chain(is_partial.then(|| annotation("partial", "true")))
        .chain(origin.cluster.iter().map(|uid| annotation("cluster", uid)))
        .collect();
        let head = json!({
            "apiVersion": api_version,
            "kind": format!("{kind}List"),
            "metadata": { "annotations": annotations, "resourceVersion": version },
        })
        .to_string();
        out.extend_from_slice(head.trim_end_matches('}').as_bytes());
        out.extend_from_slice(b"}");
        out.extend_from_slice(ITEMS.as_bytes());
    }

    /// Reads the first line, whose state is compared with `here`.
    pub(super) fn read(line: &[u8], here: &Origin) -> Result<Self, SavedError> {
        let unknown = |found: &str| SavedError::Unknown(found.into());
        let head = line.strip_suffix(ITEMS.as_bytes()).ok_or_else(|| unknown("its first line is no head of a list"))?;
        let head: Value =
            serde_json::from_slice(&[head, b"}"].concat()).map_err(|error| SavedError::Unknown(error.to_string()))?;
        let annotations = &head["metadata"]["annotations"];
        let annotation = |name: &str| annotations[format!("{PREFIX}{name}").as_str()].as_str();
        match annotation("format") {
            Some(FORMAT) => {}
            Some(other) => return Err(SavedError::Unknown(format!("format {other}"))),
            None => return Err(unknown("it has no annotations of one")),
        }
        let text =
            |name: &str| annotation(name).map(String::from).ok_or_else(|| SavedError::Unknown(format!("no {name}")));
        let origin = Origin {
            resource: here.resource.clone(),
            server: text("server")?,
            authority: text("authority")?,
            cluster: annotation("cluster").map(String::from),
            collection: text("resource")?,
            form: text("objects")?,
        };
        here.accept(&origin)?;
        Ok(Self {
            origin,
            is_partial: annotation("partial").is_some(),
            version: head["metadata"]["resourceVersion"].as_str().ok_or_else(|| unknown("no version"))?.into(),
            saved: text("date")?.parse().map_err(|_| unknown("its date is none"))?,
            count: text("count")?.parse().map_err(|_| unknown("its count is none"))?,
        })
    }
}

/// `v1`, or `apps/v1`, of a path.
fn api_version(path: &str) -> &str {
    let Some((_, group)) = path.split_once("/apis/") else { return "v1" };
    group.match_indices('/').nth(1).map_or(group, |(end, _)| &group[..end])
}

/// FNV-1a of 64 bits: a flipped bit always shows, because each step maps different sums to different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checksum(pub(super) u64);

impl Checksum {
    /// How many bytes the end of a state has.
    pub(super) const END: usize = BEFORE.len() + 16 + AFTER.len();

    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Appends the end of a state that has this sum.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(BEFORE);
        out.extend_from_slice(format!("{:016x}", self.0).as_bytes());
        out.extend_from_slice(AFTER);
    }

    /// The sum that the end of a state names; `None` if it is no end.
    pub(super) fn read(end: &[u8]) -> Option<Self> {
        let digits = end.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
        let is_hexadecimal = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let digits = core::str::from_utf8(digits).ok().filter(|digits| is_hexadecimal && digits.len() == 16)?;
        u64::from_str_radix(digits, 16).ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_published_vectors_however_the_text_is_cut() {
        for (text, sum) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            for cut in 0..=text.len() {
                let mut checksum = Checksum::new();
                let (head, tail) = text.as_bytes().split_at(cut);
                checksum.update(head);
                checksum.update(tail);
                assert_eq!(checksum, Checksum(sum), "{text}");
            }
        }
    }
}
