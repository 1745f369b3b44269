//! Selectors of shards: by the hash of the uid or the namespace (KEP-5866, the feature gate `ShardedListAndWatch`).

use super::refusal::Refusal;
use super::target::Target;
use serde_json::Value;

/// The parameter of lists and watches.
pub(super) const PARAMETER: &str = "shardSelector";

/// The objects whose field has a hash in one of these ranges.
#[derive(Clone, Debug)]
pub(super) struct ShardSelector {
    field: Field,
    ranges: Vec<(u128, u128)>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Uid,
    Namespace,
}

impl ShardSelector {
    /// The selector that a target asks for.
    pub(super) fn of(target: &Target) -> Result<Option<Self>, Refusal> {
        let Some(text) = target.parameter(PARAMETER) else { return Ok(None) };
        let invalid = || Refusal::without_reason(500, &format!("invalid shard selector: {text}"));
        let ranges: Vec<_> = text.split("||").map(range).collect::<Option<_>>().ok_or_else(invalid)?;
        let field = ranges.first().map(|(field, _)| *field).filter(|first| ranges.iter().all(|(it, _)| it == first));
        let (field, ranges) = (field.ok_or_else(invalid)?, ranges.into_iter().map(|(_, range)| range).collect());
        Ok(Some(Self { field, ranges, text: text.to_owned() }))
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let field = match self.field {
            Field::Uid => "uid",
            Field::Namespace => "namespace",
        };
        let hash = u128::from(fnv_1a(object["metadata"][field].as_str().unwrap_or_default()));
        self.ranges.iter().any(|(start, end)| (*start..*end).contains(&hash))
    }

    /// As lists repeat it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Reads `shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')`.
fn range(text: &str) -> Option<(Field, (u128, u128))> {
    let mut parts = text.trim().strip_prefix("shardRange(")?.strip_suffix(')')?.split(',').map(str::trim);
    let (field, start, end) = (parts.next()?, parts.next()?, parts.next()?);
    let field = match field {
        "object.metadata.uid" => Field::Uid,
        "object.metadata.namespace" => Field::Namespace,
        _ => return None,
    };
    let range = (hash(start)?, hash(end)?);
    (parts.next().is_none() && range.0 < range.1).then_some((field, range))
}

/// Reads 16 digits, or 2 to the 64th.
fn hash(text: &str) -> Option<u128> {
    let digits = text.strip_prefix("'0x")?.strip_suffix('\'')?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_hash = digits.bytes().all(is_digit) && (digits.len() == 16 || digits == "10000000000000000");
    is_hash.then(|| u128::from_str_radix(digits, 16).ok())?
}

fn fnv_1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
