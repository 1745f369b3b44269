//! The end of a world.

use crate::caught::caught_call;
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
    waiting: Arc<Waiting>,
}

enum State {
    Lives(Ended),
    Over(Result<(), String>),
}

/// Whoever waits for the end; each of them polls it.
#[derive(Default)]
struct Waiting(Mutex<Vec<Waker>>);

impl End {
    pub(super) fn new(ended: Ended) -> Self {
        Self { state: Mutex::new(State::Lives(ended)), waiting: Arc::default() }
    }

    /// Waits until the world ends.
    pub(super) async fn wait(&self) -> Result<(), String> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Result<(), String>> {
        // First: the world may end while another task polls it.
        self.waiting.add(cx.waker());
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
    fn add(&self, waker: &Waker) {
        let mut waiting = lock(&self.0);
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waiting = core::mem::take(&mut *lock(&self.0));
        waiting.into_iter().for_each(Waker::wake);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
