//! What did not fit the cache, until the reflector is told.

use crate::fifo::Delta;

/// What the cache had no room for, and what made room, since the reflector was told last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unfit {
    /// A whole list was queued.
    pub(super) has_list: bool,
    /// There was no room for the state of an object.
    pub(super) is_any: bool,
    /// How many objects of a list the cache lacks.
    pub(super) listed: usize,
    /// The cache lacks an object that a watch brought.
    pub(super) watched: bool,
    /// An object has left the cache.
    pub(super) has_room: bool,
    /// A part of a list was older than the cache.
    pub(super) is_overtaken: bool,
}

impl Unfit {
    /// There was no room for the object of a delta, of which the cache has another state or none.
    pub(super) fn note<V>(&mut self, delta: &Delta<V>, is_held: bool) {
        self.is_any = true;
        match delta {
            _ if is_held => {}
            Delta::Replaced(_) => self.listed += 1,
            _ => self.watched = true,
        }
    }
}
