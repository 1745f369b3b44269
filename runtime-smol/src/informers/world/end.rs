//! The end of a world.

use crate::caught::caught_call;
use crate::waiting::{Wait, Waiting};
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

/// When a world ends, and why, if it should not.
pub(super) type Ended = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// The end that all controllers of a world wait for.
pub(super) struct End {
    state: Mutex<State>,
    /// The tasks that wait for the end; each of them polls it.
    waiting: Arc<Waiting>,
}

enum State {
    Lives(Ended),
    Over(Result<(), String>),
}

impl End {
    pub(super) fn new(ended: Ended) -> Self {
        Self { state: Mutex::new(State::Lives(ended)), waiting: Arc::default() }
    }

    /// Waits until the world ends.
    pub(super) async fn wait(&self) -> Result<(), String> {
        let wait = self.waiting.join();
        poll_fn(|cx| self.poll(&wait, cx)).await
    }

    fn poll(&self, wait: &Wait, cx: &Context<'_>) -> Poll<Result<(), String>> {
        // First: the world may end while another task polls it.
        wait.set(cx.waker());
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
        assert_eq!(end.waiting.len(), 0);
    }
}
