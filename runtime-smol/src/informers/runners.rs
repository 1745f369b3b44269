//! The futures that run the streams' tasks: each is woken for each task, so none has to be polled for the others to go on.

use crate::caught::caught_call;
use core::mem;
use core::task::{Poll, Waker};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The runners of an executor.
#[derive(Default)]
pub(super) struct Runners {
    count: AtomicUsize,
    last_id: AtomicUsize,
    /// Those that found no task, and were not woken since.
    asleep: Mutex<Vec<(usize, Waker)>>,
}

impl Runners {
    /// Whether there is one, polled or not.
    pub(super) fn is_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Wakes all that sleep, the longest sleeper first. A waker that panics does not keep the others from being woken.
    pub(super) fn wake(&self) {
        let asleep = mem::take(&mut *self.lock());
        for (_, waker) in asleep {
            // The panic has been printed. The task that wakes is not the one that it concerns.
            let _ = caught_call(|| waker.wake());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Waker)>> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A runner's place among the others, until it is dropped.
pub(super) struct Place {
    runners: Arc<Runners>,
    id: usize,
}

impl Place {
    pub(super) fn new(runners: Arc<Runners>) -> Self {
        runners.count.fetch_add(1, Ordering::Relaxed);
        let id = runners.last_id.fetch_add(1, Ordering::Relaxed);
        Self { runners, id }
    }

    /// Runs tasks by `try_tick`, until it finds none, or has run as many as `ticks` and others get their turn. It is never
    /// done.
    pub(super) fn poll(&self, waker: &Waker, ticks: usize, mut try_tick: impl FnMut() -> bool) -> Poll<()> {
        let (mut ran, mut is_asleep) = (0, false);
        while ran < ticks {
            if try_tick() {
                ran += 1;
                continue;
            }
            if is_asleep {
                return Poll::Pending;
            }
            // A task that became ready before that has woken nobody here, so it is looked for again.
            self.sleep(waker);
            is_asleep = true;
        }
        // Tasks may be left that the others found running when they were woken.
        self.runners.wake();
        waker.wake_by_ref();
        Poll::Pending
    }

    fn sleep(&self, waker: &Waker) {
        let waker = waker.clone();
        let _last = {
            let mut asleep = self.runners.lock();
            let last = take(&mut asleep, self.id);
            asleep.push((self.id, waker));
            last
        };
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.runners.count.fetch_sub(1, Ordering::Relaxed);
        let _waker = take(&mut self.runners.lock(), self.id);
    }
}

fn take(asleep: &mut Vec<(usize, Waker)>, id: usize) -> Option<Waker> {
    let place = asleep.iter().position(|(sleeper, _)| *sleeper == id)?;
    Some(asleep.remove(place).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_becomes_ready_before_the_runner_sleeps_is_found() {
        let place = Place::new(Arc::default());
        let mut found = [false, true, false].into_iter();
        assert!(place.poll(Waker::noop(), 16, || found.next().is_some_and(|found| found)).is_pending());
        assert_eq!((found.len(), place.runners.lock().len()), (0, 1));
        let runners = Arc::clone(&place.runners);
        drop(place);
        assert!(runners.lock().is_empty() && !runners.is_any());
    }
}
