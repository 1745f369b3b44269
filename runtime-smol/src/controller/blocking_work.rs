//! Work that blocks, on threads of a pool. It goes on although its reconcile is dropped.

use crate::waiting::Waiting;
use listwatch_core::Key;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

/// Which keys have such work.
#[derive(Default)]
pub(super) struct BlockingWork {
    keys: Mutex<BTreeMap<Key, usize>>,
    waiting: Arc<Waiting>,
}

/// One such work, until it is dropped.
pub(super) struct Blocking {
    all: Arc<BlockingWork>,
    key: Key,
}

impl BlockingWork {
    /// Counts a work that begins.
    pub(super) fn begin(self: &Arc<Self>, key: &Key) -> Blocking {
        *self.lock().entry(key.clone()).or_default() += 1;
        Blocking { all: Arc::clone(self), key: key.clone() }
    }

    /// Waits until no such work goes on.
    pub(super) async fn ended(&self) {
        self.waiting.until(|| self.lock().is_empty().then_some(())).await;
    }

    /// The keys whose work goes on.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, usize>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        let mut keys = self.all.lock();
        if let Some(count) = keys.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                keys.remove(&self.key);
            }
        }
        drop(keys);
        self.all.waiting.wake_by_ref();
    }
}
