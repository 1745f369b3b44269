//! Tasks that wait for a change, each with its waker.

use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

/// The wakers of the tasks that wait. As a waker itself, it wakes all of them.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<Wakers>);

#[derive(Debug, Default)]
struct Wakers {
    /// The number of the next wait.
    next: u64,
    by_wait: BTreeMap<u64, Waker>,
}

/// One task's place among those that wait. Its waker goes with it.
#[derive(Debug)]
pub(crate) struct Wait {
    waiting: Arc<Waiting>,
    number: u64,
}

impl Waiting {
    /// A place for one more task.
    pub(crate) fn join(self: &Arc<Self>) -> Wait {
        let mut wakers = self.lock();
        wakers.next += 1;
        Wait { waiting: Arc::clone(self), number: wakers.next }
    }

    /// Waits until `found` returns a value. It is called at once, and after each change.
    pub(crate) async fn until<T>(self: &Arc<Self>, mut found: impl FnMut() -> Option<T>) -> T {
        let wait = self.join();
        poll_fn(|cx| {
            // First: the change may come meanwhile.
            wait.set(cx.waker());
            found().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().by_wait.len()
    }

    fn lock(&self) -> MutexGuard<'_, Wakers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waiting = core::mem::take(&mut self.lock().by_wait);
        waiting.into_values().for_each(Waker::wake);
    }
}

impl Wait {
    /// Wakes the task at the next change.
    pub(crate) fn set(&self, waker: &Waker) {
        let waker = waker.clone();
        let before = self.waiting.lock().by_wait.insert(self.number, waker);
        // Its drop may drop the task, which waits too.
        drop(before);
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let waker = self.waiting.lock().by_wait.remove(&self.number);
        drop(waker);
    }
}
