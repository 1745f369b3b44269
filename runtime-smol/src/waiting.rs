//! Tasks that wait for a change, each with its waker.

use crate::mutex::Mutex;
use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Wake;

/// The wakers of the tasks that wait. As a waker itself, it wakes all of them.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<Wakers>);

#[derive(Debug, Default)]
struct Wakers {
    /// The number of the next wait.
    next: u64,
    /// How many places there are.
    joined: usize,
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
        let mut wakers = self.0.lock();
        wakers.next += 1;
        wakers.joined += 1;
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

    /// Whether a task has a place, whether or not it waits now.
    pub(crate) fn is_any(&self) -> bool {
        self.0.lock().joined > 0
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.lock().by_wait.len()
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waiting = core::mem::take(&mut self.0.lock().by_wait);
        waiting.into_values().for_each(Waker::wake);
    }
}

impl Wait {
    pub(crate) fn waiting(&self) -> &Arc<Waiting> {
        &self.waiting
    }

    /// Wakes the task at the next change.
    pub(crate) fn set(&self, waker: &Waker) {
        let waker = waker.clone();
        let before = self.waiting.0.lock().by_wait.insert(self.number, waker);
        // Its drop may drop the task, which waits too.
        drop(before);
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut wakers = self.waiting.0.lock();
        wakers.joined -= 1;
        let waker = wakers.by_wait.remove(&self.number);
        // Its drop may drop the task, which waits too.
        drop(wakers);
        drop(waker);
    }
}
