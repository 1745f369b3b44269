//! The reconcile that runs on this thread, for a tape that notes what it reads, sends and asks, and for a replay of it.

use core::cell::RefCell;
use core::pin::Pin;
use core::task::{Context, Poll};
use listwatch_core::time::WallTime;
use std::sync::Arc;

/// Attends a reconcile.
pub(crate) trait Witness: Send + Sync {
    /// The number of the reconcile, which its requests bear.
    fn reconcile(&self) -> u64;

    /// The reconcile is about to read the cache of this list-and-watch.
    fn before_read(&self, stream: &str);

    /// The reconcile reads the cache. The cache's lock is held.
    fn on_read(&self, stream: &str, changes: u64, version: Option<&str>);

    /// The reconcile asks for the date, which is `date` by the clock. Returns the answer.
    fn on_date(&self, date: WallTime) -> WallTime;

    /// A sleep of the reconcile is over.
    fn on_awake(&self);
}

thread_local! {
    static PRESENT: RefCell<Option<Arc<dyn Witness>>> = const { RefCell::new(None) };
}

/// The witness of the reconcile that this thread polls.
pub(crate) fn present() -> Option<Arc<dyn Witness>> {
    // Without the variable, the thread is ending.
    PRESENT.try_with(|present| present.borrow().clone()).ok().flatten()
}

/// Calls `act` with this witness, or none, in place of the present one.
pub(crate) fn with<R>(witness: Option<Arc<dyn Witness>>, act: impl FnOnce() -> R) -> R {
    let _before = Before(replace(witness));
    act()
}

/// A reconcile that is attended by a witness whenever it is polled or dropped.
pub(crate) struct Attended<F> {
    witness: Arc<dyn Witness>,
    future: Option<F>,
}

impl<F> Attended<F> {
    /// The future that `make` returns.
    pub(crate) fn new(witness: Arc<dyn Witness>, make: impl FnOnce() -> F) -> Self {
        let future = with(Some(Arc::clone(&witness)), make);
        Self { witness, future: Some(future) }
    }
}

impl<F: Future + Unpin> Future for Attended<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { witness, future } = &mut *self;
        let Some(future) = future else { return Poll::Pending };
        with(Some(Arc::clone(witness)), || Pin::new(future).poll(cx))
    }
}

impl<F> Drop for Attended<F> {
    fn drop(&mut self) {
        with(Some(Arc::clone(&self.witness)), || self.future = None);
    }
}

/// The witness that is present again when this is dropped.
struct Before(Option<Arc<dyn Witness>>);

impl Drop for Before {
    fn drop(&mut self) {
        let _last = replace(self.0.take());
    }
}

fn replace(witness: Option<Arc<dyn Witness>>) -> Option<Arc<dyn Witness>> {
    PRESENT.try_with(|present| present.replace(witness)).ok().flatten()
}
