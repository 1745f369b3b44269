use crate::object::Uid;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::Range;

/// What divides objects into shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardBy {
    /// The hash of `metadata.uid`: objects are spread evenly.
    Uid,
    /// The hash of `metadata.namespace`: the objects of a namespace are in one shard.
    Namespace,
}

/// A number of shards, and what divides objects into them.
///
/// A shard is a range of hashes: FNV-1a of 64 bits, as an API server computes it for a `shardSelector` (KEP-5866).
///
/// ```
/// use listwatch_core::object::Uid;
/// use listwatch_core::shards::{ShardBy, ShardSpace};
///
/// let space = ShardSpace::new(ShardBy::Uid, 2);
/// let shard = space.of_uid(&Uid::from("0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9e04"));
/// assert!(shard < 2);
/// let selector = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
/// assert_eq!(space.selector([0]), selector);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardSpace {
    by: ShardBy,
    count: u16,
}

impl ShardSpace {
    /// So many shards; one at least.
    pub const fn new(by: ShardBy, count: u16) -> Self {
        Self { by, count: if count == 0 { 1 } else { count } }
    }

    /// What divides objects.
    pub const fn by(self) -> ShardBy {
        self.by
    }

    /// The number of shards.
    pub const fn count(self) -> u16 {
        self.count
    }

    /// The shard of an object with this uid, if uids divide objects.
    pub fn of_uid(self, uid: &Uid) -> u16 {
        self.of_text(uid.encode(&mut [0; Uid::CANONICAL_LEN]))
    }

    /// The shard of the objects in this namespace, if namespaces divide objects. Objects without one have the empty text.
    pub fn of_namespace(self, namespace: Option<&str>) -> u16 {
        self.of_text(namespace.unwrap_or_default())
    }

    /// The shard of an object; `None` of one without a uid, if uids divide objects.
    pub fn of_object(self, namespace: Option<&str>, uid: Option<&Uid>) -> Option<u16> {
        match self.by {
            ShardBy::Uid => uid.map(|uid| self.of_uid(uid)),
            ShardBy::Namespace => Some(self.of_namespace(namespace)),
        }
    }

    fn of_text(self, text: &str) -> u16 {
        ((u128::from(fnv_1a(text)) * u128::from(self.count)) >> u64::BITS) as u16
    }

    /// The hashes of a shard.
    fn hashes(self, shard: u16) -> Range<u128> {
        let begin = |shard: u16| (u128::from(shard) << u64::BITS).div_ceil(self.count.into());
        begin(shard)..begin(shard + 1)
    }

    /// The `shardSelector` of these shards, which are in ascending order: neighbours are one range. An empty selector would
    /// select all objects, so that of no shards is a range of one hash.
    pub fn selector(self, shards: impl IntoIterator<Item = u16>) -> String {
        let mut ranges: alloc::vec::Vec<Range<u128>> = alloc::vec::Vec::new();
        for shard in shards.into_iter().filter(|shard| *shard < self.count) {
            let hashes = self.hashes(shard);
            match ranges.last_mut() {
                Some(last) if last.end == hashes.start => last.end = hashes.end,
                _ => ranges.push(hashes),
            }
        }
        if ranges.is_empty() {
            ranges.push(0..1);
        }
        let range =
            |it: &Range<u128>| format!("shardRange({}, '0x{:016x}', '0x{:016x}')", self.by.path(), it.start, it.end);
        ranges.iter().map(range).collect::<alloc::vec::Vec<_>>().join(" || ")
    }
}

impl ShardBy {
    fn path(self) -> String {
        format!("object.metadata.{self}")
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::Uid, Self::Namespace].into_iter().find(|by| by.to_string() == text)
    }
}

/// The name of the field in the metadata.
impl fmt::Display for ShardBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uid => "uid",
            Self::Namespace => "namespace",
        })
    }
}

/// Fowler, Noll and Vo's hash, variant 1a.
fn fnv_1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::vec::Vec;

    #[test]
    fn the_hash_is_that_of_the_published_vectors() {
        assert_eq!(
            [fnv_1a(""), fnv_1a("a"), fnv_1a("foobar")],
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }

    #[test]
    fn each_hash_is_in_the_range_of_its_shard_and_the_ranges_cover_all() {
        for count in [1, 2, 3, 7, 32, 1000] {
            let space = ShardSpace::new(ShardBy::Namespace, count);
            let ends: Vec<_> = (0..count).map(|shard| space.hashes(shard)).collect();
            assert!(ends.windows(2).all(|pair| pair[0].end == pair[1].start && !pair[0].is_empty()));
            assert_eq!((ends[0].start, ends[ends.len() - 1].end), (0, 1 << 64));
            for n in 0..500 {
                let name = format!("team-{n}");
                let shard = space.of_namespace(Some(&name));
                assert!(ends[usize::from(shard)].contains(&fnv_1a(&name).into()), "{name} of {count}");
            }
        }
    }

    #[test]
    fn uids_are_spread_evenly() {
        let (space, mut random, mut counts) = (ShardSpace::new(ShardBy::Uid, 32), Random::new(1), [0_u32; 32]);
        for _ in 0..32_000 {
            let [high, low] = [(); 2].map(|()| random.next());
            let text = format!(
                "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
                high >> 32,
                high & 0xffff,
                low & 0xfff,
                (low >> 12) & 0xfff,
                low >> 16
            );
            counts[usize::from(space.of_uid(&Uid::from(&*text)))] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn neighbours_are_one_range_and_the_last_one_ends_at_two_to_the_64th() {
        let space = ShardSpace::new(ShardBy::Uid, 4);
        let selector = "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000') || \
                        shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')";
        assert_eq!(space.selector([0, 2, 3]), selector);
        let none = "shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000001')";
        assert_eq!(space.selector([]), none);
    }
}
