//! The invariants between any two operations; for tests.

use super::EventLogIn;
use super::subscriber::Subscriber;
use crate::storage::{Mem, Slot, Versioned};

impl<V: Versioned<Key: Clone> + Clone, M: Mem> EventLogIn<V, M> {
    /// Panics if entries, backlogs, marks and subscribers do not fit together.
    #[doc(hidden)]
    pub fn check(&self) {
        let cursors = || self.subscribers.iter().map(|(_, subscriber)| subscriber.cursor);
        self.ring.check(cursors);
        self.subscribers.iter().for_each(|(slot, subscriber)| self.check_subscriber(slot, subscriber));
        let (records, marks) = self.subscribers.iter().fold((0, 0), |(records, marks), (_, subscriber)| {
            (records + subscriber.backlog.len(), marks + subscriber.marks.len())
        });
        assert_eq!(records, self.backlog.len(), "every record is of a subscriber");
        assert_eq!(marks, self.marks.len(), "every mark is of a subscriber");
    }

    fn check_subscriber(&self, slot: Slot, subscriber: &Subscriber<V, M>) {
        let numbers = || self.backlog.iter(&subscriber.backlog).map(|record| record.content.number);
        assert!(numbers().is_sorted(), "in the order of arrival");
        assert!(numbers().all(|number| number <= self.ring.end()));
        assert_eq!(numbers().count(), subscriber.backlog.len());
        for record in self.backlog.iter(&subscriber.backlog) {
            let key = record.content.change.key();
            let found = self.find_folded(slot, key).expect("a record is found by its key");
            assert!(core::ptr::eq(self.backlog.get(found), &record.content), "a key has one record");
        }
    }
}
