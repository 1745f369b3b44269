//! A controller whose reconciles a tape drives, each at its lines of the tape and in their order.
//!
//! The work queue has no part in it: which key was reconciled when is on the tape. A reconcile is polled where the tape
//! has a line of it, so that several workers overlap as they did.

use super::context::Context;
use super::error::{Reconciled, RunError};
use super::lifecycle::Streams;
use super::report::Report;
use super::state::ControllerState;
use super::tape::{DROPPED, OVERDUE, cause_of, ended_text, write_of};
use super::worker::Reconcile;
use super::writes::Writes;
use crate::attended::Attended;
use crate::caught::{Caught, caught, caught_call};
use crate::client::Sender;
use crate::mutex::Mutex;
use crate::replay::{Line, LineKind, Replay, Replayed};
use crate::traced::ReconcileSpan;
use crate::witness::Witness;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context as Turn, Poll, Waker};
use core::time::Duration;
use listwatch_core::{Instant, Key};
use smol::future::or;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// How long the reconciles that did not end with the tape may go on.
const SETTLE: Duration = Duration::from_secs(60);
/// Times on a tape are cut to milliseconds: a sleep may end so much later.
const ROUNDING: Duration = Duration::from_millis(2);
/// How often a reconcile that wakes itself is polled at one line.
const SPINS: usize = 10_000;

/// Replays the reconciles of a controller.
pub(super) async fn replay<'a>(
    streams: Streams,
    reconcile: Arc<dyn Reconcile + 'a>,
    replay: Arc<Replay>,
) -> Result<(), RunError> {
    let state = Arc::clone(&streams.ending.state);
    let played = play(streams, reconcile, &replay).await;
    let cut = match &played {
        Ok(true) => None,
        Ok(false) => Some("it was stopped".to_owned()),
        Err(error) => Some(error.to_string()),
    };
    let kept = replay.close(&state.name, cut);
    let findings = replay.findings(&state.name);
    if !matches!(played, Err(RunError::Config(_))) {
        state.report(&Report::Replayed { findings: &findings });
    }
    played?;
    kept.map_err(RunError::World)?;
    if findings.is_same() { Ok(()) } else { Err(RunError::Diverged(Box::new(findings))) }
}

/// Returns whether the controller came to the end of the tape.
async fn play<'a>(
    streams: Streams,
    reconcile: Arc<dyn Reconcile + 'a>,
    replay: &Arc<Replay>,
) -> Result<bool, RunError> {
    let Streams { ending, worlds, feeds, reads, own, stop, .. } = streams;
    let (worlds, state) = (worlds?, &ending.state);
    if worlds.iter().any(|informers| !informers.is_same(&state.informers)) {
        let why = "a controller of several worlds cannot be replayed; give all of its informers one world";
        return Err(RunError::Config(why.to_owned()));
    }
    let driver = Driver { state, reconcile: &*reconcile, replay, runs: BTreeMap::new(), woken: Arc::default() };
    let stopped = async {
        let over = async { state.informers.world().ended().await.map_err(RunError::World) };
        let stopped = async {
            let _closed = stop.recv().await;
            Ok(())
        };
        or(over, stopped).await.map(|()| false)
    };
    // The tasks of informers that are added later.
    let informers = async {
        state.informers.run().await;
        core::future::pending().await
    };
    let played = async { driver.run().await.map(|()| true) };
    let ended = or(or(played, stopped), informers).await;
    drop((feeds, reads, own));
    ended
}

struct Driver<'d> {
    state: &'d Arc<ControllerState>,
    reconcile: &'d dyn Reconcile,
    replay: &'d Arc<Replay>,
    /// The reconciles that began and did not end.
    runs: BTreeMap<u64, Run<'d>>,
    woken: Arc<Woken>,
}

/// A reconcile that runs.
struct Run<'d> {
    replayed: Arc<Replayed>,
    cx: Context,
    future: Pin<Box<dyn Future<Output = Caught<Option<Reconciled>>> + 'd>>,
    waker: Arc<RunWaker>,
    /// The tape has come to its end.
    is_late: bool,
}

/// Wakes the driver's task.
#[derive(Default)]
struct Woken(Mutex<Option<Waker>>);

struct RunWaker {
    is_woken: AtomicBool,
    driver: Arc<Woken>,
}

impl<'d> Driver<'d> {
    async fn run(mut self) -> Result<(), RunError> {
        self.replay.sync();
        while let Some(line) = self.next().await? {
            self.until(Instant::ZERO + line.at, |_| false).await;
            self.play(line).await;
            self.replay.pass();
        }
        let end = self.state.clock.now() + SETTLE;
        self.until(end, |driver| driver.runs.values().all(|run| !run.is_late)).await;
        for number in self.runs.keys().copied().collect::<Vec<_>>() {
            self.give_up(number);
        }
        self.replay.fault().map_or(Ok(()), |fault| Err(RunError::World(fault)))
    }

    async fn next(&mut self) -> Result<Option<Line>, RunError> {
        poll_fn(|cx| {
            self.poll_late(cx);
            self.replay.poll_line(&self.state.name, cx).map_err(RunError::World)
        })
        .await
    }

    async fn play(&mut self, line: Line) {
        let number = line.reconcile;
        match line.kind {
            LineKind::Began => self.begin(number),
            LineKind::Answered(place) => {
                if let Some(run) = self.runs.get(&number) {
                    run.replayed.on_answered(place);
                }
            }
            LineKind::Awoke | LineKind::GaveUp => {
                let latest = self.state.clock.now().max(Instant::ZERO + line.at + ROUNDING);
                self.until(latest, |driver| driver.is_woken(number)).await;
            }
            LineKind::Read(_) | LineKind::Acted | LineKind::Ended => {}
        }
        self.poll(number);
        match line.kind {
            LineKind::Read(reads) => {
                if let Some(run) = self.runs.get(&number) {
                    run.replayed.on_reads(&reads);
                }
            }
            LineKind::Ended => self.on_end(number),
            _ => {}
        }
    }

    fn begin(&mut self, number: u64) {
        let Some(replayed) = self.replay.begin(number) else { return };
        let state = self.state;
        let id = state.id_of(number);
        let (span, cx) = replayed.with_record(|record| {
            let key = Key::from(&*record.beginning.key);
            let causes = record.beginning.causes.iter().filter_map(|text| cause_of(text, &state.followed)).collect();
            let late = record.late.iter().map(write_of).collect();
            let span = ReconcileSpan::begin(&state.name, &key, record.beginning.attempt, id);
            let sender = Sender::new(id, span.is_sampled());
            (span, Context::new(state, sender, key, causes, late, Writes::default(), None))
        });
        let before = self.runs.iter().find(|(_, run)| run.cx.key() == cx.key()).map(|(number, _)| *number);
        before.into_iter().for_each(|before| self.give_up(before));
        let (reconcile, called, witness) = (self.reconcile, cx.clone(), Arc::clone(&replayed));
        let call = async move {
            let key = called.key().clone();
            Attended::new(witness as Arc<dyn Witness>, || span.attend(|| reconcile.call(called, key))).await
        };
        let waker = Arc::new(RunWaker { is_woken: AtomicBool::new(true), driver: Arc::clone(&self.woken) });
        let future = Box::pin(async move { caught(async { Some(call.await) }, || false).await });
        self.runs.insert(number, Run { replayed, cx, future, waker, is_late: false });
    }

    /// Polls a reconcile as long as it goes on by itself. If it waits for another one, that goes on first.
    fn poll(&mut self, number: u64) {
        if !self.is_woken(number) {
            let others: Vec<u64> = self.runs.keys().copied().filter(|other| *other != number).collect();
            for other in others {
                if self.runs.contains_key(&number) && !self.is_woken(number) && self.runs[&other].is_late {
                    self.poll_one(other);
                }
            }
        }
        self.poll_one(number);
    }

    fn poll_one(&mut self, number: u64) {
        for _ in 0..SPINS {
            let Some(run) = self.runs.get_mut(&number) else { return };
            if !run.waker.is_woken.swap(false, Ordering::AcqRel) {
                return;
            }
            let waker = Waker::from(Arc::clone(&run.waker));
            if let Poll::Ready(ended) = run.future.as_mut().poll(&mut Turn::from_waker(&waker)) {
                let Some(run) = self.runs.remove(&number) else { return };
                let outcome = ended_text(&ended);
                run.cx.take_writes();
                self.replay.end(&run.replayed, Some(outcome));
                return;
            }
        }
    }

    /// The tape has come to the end of a reconcile.
    fn on_end(&mut self, number: u64) {
        let Some(run) = self.runs.get_mut(&number) else { return };
        run.is_late = true;
        let outcome = run.replayed.recorded_outcome();
        if let Some(outcome) = outcome.filter(|outcome| matches!(&**outcome, DROPPED | OVERDUE)) {
            self.drop_run(number, Some(outcome));
        }
    }

    /// Drops a reconcile that has not ended in its time.
    fn give_up(&mut self, number: u64) {
        let outcome = self.runs.get(&number).filter(|run| run.is_late).map(|_| "unfinished".to_owned());
        self.drop_run(number, outcome);
    }

    fn drop_run(&mut self, number: u64, outcome: Option<String>) {
        let Some(Run { replayed, cx, future, .. }) = self.runs.remove(&number) else { return };
        let _panic = caught_call(|| drop(future));
        cx.take_writes();
        self.replay.end(&replayed, outcome);
    }

    fn is_woken(&self, number: u64) -> bool {
        self.runs.get(&number).is_some_and(|run| run.waker.is_woken.load(Ordering::Acquire))
    }

    /// Waits until `at`, or until `is_enough`. Reconciles that are late go on meanwhile.
    async fn until(&mut self, at: Instant, is_enough: impl Fn(&Self) -> bool) {
        let mut sleep = self.state.clock.sleep_until(at);
        poll_fn(|cx| {
            self.poll_late(cx);
            if is_enough(self) { Poll::Ready(()) } else { Pin::new(&mut sleep).poll(cx) }
        })
        .await;
    }

    fn poll_late(&mut self, cx: &Turn<'_>) {
        let waker = cx.waker().clone();
        let _last = self.woken.0.lock().replace(waker);
        let late: Vec<u64> = self.runs.iter().filter(|(_, run)| run.is_late).map(|(number, _)| *number).collect();
        late.into_iter().for_each(|number| self.poll_one(number));
    }
}

impl Wake for RunWaker {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        let driver = self.driver.0.lock().take();
        driver.into_iter().for_each(Waker::wake);
    }
}
