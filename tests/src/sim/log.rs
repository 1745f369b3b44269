//! The store behind every server: one revision for all writes, and the write at each revision.

use super::object::{Health, KeyNumber, Stored};

/// A change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub revision: u64,
    /// Whose.
    pub key: KeyNumber,
    /// What was there.
    pub before: Option<Stored>,
    /// What is there now.
    pub after: Option<Stored>,
}

/// All that was ever written, as etcd would have it without compaction; what is compacted is only not answered any more.
#[derive(Clone, Debug)]
pub struct Log {
    revision: u64,
    compacted: u64,
    uids: u64,
    era: u32,
    entries: Vec<Entry>,
    /// By key, each state with its revision; `None` where it was deleted.
    histories: Vec<Vec<(u64, Option<Stored>)>>,
}

/// What is written into an object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Write {
    /// The value of its label `app`.
    pub app: u8,
    /// The number of its node.
    pub node: u8,
    /// How much of it can be read.
    pub health: Health,
}

impl Log {
    /// An empty store for so many keys.
    #[must_use]
    pub fn new(keys: KeyNumber) -> Self {
        let histories = vec![Vec::new(); keys.into()];
        Self { revision: 0, compacted: 0, uids: 0, era: 0, entries: Vec::new(), histories }
    }

    /// The latest revision.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The oldest revision that can still be asked for.
    #[must_use]
    pub fn compacted(&self) -> u64 {
        self.compacted
    }

    /// How many times it was restored.
    #[must_use]
    pub fn era(&self) -> u32 {
        self.era
    }

    /// Creates an object, or changes it.
    pub fn put(&mut self, key: KeyNumber, write: Write) {
        let before = self.state(key, self.revision);
        self.uids += u64::from(before.is_none());
        let uid = before.map_or(self.uids, |before| before.uid);
        let Write { app, node, health } = write;
        self.enter(key, before, Some(Stored { uid, revision: self.revision + 1, app, node, health }));
    }

    /// Deletes an object, if it is there.
    pub fn delete(&mut self, key: KeyNumber) {
        let before = self.state(key, self.revision);
        if before.is_some() {
            self.enter(key, before, None);
        }
    }

    /// Others write to other collections: the revision goes on.
    pub fn skip(&mut self, revisions: u64) {
        self.revision += revisions;
    }

    /// What lies before `revision` cannot be asked for any more.
    pub fn compact(&mut self, revision: u64) {
        self.compacted = self.compacted.max(revision.min(self.revision));
    }

    /// A backup of the time of `revision` takes the store's place: what came later never was.
    pub fn restore(&mut self, revision: u64) {
        self.era += 1;
        self.revision = revision;
        self.compacted = self.compacted.min(revision);
        self.entries.truncate(self.entries.partition_point(|entry| entry.revision <= revision));
        for history in &mut self.histories {
            history.truncate(history.partition_point(|(at, _)| *at <= revision));
        }
    }

    /// The number of keys.
    #[must_use]
    pub fn keys(&self) -> KeyNumber {
        self.histories.len() as KeyNumber
    }

    /// An object as it was at `revision`.
    #[must_use]
    pub fn state(&self, key: KeyNumber, revision: u64) -> Option<Stored> {
        let history = &self.histories[usize::from(key)];
        let after = history.partition_point(|(at, _)| *at <= revision);
        after.checked_sub(1).and_then(|at| history[at].1)
    }

    /// All objects as they were at `revision`.
    pub fn states(&self, revision: u64) -> impl Iterator<Item = (KeyNumber, Stored)> {
        (0..self.keys()).filter_map(move |key| self.state(key, revision).map(|object| (key, object)))
    }

    /// Everything that an object was up to `revision`.
    pub fn past(&self, key: KeyNumber, revision: u64) -> impl Iterator<Item = Stored> {
        let history = &self.histories[usize::from(key)];
        history.iter().take_while(move |(at, _)| *at <= revision).filter_map(|(_, state)| *state)
    }

    /// Whether an object was gone, or not among those that `is_seen` sees, between two revisions.
    pub fn was_gone(&self, key: KeyNumber, from: u64, to: u64, is_seen: impl Fn(&Stored) -> bool) -> bool {
        let between = self.histories[usize::from(key)].iter().filter(|(at, _)| from < *at && *at <= to);
        between.into_iter().any(|(_, state)| !state.as_ref().is_some_and(&is_seen))
    }

    /// What happened after `revision`.
    #[must_use]
    pub fn since(&self, revision: u64) -> &[Entry] {
        // Whoever follows stands near the end.
        let recent = self.entries.iter().rev().take_while(|entry| entry.revision > revision).count();
        &self.entries[self.entries.len() - recent..]
    }

    fn enter(&mut self, key: KeyNumber, before: Option<Stored>, after: Option<Stored>) {
        self.revision += 1;
        self.entries.push(Entry { revision: self.revision, key, before, after });
        self.histories[usize::from(key)].push((self.revision, after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_can_be_looked_at() {
        let mut log = Log::new(2);
        log.put(0, Write::default());
        log.skip(3);
        log.put(0, Write { app: 1, ..Write::default() });
        log.delete(0);
        log.delete(0);
        log.put(0, Write::default());
        let uids: Vec<_> = (0..=7).map(|revision| log.state(0, revision).map(|state| state.uid)).collect();
        assert_eq!(uids, [None, Some(1), Some(1), Some(1), Some(1), Some(1), None, Some(2)]);
        assert_eq!(log.state(0, 5).map(|state| (state.revision, state.app)), Some((5, 1)));
        assert_eq!(log.since(5).iter().map(|entry| entry.revision).collect::<Vec<_>>(), [6, 7]);
        assert_eq!((log.states(7).count(), log.past(0, 7).count()), (1, 3));
    }

    #[test]
    fn a_restored_store_knows_nothing_of_what_came_later() {
        let mut log = Log::new(1);
        log.put(0, Write::default());
        log.delete(0);
        log.restore(1);
        assert_eq!((log.revision(), log.era(), log.since(0).len()), (1, 1, 1));
        assert!(log.state(0, 1).is_some());
    }
}
