//! Waits of a key that end with its next reconcile.

use super::sources::lock;
use core::convert::Infallible;
use listwatch_core::Key;
use smol::channel::{Receiver, Sender, bounded};
use std::collections::HashMap;
use std::sync::Mutex;

/// What keeps the waits of each key.
#[derive(Default)]
pub(super) struct Waits(Mutex<HashMap<Key, Vec<Sender<Infallible>>>>);

/// Closed with the next reconcile of the key.
pub(super) type UntilNext = Receiver<Infallible>;

impl Waits {
    /// Begins a wait of a key.
    pub(super) fn begin(&self, key: &Key) -> UntilNext {
        let (keep, over) = bounded(1);
        lock(&self.0).entry(key.clone()).or_default().push(keep);
        over
    }

    /// Ends the waits of a key.
    pub(super) fn end(&self, key: &Key) {
        let ended = lock(&self.0).remove(key);
        drop(ended);
    }
}
