//! A worker: takes a key, reconciles it, and gives it back.

use super::context::Context;
use super::error::{Error, Reconciled};
use super::hold::Job;
use super::report::{self, Report};
use super::sharded::Place;
use super::state::ControllerState;
#[cfg(feature = "file")]
use super::tape::{Beginning, Noted, ended_text};
use super::writes::Writes;
#[cfg(feature = "file")]
use crate::attended::Attended;
use crate::budget::Budget;
use crate::caught::{Caught, caught, caught_call};
use crate::client::Sender;
use crate::election::Work;
#[cfg(feature = "file")]
use crate::informers::DumpCause;
use crate::stable_hash::StableHash;
use crate::traced::ReconcileSpan;
#[cfg(feature = "file")]
use crate::witness::Witness;
use crate::workers::WorkerHandle;
use core::future::poll_fn;
use core::pin::Pin;
use core::time::Duration;
use listwatch_core::api::ReconcileId;
use listwatch_core::controller::Ended;
use listwatch_core::queue::{Finished, Outcome};
use listwatch_core::{Instant, Key};
use smol::future::{or, pending};
use smol::lock::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The outcome of a reconcile that was dropped with its term: the key is reconciled in the next one.
const INTERRUPTED: Outcome = Outcome::Transient(Duration::ZERO);

/// The program's reconcile function, whatever its type. Its future stays on the thread that made it.
pub(super) trait Reconcile: Send + Sync {
    fn call<'f>(&'f self, cx: Context, key: Key) -> Pin<Box<dyn Future<Output = Reconciled> + 'f>>;
}

impl<F: AsyncFn(Context, Key) -> Reconciled + Send + Sync> Reconcile for F {
    fn call<'f>(&'f self, cx: Context, key: Key) -> Pin<Box<dyn Future<Output = Reconciled> + 'f>> {
        Box::pin(self(cx, key))
    }
}

/// One of a controller's workers.
pub(super) struct Worker<'w> {
    pub(super) state: &'w Arc<ControllerState>,
    pub(super) handle: WorkerHandle<Key>,
    /// The right to wait for a key, of which each thread has one: so an addition wakes one worker of each thread.
    pub(super) turn: &'w Mutex<()>,
    pub(super) reconcile: &'w dyn Reconcile,
}

impl Worker<'_> {
    /// Reconciles one key after the other, until the controller is drained.
    pub(super) async fn run(self) {
        self.handle.run(self.work()).await;
    }

    async fn work(&self) {
        let mut budget = Budget::new();
        while let Some(job) = self.next().await {
            self.handle.take(job.key().clone());
            self.reconcile(job).await;
            self.handle.put_down();
            poll_fn(|cx| budget.poll_spend(cx)).await;
        }
    }

    async fn next(&self) -> Option<Job<'_>> {
        let _turn = self.turn.lock().await;
        self.state.leads_or_ends().await;
        self.state.machine.next().await
    }

    async fn reconcile(&self, job: Job<'_>) {
        // The term may have ended while the worker waited for a key.
        let Ok(work) = self.state.work().await else {
            job.finish(INTERRUPTED, Vec::new());
            return;
        };
        let late = job.late_writes();
        let Ok(place) = self.state.enter(job.key(), &late) else {
            job.finish(Outcome::Done, Vec::new());
            return;
        };
        let (clock, key) = (&self.state.clock, job.key().clone());
        let begun = clock.now();
        let causes = job.causes().into_iter().map(|(cause, at)| (cause, begun.saturating_since(at))).collect();
        let stale = self.state.awaiting.stale(&key);
        for expected in &late {
            self.state.report(&Report::WriteTimedOut { key: job.key(), written: &expected.write.object });
        }
        self.state.obstacles.forget(&key);
        let number = self.state.next_number();
        let (id, attempt) = (self.state.id_of(number), job.failures().saturating_add(1));
        let span = ReconcileSpan::begin(&self.state.name, &key, attempt, id);
        let timed_out = late.iter().chain(&stale).map(|expected| expected.write.clone()).collect();
        let (sender, writes) = (Sender::new(id, span.is_sampled()), Writes::new(late, stale));
        let gate = place.as_ref().map(Place::gate);
        let cx = Context::new(self.state, sender, key, causes, timed_out, writes, gate);
        let active = self.state.tally.begin();
        let attempt = Attempt::begin(self.state, &cx, number, attempt);
        let called = async { attempt.run(|| span.attend(|| self.reconcile.call(cx.clone(), job.key().clone()))).await };
        let limited = self.state.by(job.deadline(), called);
        let is_lost = || work.as_ref().is_some_and(Work::is_over) || place.as_ref().is_some_and(Place::is_over);
        let attended = woken_at_loss(work.as_ref(), place.as_ref(), limited);
        let ended = caught(attended, || self.handle.is_over() || is_lost()).await;
        attempt.end(&ended);
        let took = clock.now().saturating_since(begun);
        active.took(took);
        span.within(|| self.conclude(job, &cx, ended, took));
    }

    fn conclude(&self, job: Job<'_>, cx: &Context, ended: Caught<Option<Reconciled>>, took: Duration) {
        match ended {
            Caught::Done(Some(Ok(outcome))) => {
                report::ended(Some(outcome), took);
                if let Some(age) = cx.causes().iter().map(|(_, age)| *age).max() {
                    self.state.tally.aged(age.saturating_add(took));
                }
                self.end(job, cx, outcome);
            }
            Caught::Done(Some(Err(error))) => self.fail(job, cx, error, took),
            Caught::Done(None) => {
                self.state.tally.timed_out();
                self.state.report_end(&Report::Overdue { key: job.key(), after: took }, took);
                self.end(job, cx, Outcome::Retry);
            }
            Caught::Panicked(message) => {
                self.state.report_end(&Report::Panicked { key: cx.key(), message: &message }, took);
                self.end(job, cx, Outcome::Panicked);
            }
            Caught::Stopped(panic) => {
                panic.iter().for_each(|message| self.report_panic(cx, message));
                report::ended(None, took);
                if self.handle.is_over() {
                    self.handle.give_up();
                } else {
                    self.state.end_writes(job, cx, INTERRUPTED);
                }
            }
        }
    }

    /// The error is the program's own: its `source` and its drop may panic.
    fn fail(&self, job: Job<'_>, cx: &Context, error: Error, took: Duration) {
        match caught_call(|| error.outcome()) {
            Ok(outcome) => {
                let ended = self.end(job, cx, outcome);
                let wait = |at: Instant| Some(at.saturating_since(self.state.clock.now()));
                let (next, retry_in, held_for) = match ended {
                    Ended::Finished(Finished::RetryAt(at)) => (Finished::RetryAt(at), wait(at), None),
                    Ended::Finished(Finished::Queued) => (Finished::Queued, Some(Duration::ZERO), None),
                    Ended::Finished(next) => (next, None, None),
                    Ended::Held { .. } if outcome == Outcome::Terminal => (Finished::GaveUp, None, None),
                    Ended::Held { until, .. } => (Finished::RetryAt(until), None, wait(until)),
                };
                let failed = Report::Failed { key: cx.key(), error: &error, next, retry_in, held_for };
                self.state.report_end(&failed, took);
            }
            Err(message) => {
                self.state.report_end(&Report::Panicked { key: cx.key(), message: &message }, took);
                self.end(job, cx, Outcome::Panicked);
            }
        }
        if let Err(message) = caught_call(|| drop(error)) {
            self.report_panic(cx, &message);
        }
    }

    fn report_panic(&self, cx: &Context, message: &str) {
        self.state.report(&Report::Panicked { key: cx.key(), message });
    }

    /// Counts the reconcile, and gives the key back.
    fn end(&self, job: Job<'_>, cx: &Context, outcome: Outcome) -> Ended {
        self.state.tally.ended(outcome);
        let ended = self.state.end_writes(job, cx, outcome);
        #[cfg(feature = "file")]
        if matches!(ended, Ended::Finished(Finished::GaveUp)) || outcome == Outcome::Terminal {
            let world = self.state.informers.world();
            world.dump_for(DumpCause::Parked, &format_args!("{}: {}", self.state.name, cx.key()));
        }
        ended
    }
}

/// The future, polled when the term or the shard is lost, too.
async fn woken_at_loss<F: Future>(work: Option<&Work>, place: Option<&Place>, future: F) -> F::Output {
    let lost = async {
        if let Some(work) = work {
            work.over().await;
        }
        pending().await
    };
    let away = async {
        if let Some(place) = place {
            place.over().await;
        }
        pending().await
    };
    or(lost, or(away, future)).await
}

/// A reconcile on a tape. Without one, nothing is noted.
struct Attempt {
    #[cfg(feature = "file")]
    noted: Option<Arc<Noted>>,
}

impl Attempt {
    /// The reconcile of this number, which is the key's attempt of that one.
    #[cfg(feature = "file")]
    fn begin(state: &ControllerState, cx: &Context, number: u64, attempt: u32) -> Self {
        let begin = |tape| {
            let (key, causes, late) = (cx.key(), cx.causes(), cx.timed_out_writes());
            let beginning = Beginning { number, key, attempt, causes, late };
            Noted::begin(tape, &state.clock, &state.name, &beginning)
        };
        Self { noted: state.informers.world().tape().map(begin) }
    }

    #[cfg(not(feature = "file"))]
    fn begin(_: &ControllerState, _: &Context, _number: u64, _attempt: u32) -> Self {
        Self {}
    }

    /// Calls the function.
    async fn run<F: Future<Output = Reconciled> + Unpin>(&self, call: impl FnOnce() -> F) -> Reconciled {
        #[cfg(feature = "file")]
        if let Some(noted) = &self.noted {
            return Attended::new(Arc::clone(noted) as Arc<dyn Witness>, call).await;
        }
        call().await
    }

    #[cfg_attr(not(feature = "file"), expect(unused_variables, reason = "nothing is noted"))]
    fn end(self, ended: &Caught<Option<Reconciled>>) {
        #[cfg(feature = "file")]
        self.noted.iter().for_each(|noted| noted.end(ended_text(ended)));
    }
}

impl ControllerState {
    /// The number of the next reconcile: that of the tape, if there is one, so that its replay has the same.
    pub(super) fn next_number(&self) -> u64 {
        #[cfg(feature = "file")]
        if let Some(tape) = self.informers.world().tape() {
            return tape.next_reconcile();
        }
        self.reconciles.fetch_add(1, Ordering::Relaxed)
    }

    /// The id of a reconcile. The seed of a controller in real time is its own, so its ids are.
    pub(super) fn id_of(&self, number: u64) -> ReconcileId {
        let first = StableHash::new().number(self.seed).text(&self.name).number(number).finish();
        let second = StableHash::new().text("id").number(number).text(&self.name).number(self.seed).finish();
        ReconcileId::new(u128::from(first) << u64::BITS | u128::from(second))
    }
}
