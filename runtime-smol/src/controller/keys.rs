use core::fmt;
use listwatch_core::Key;
use listwatch_core::queue::Priority;

/// The keys that a mapper finds for one object. They go to the queue when the mapper returns.
pub struct Keys<'a> {
    add: &'a mut dyn FnMut(Key, Priority),
    priority: Priority,
}

impl<'a> Keys<'a> {
    pub(super) fn new(priority: Priority, add: &'a mut dyn FnMut(Key, Priority)) -> Self {
        Self { add, priority }
    }

    /// Lets the controller reconcile `key`: with [`Priority::Low`] if the object is part of an initial list, and with
    /// [`Priority::Normal`] otherwise.
    pub fn add(&mut self, key: impl Into<Key>) {
        (self.add)(key.into(), self.priority);
    }

    /// Lets the controller reconcile `key` with this priority.
    pub fn add_with_priority(&mut self, key: impl Into<Key>, priority: Priority) {
        (self.add)(key.into(), priority);
    }
}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("priority", &self.priority).finish_non_exhaustive()
    }
}
