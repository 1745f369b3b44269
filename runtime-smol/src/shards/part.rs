//! Which shards the cache of the own kind has.

use crate::informers::Selection;
use crate::waiting::Waiting;
use listwatch_core::shards::ShardSpace;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the cache of the own kind keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    All,
    /// The objects of this replica's shards.
    Part,
    /// The same, and the server is asked for no others.
    Asked,
}

/// Which shards the cache has. It has those of the last selection, or gets them by a list.
pub(super) struct Part {
    space: ShardSpace,
    kept: Kept,
    /// That of the last selection.
    number: u64,
    /// The shards of which it has all objects.
    has: BTreeSet<u16>,
    /// The shards whose objects are listed.
    lists: Option<BTreeSet<u16>>,
    by: Arc<Waiting>,
}

impl Part {
    pub(super) fn new(space: ShardSpace, kept: Kept, by: Arc<Waiting>) -> Self {
        Self { space, kept, number: 0, has: BTreeSet::new(), lists: None, by }
    }

    /// The first selection, which has no object; `None` if all are kept.
    pub(super) fn first(&mut self) -> Option<Selection> {
        (self.kept != Kept::All).then(|| self.selection(BTreeSet::new(), true))
    }

    /// Whether the cache has all objects of a shard.
    pub(super) fn has(&self, shard: u16) -> bool {
        self.kept == Kept::All || self.has.contains(&shard)
    }

    /// The next selection, if the cache has other shards than those that are wanted. `selected` is the number of the last one
    /// that the cache has. One list ends before the next one begins, however many shards come meanwhile.
    pub(super) fn poll(&mut self, wanted: BTreeSet<u16>, selected: u64) -> Option<Selection> {
        if let Some(listed) = self.lists.take_if(|_| selected >= self.number) {
            self.has = listed;
        }
        if self.kept == Kept::All || self.lists.is_some() || wanted == self.has {
            return None;
        }
        let is_narrower = wanted.is_subset(&self.has);
        self.has.retain(|shard| wanted.contains(shard));
        self.lists = (!is_narrower).then(|| wanted.clone());
        Some(self.selection(wanted, is_narrower))
    }

    fn selection(&mut self, shards: BTreeSet<u16>, is_narrower: bool) -> Selection {
        self.number += 1;
        let (is_asked, by) = (self.kept == Kept::Asked, Arc::clone(&self.by));
        Selection { number: self.number, space: self.space, shards, is_asked, is_narrower, by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::shards::ShardBy;

    fn part(kept: Kept) -> Part {
        Part::new(ShardSpace::new(ShardBy::Uid, 8), kept, Arc::default())
    }

    fn has(part: &Part) -> Vec<u16> {
        (0..8).filter(|shard| part.has(*shard)).collect()
    }

    #[test]
    fn a_whole_cache_has_each_shard_and_selects_nothing() {
        let mut part = part(Kept::All);
        assert!(part.first().is_none() && part.poll([3].into(), 0).is_none());
        assert_eq!(has(&part).len(), 8);
    }

    #[test]
    fn a_cache_has_a_shard_once_its_list_is_read_and_one_list_ends_before_the_next() {
        let mut part = part(Kept::Part);
        assert_eq!((part.first().unwrap().number, has(&part)), (1, vec![]));
        let selection = part.poll([1, 2].into(), 1).unwrap();
        assert_eq!((selection.number, selection.is_narrower, has(&part)), (2, false, vec![]));
        assert!(part.poll([1, 2, 5].into(), 1).is_none(), "the list goes on");
        let selection = part.poll([2, 5].into(), 2).unwrap();
        assert_eq!((selection.number, selection.is_narrower, has(&part)), (3, false, vec![2]));
        assert!(part.poll([2, 5].into(), 3).is_none());
        assert_eq!(has(&part), [2, 5]);
    }

    #[test]
    fn a_shard_that_is_given_away_needs_no_list() {
        let mut part = part(Kept::Part);
        part.poll([1, 2].into(), 0);
        let selection = part.poll([2].into(), 1).unwrap();
        assert_eq!((selection.shards, selection.is_narrower, has(&part)), ([2].into(), true, vec![2]));
        assert!(part.poll([2].into(), 1).is_none());
    }
}
