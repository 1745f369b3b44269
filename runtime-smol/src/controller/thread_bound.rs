use core::cell::RefCell;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

/// A future that is not `Send`, as another thread may have it.
pub(super) type LocalFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

thread_local! {
    /// The futures that were polled on this thread.
    static BOUND: RefCell<HashMap<u64, LocalFuture<'static>>> = RefCell::default();
}

/// Holds a future that is not `Send`, and is `Send` itself: the thread that polls it first makes the future and keeps
/// it.
///
/// If it is dropped on another thread, its future is dropped when the thread ends that keeps it.
pub(super) struct ThreadBound {
    state: State,
}

enum State {
    Unmade(Box<dyn FnOnce() -> LocalFuture<'static> + Send>),
    Kept { by: ThreadId, number: u64 },
    Over,
}

impl ThreadBound {
    pub(super) fn new(make: impl FnOnce() -> LocalFuture<'static> + Send + 'static) -> Self {
        Self { state: State::Unmade(Box::new(make)) }
    }

    /// The future, taken from its thread until it is [kept](Self::keep) again.
    fn take(&mut self) -> Option<LocalFuture<'static>> {
        match core::mem::replace(&mut self.state, State::Over) {
            State::Unmade(make) => Some(make()),
            State::Kept { by, number } if by == thread::current().id() => {
                // Without the table, the thread is ending and has dropped its futures.
                BOUND.try_with(|bound| bound.borrow_mut().remove(&number)).ok().flatten()
            }
            State::Kept { .. } => panic!("only one thread can run under a simulated clock: give each its own"),
            State::Over => None,
        }
    }

    fn keep(&mut self, future: LocalFuture<'static>) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let _displaced = BOUND.with(|bound| bound.borrow_mut().insert(number, future));
        self.state = State::Kept { by: thread::current().id(), number };
    }
}

impl Future for ThreadBound {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(mut future) = self.take() else { return Poll::Ready(()) };
        if future.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        self.keep(future);
        Poll::Pending
    }
}

impl Drop for ThreadBound {
    fn drop(&mut self) {
        if matches!(self.state, State::Kept { by, .. } if by == thread::current().id()) {
            drop(self.take());
        }
    }
}

impl fmt::Debug for ThreadBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBound").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::task::Waker;
    use std::rc::Rc;
    use std::sync::Arc;

    /// Holds `held` for ever.
    fn bound(held: &Arc<()>) -> ThreadBound {
        let held = Arc::clone(held);
        ThreadBound::new(move || {
            Box::pin(async move {
                let local = Rc::new(held);
                smol::future::pending::<()>().await;
                drop(local);
            })
        })
    }

    fn poll(bound: &mut ThreadBound) -> Poll<()> {
        Pin::new(bound).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn its_future_is_dropped_with_it() {
        let held = Arc::new(());
        let mut bound = bound(&held);
        assert!(poll(&mut bound).is_pending() && poll(&mut bound).is_pending());
        assert_eq!(Arc::strong_count(&held), 2);
        drop(bound);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_thread_that_ends_drops_what_it_kept() {
        let held = Arc::new(());
        let mut bound = bound(&held);
        let bound = thread::spawn(move || {
            assert!(poll(&mut bound).is_pending());
            bound
        });
        let bound = bound.join().unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
        drop(bound);
    }

    #[test]
    fn it_is_done_once() {
        let mut bound = ThreadBound::new(|| Box::pin(async {}));
        assert!(poll(&mut bound).is_ready() && poll(&mut bound).is_ready());
    }
}
