//! The span of a reconcile.

use super::CONTROLLER;
use crate::attended::{Attended, Scope};
use crate::caught::caught_call;
use listwatch_core::Key;
use listwatch_core::api::ReconcileId;
use listwatch_core::text::Printable;
use tracing::span::Entered;
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Level, Span, span};

/// The span of one reconcile, which is closed with this.
pub(crate) struct ReconcileSpan(Option<Span>);

impl ReconcileSpan {
    pub(crate) fn begin(controller: &str, key: &Key, attempt: u32, id: ReconcileId) -> Self {
        let begin = || {
            span!(
                target: CONTROLLER,
                Level::INFO,
                "reconcile",
                controller = display(Printable::new(controller)),
                key = display(Printable::new(key.as_str())),
                attempt,
                id = display(id),
            )
        };
        Self(caught_call(begin).ok())
    }

    /// Whether a subscriber records it.
    pub(crate) fn is_sampled(&self) -> bool {
        let is_recorded = |dispatch: &Dispatch| !dispatch.is::<NoSubscriber>();
        self.0.as_ref().and_then(|span| span.with_subscriber(|(_, dispatch)| is_recorded(dispatch))).unwrap_or(false)
    }

    /// Calls `act` inside of the span.
    pub(crate) fn within<R>(&self, act: impl FnOnce() -> R) -> R {
        let _inside = Inside(self.0.as_ref().and_then(|span| caught_call(|| span.enter()).ok()));
        act()
    }

    /// The future that `make` returns, which is polled and dropped inside of the span.
    pub(crate) fn attend<F: Future + Unpin>(&self, make: impl FnOnce() -> F) -> Attended<&Self, F> {
        Attended::new(self, make)
    }
}

impl Scope for &ReconcileSpan {
    fn within<R>(&self, act: impl FnOnce() -> R) -> R {
        ReconcileSpan::within(self, act)
    }
}

/// The subscriber may panic, and a drop must not.
impl Drop for ReconcileSpan {
    fn drop(&mut self) {
        let _lost = caught_call(|| drop(self.0.take()));
    }
}

struct Inside<'s>(Option<Entered<'s>>);

/// A reconcile that panics may leave its span by this.
impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let _lost = caught_call(|| drop(self.0.take()));
    }
}
