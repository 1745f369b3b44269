//! The map: which member holds each shard, as an annotation of the group's lease.

use super::space::{ShardBy, ShardSpace};
use crate::time::{MicroTime, WallTime};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The annotation of the group's lease.
pub(super) const ANNOTATION: &str = "listwatch.dev/shards";

/// A term of a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder {
    /// The name of its lease.
    pub(super) member: Arc<str>,
    /// `spec.acquireTime` of its lease in this term.
    pub(super) term: WallTime,
}

/// The holder of each shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShardMap {
    pub(super) space: ShardSpace,
    pub(super) holders: Vec<Option<Holder>>,
    /// Each write has another number: a write that changes nothing would have no version of its own.
    turn: u64,
}

#[derive(Deserialize, Serialize)]
struct Written {
    by: String,
    count: u16,
    turn: u64,
    holders: BTreeMap<String, String>,
}

impl ShardMap {
    pub(super) fn new(space: ShardSpace) -> Self {
        Self { space, holders: vec![None; space.count().into()], turn: 0 }
    }

    /// Reads the map of a lease; `None` if it has none that can be read.
    pub(super) fn read(lease: &Value) -> Option<Self> {
        let text = lease["metadata"]["annotations"][ANNOTATION].as_str()?;
        let written: Written = serde_json::from_str(text).ok()?;
        let mut map = Self::new(ShardSpace::new(ShardBy::parse(&written.by)?, written.count));
        map.turn = written.turn;
        for (holder, shards) in &written.holders {
            let (member, term) = holder.split_once('@')?;
            let holder = Holder { member: member.into(), term: term.parse().ok()? };
            for shard in numbers(shards)? {
                *map.holders.get_mut(usize::from(shard))? = Some(holder.clone());
            }
        }
        Some(map)
    }

    /// The annotation's text, with the number of the next write.
    pub(super) fn next_text(&self) -> String {
        let mut holders = BTreeMap::<String, Vec<String>>::new();
        for (shard, holder) in self.holders.iter().enumerate() {
            let Some(Holder { member, term }) = holder else { continue };
            holders.entry(format!("{member}@{}", MicroTime(*term))).or_default().push(shard.to_string());
        }
        let holders = holders.into_iter().map(|(holder, shards)| (holder, shards.join(","))).collect();
        let (by, count) = (self.space.by().to_string(), self.space.count());
        let written = Written { by, count, turn: self.turn.wrapping_add(1), holders };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// The holders, each once.
    pub(super) fn distinct(&self) -> Vec<&Holder> {
        let mut holders: Vec<_> = self.holders.iter().flatten().collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }
}

fn numbers(text: &str) -> Option<Vec<u16>> {
    text.split(',').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lease(text: &str) -> Value {
        json!({ "metadata": { "annotations": { ANNOTATION: text } } })
    }

    #[test]
    fn a_map_comes_back_as_it_was_written_and_each_write_differs() {
        let mut map = ShardMap::new(ShardSpace::new(ShardBy::Namespace, 4));
        let holder =
            |member: &str| Holder { member: member.into(), term: WallTime::from_unix_micros(1_700_000_000_000_001) };
        (map.holders[0], map.holders[2], map.holders[3]) = (Some(holder("a")), Some(holder("b")), Some(holder("a")));
        let text = map.next_text();
        assert!(text.contains(r#""a@2023-11-14T22:13:20.000001Z":"0,3""#), "{text}");
        let read = ShardMap::read(&lease(&text)).unwrap();
        assert_eq!((&read.holders, read.space), (&map.holders, map.space));
        assert_eq!(read.distinct(), [&holder("a"), &holder("b")]);
        assert_ne!(read.next_text(), text);
    }

    #[test]
    fn a_text_that_is_no_map_is_none() {
        let good = r#"{"by":"uid","count":2,"turn":1,"holders":{"a@2023-11-14T22:13:20.000001Z":"0"}}"#;
        assert!(ShardMap::read(&lease(good)).is_some());
        let bad =
            [("uid", "name"), (":2", ":70000"), ("@", "_"), (r#""0""#, r#""2""#), (r#""0""#, r#""""#), ("{", "[")];
        for (from, to) in bad {
            assert_eq!(ShardMap::read(&lease(&good.replace(from, to))), None, "{to}");
        }
        assert_eq!(ShardMap::read(&json!({})), None);
    }
}
