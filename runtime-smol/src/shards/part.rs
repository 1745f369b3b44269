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
    /// The shards of the last selection.
    selected: BTreeSet<u16>,
    /// Those of them of which it has all objects, and that were wanted without a break since.
    has: BTreeSet<u16>,
    /// Those of them that are listed, and that were wanted without a break since.
    lists: Option<BTreeSet<u16>>,
    by: Arc<Waiting>,
}

impl Part {
    pub(super) fn new(space: ShardSpace, kept: Kept, by: Arc<Waiting>) -> Self {
        let [selected, has] = [BTreeSet::new(), BTreeSet::new()];
        Self { space, kept, number: 0, selected, has, lists: None, by }
    }

    /// The first selection, which has no object; `None` if all are kept.
    pub(super) fn first(&mut self) -> Option<Selection> {
        (self.kept != Kept::All).then(|| self.selection(BTreeSet::new(), true))
    }

    /// Whether the cache has all objects of a shard, as its last holder left them.
    pub(super) fn has(&self, shard: u16) -> bool {
        self.kept == Kept::All || self.has.contains(&shard)
    }

    /// Whether the cache keeps objects of a shard.
    pub(super) fn keeps(&self, shard: u16) -> bool {
        self.kept == Kept::All || self.selected.contains(&shard)
    }

    /// A term has ended. Others may have worked on each shard since.
    pub(super) fn end_term(&mut self) {
        self.retain(&BTreeSet::new());
    }

    /// The next selection, if the cache has other shards than those that are wanted. `selected` is the number of the last one
    /// that the cache has. One list ends before the next one begins, however many shards come meanwhile.
    pub(super) fn poll(&mut self, wanted: BTreeSet<u16>, selected: u64) -> Option<Selection> {
        self.retain(&wanted);
        if let Some(listed) = self.lists.take_if(|_| selected >= self.number) {
            self.has = listed;
        }
        let is_narrower = wanted == self.has;
        if self.kept == Kept::All || self.lists.is_some() || is_narrower && wanted == self.selected {
            return None;
        }
        self.lists = (!is_narrower).then(|| wanted.clone());
        self.selected.clone_from(&wanted);
        Some(self.selection(wanted, is_narrower))
    }

    /// A shard that is wanted again later is listed again. Another replica may have worked on it meanwhile.
    fn retain(&mut self, wanted: &BTreeSet<u16>) {
        let known = [Some(&mut self.has), self.lists.as_mut()];
        known.into_iter().flatten().for_each(|shards| shards.retain(|shard| wanted.contains(shard)));
    }

    fn selection(&mut self, shards: BTreeSet<u16>, is_narrower: bool) -> Selection {
        self.number += 1;
        let (is_asked, by) = (self.kept == Kept::Asked, Arc::downgrade(&self.by));
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

    #[test]
    fn a_shard_that_goes_and_comes_back_during_a_list_is_listed_again() {
        let mut part = part(Kept::Part);
        part.poll([1, 2].into(), 0);
        assert!(part.poll([1].into(), 0).is_none() && part.poll([1, 2].into(), 0).is_none(), "the list goes on");
        let selection = part.poll([1, 2].into(), 1).unwrap();
        assert_eq!((selection.number, selection.is_narrower, has(&part)), (2, false, vec![1]));
        assert!(part.poll([1, 2].into(), 2).is_none());
        assert_eq!(has(&part), [1, 2]);
    }

    #[test]
    fn a_shard_that_the_cache_had_and_that_goes_and_comes_back_during_a_list_is_listed_again() {
        let mut part = part(Kept::Part);
        part.poll([1].into(), 0);
        part.poll([1, 2].into(), 1);
        assert_eq!(has(&part), [1]);
        assert!(part.poll([2].into(), 1).is_none() && part.poll([1, 2].into(), 1).is_none(), "the list goes on");
        assert!(has(&part).is_empty());
        assert!(!part.poll([1, 2].into(), 2).unwrap().is_narrower);
        assert_eq!(has(&part), [2]);
    }

    #[test]
    fn a_shard_that_goes_during_its_list_leaves_the_cache_after_it() {
        let mut part = part(Kept::Part);
        part.poll([1, 2].into(), 0);
        part.poll([1].into(), 0);
        let selection = part.poll([1].into(), 1).unwrap();
        assert_eq!((selection.shards, selection.is_narrower, has(&part)), ([1].into(), true, vec![1]));
        assert!(part.poll([1].into(), 2).is_none());
    }

    #[test]
    fn another_term_lists_each_shard_again() {
        let mut part = part(Kept::Part);
        part.poll([1, 2].into(), 0);
        part.end_term();
        assert!(part.poll([1, 2].into(), 0).is_none(), "the list goes on");
        assert!(!part.poll([1, 2].into(), 1).unwrap().is_narrower);
        assert!(part.poll([1, 2].into(), 2).is_none());
        part.end_term();
        assert_eq!((has(&part), part.keeps(1)), (vec![], true), "until their last work has ended");
        assert!(!part.poll([1, 2].into(), 2).unwrap().is_narrower);
    }
}
