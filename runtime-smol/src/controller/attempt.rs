//! One call of the reconcile function, noted on the tape of its world, if there is one.

use super::context::Context;
use super::error::Reconciled;
#[cfg(feature = "file")]
use super::noted::{Beginning, DROPPED, Noted, OVERDUE, failure_text, outcome_text, panic_text};
use super::state::State;
use crate::caught::Caught;
#[cfg(feature = "file")]
use crate::caught::caught_call;
#[cfg(feature = "file")]
use crate::witness::Attended;
#[cfg(feature = "file")]
use std::sync::Arc;

pub(super) struct Attempt {
    #[cfg(feature = "file")]
    noted: Option<Arc<Noted>>,
}

#[cfg(feature = "file")]
impl Attempt {
    /// The reconcile of this number, which is the key's attempt of that one.
    pub(super) fn begin(state: &State, cx: &Context, number: u64, attempt: u32) -> Self {
        let begin = |tape| {
            let (key, causes, late) = (cx.key(), cx.causes(), cx.timed_out_writes());
            let beginning = Beginning { number, key, attempt, causes, late };
            Noted::begin(tape, &state.clock, &state.name, &beginning)
        };
        Self { noted: state.informers.world().tape().map(begin) }
    }

    /// Calls the function.
    pub(super) async fn run<F: Future<Output = Reconciled> + Unpin>(&self, call: impl FnOnce() -> F) -> Reconciled {
        match &self.noted {
            Some(noted) => Attended::new(Arc::clone(noted) as _, call).await,
            None => call().await,
        }
    }

    pub(super) fn end(self, ended: &Caught<Option<Reconciled>>) {
        let Some(noted) = self.noted else { return };
        noted.end(match ended {
            Caught::Done(Some(Ok(outcome))) => outcome_text(*outcome),
            // The error is the program's own.
            Caught::Done(Some(Err(error))) => {
                caught_call(|| failure_text(&error.to_string())).unwrap_or_else(|message| panic_text(&message))
            }
            Caught::Done(None) => OVERDUE.to_owned(),
            Caught::Panicked(message) => panic_text(message),
            Caught::Stopped(_) => DROPPED.to_owned(),
        });
    }
}

/// Without tapes, nothing is noted.
#[cfg(not(feature = "file"))]
impl Attempt {
    pub(super) fn begin(_: &State, _: &Context, _number: u64, _attempt: u32) -> Self {
        Self {}
    }

    pub(super) async fn run<F: Future<Output = Reconciled> + Unpin>(&self, call: impl FnOnce() -> F) -> Reconciled {
        call().await
    }

    pub(super) fn end(self, _: &Caught<Option<Reconciled>>) {}
}
