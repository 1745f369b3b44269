//! Futures that are polled and dropped inside of something, such as the span of a reconcile.

use crate::witness::{Witness, with};
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

/// What a future is polled inside of.
pub(crate) trait Scope: Unpin {
    fn within<R>(&self, act: impl FnOnce() -> R) -> R;
}

/// A future that is made, polled and dropped inside of a scope.
pub(crate) struct Attended<S: Scope, F> {
    scope: S,
    future: Option<F>,
}

impl<S: Scope, F> Attended<S, F> {
    pub(crate) fn new(scope: S, make: impl FnOnce() -> F) -> Self {
        let future = Some(scope.within(make));
        Self { scope, future }
    }
}

impl<S: Scope, F: Future + Unpin> Future for Attended<S, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { scope, future } = &mut *self;
        let Some(future) = future else { return Poll::Pending };
        scope.within(|| Pin::new(future).poll(cx))
    }
}

impl<S: Scope, F> Drop for Attended<S, F> {
    fn drop(&mut self) {
        let Self { scope, future } = self;
        scope.within(|| *future = None);
    }
}

/// Attends a reconcile.
impl Scope for Arc<dyn Witness> {
    fn within<R>(&self, act: impl FnOnce() -> R) -> R {
        with(Some(Self::clone(self)), act)
    }
}

/// Without the witness of the reconcile that polls: what is read, sent and asked is not noted.
pub(crate) struct Unwitnessed;

impl Scope for Unwitnessed {
    fn within<R>(&self, act: impl FnOnce() -> R) -> R {
        with(None, act)
    }
}
