//! The discipline `Lanes` as its documentation defines it. The model counts anew and remembers little.

use listwatch_core::queue::Priority;
use std::collections::VecDeque;

/// Which of the ready keys is next. Keys are in the group of their remainder.
#[derive(Debug)]
pub struct LanesModel {
    aging: u32,
    groups: u8,
    /// The groups that have ready keys, in the order of their turns, for each priority.
    turns: [Vec<u8>; LEVELS],
    /// How many keys others were handed out since a priority was served or empty.
    passed: [u32; LEVELS],
}

const LEVELS: usize = 4;

/// A ready key and its priority.
pub type Ready = (u8, Priority);

impl LanesModel {
    /// No key is ready.
    #[must_use]
    pub fn new(aging: u32, groups: u8) -> Self {
        Self { aging, groups, turns: Default::default(), passed: [0; LEVELS] }
    }

    /// Brings the turns up to date with the keys that are ready, the one that came last at the end.
    pub fn follow(&mut self, ready: &VecDeque<Ready>) {
        for level in 0..LEVELS {
            let groups: Vec<u8> = at(ready, level).map(|key| key % self.groups).collect();
            self.turns[level].retain(|group| groups.contains(group));
            for group in groups {
                if !self.turns[level].contains(&group) {
                    self.turns[level].push(group);
                }
            }
            if self.turns[level].is_empty() {
                self.passed[level] = 0;
            }
        }
    }

    /// The key that is handed out next.
    pub fn next(&mut self, ready: &VecDeque<Ready>) -> Option<u8> {
        let waiting: Vec<usize> = (0..LEVELS).filter(|level| at(ready, *level).next().is_some()).collect();
        let counts_as = |level: &usize| *level as u32 + self.passed[*level] / self.aging;
        let level = *waiting.iter().rev().max_by_key(|level| counts_as(level))?;
        waiting.iter().for_each(|level| self.passed[*level] += 1);
        self.passed[level] = 0;
        let group = self.turns[level].remove(0);
        self.turns[level].push(group);
        at(ready, level).find(|key| key % self.groups == group)
    }
}

fn at(ready: &VecDeque<Ready>, level: usize) -> impl Iterator<Item = u8> {
    ready.iter().filter(move |(_, priority)| *priority as usize == level).map(|(key, _)| *key)
}
