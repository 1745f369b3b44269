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
    /// An attempt after so many failures.
    pub(super) fn begin(state: &State, cx: &Context, failures: u32) -> Self {
        let begin = |tape| {
            let (key, attempt, causes) = (cx.key(), failures.saturating_add(1), cx.causes());
            let beginning = Beginning { key, attempt, causes, late: cx.timed_out_writes() };
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
    pub(super) fn begin(_: &State, _: &Context, _failures: u32) -> Self {
        Self {}
    }

    pub(super) async fn run<F: Future<Output = Reconciled> + Unpin>(&self, call: impl FnOnce() -> F) -> Reconciled {
        call().await
    }

    pub(super) fn end(self, _: &Caught<Option<Reconciled>>) {}
}
