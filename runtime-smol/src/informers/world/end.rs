//! The end of a world.

use crate::caught::caught_call;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

/// When a world ends, and why, if it should not.
pub(super) type Ended = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// The end that all controllers of a world wait for.
pub(super) struct End {
    state: Mutex<State>,
    waiting: Arc<Waiting>,
}

enum State {
    Lives(Ended),
    Over(Result<(), String>),
}

/// The wakers of the tasks that wait for the end; each of them polls it.
#[derive(Default)]
struct Waiting(Mutex<Wakers>);

#[derive(Default)]
struct Wakers {
    /// The number of the next wait.
    next: u64,
    by_wait: BTreeMap<u64, Waker>,
}

/// A wait, whose waker goes with it.
struct Wait<'e> {
    end: &'e End,
    number: u64,
}

impl End {
    pub(super) fn new(ended: Ended) -> Self {
        Self { state: Mutex::new(State::Lives(ended)), waiting: Arc::default() }
    }

    /// Waits until the world ends.
    pub(super) async fn wait(&self) -> Result<(), String> {
        let wait = Wait { end: self, number: self.waiting.begin() };
        poll_fn(|cx| wait.end.poll(wait.number, cx)).await
    }

    fn poll(&self, wait: u64, cx: &Context<'_>) -> Poll<Result<(), String>> {
        // First: the world may end while another task polls it.
        self.waiting.set(wait, cx.waker());
        let mut state = lock(&self.state);
        let over = match &mut *state {
            State::Over(over) => return Poll::Ready(over.clone()),
            State::Lives(ended) => {
                let waker = Waker::from(Arc::clone(&self.waiting));
                match caught_call(|| ended.as_mut().poll(&mut Context::from_waker(&waker))) {
                    Ok(Poll::Pending) => return Poll::Pending,
                    Ok(Poll::Ready(over)) => over,
                    Err(panic) => Err(format!("the future that ends it panicked: {panic}")),
                }
            }
        };
        let ended = core::mem::replace(&mut *state, State::Over(over.clone()));
        drop(state);
        let _panicked = caught_call(|| drop(ended));
        self.waiting.wake_by_ref();
        Poll::Ready(over)
    }
}

impl Waiting {
    /// The number of a new wait.
    fn begin(&self) -> u64 {
        let mut wakers = lock(&self.0);
        wakers.next += 1;
        wakers.next
    }

    fn set(&self, wait: u64, waker: &Waker) {
        let before = lock(&self.0).by_wait.insert(wait, waker.clone());
        // Its drop may drop the task, which waits too.
        drop(before);
    }

    fn end(&self, wait: u64) {
        let waker = lock(&self.0).by_wait.remove(&wait);
        drop(waker);
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.end.waiting.end(self.number);
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waiting = core::mem::take(&mut lock(&self.0).by_wait);
        waiting.into_values().for_each(Waker::wake);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::future::pending;
    use core::pin::pin;

    #[test]
    fn controllers_that_were_dropped_left_their_wakers_until_the_end_of_their_world() {
        let end = End::new(Box::pin(pending()));
        for _ in 0..1000 {
            let waker = Waker::from(Arc::<Waiting>::default());
            assert!(pin!(end.wait()).as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(lock(&end.waiting.0).by_wait.len(), 0);
    }
}
