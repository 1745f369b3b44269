//! The election of a controller, and the work that it waits for before its lease is released.

use super::error::RunError;
use super::report::Report;
use super::state::ControllerState;
use super::threads::{Threads, named, no_thread};
use crate::clock::Clock;
use crate::election::{Candidate, Leadership, Turn, WhenLost};
use async_executor::{Executor, Task};
use core::time::Duration;
use listwatch_core::controller::KeyState;
use listwatch_core::{Instant, Key};
use smol::channel::Sender;
use smol::future::{FutureExt, or, pending};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A candidate, and what drives it. Dropped, it renews no more.
pub(super) struct Elected {
    leadership: Leadership,
    when_lost: WhenLost,
    candidate: Option<Candidate>,
    driver: Option<Driver>,
}

/// What drives a candidate until it is dropped.
enum Driver {
    /// Under a simulated clock.
    Task(#[expect(dead_code, reason = "a task lives as long as its handle")] Task<()>),
    /// So that neither a mapper nor a program's executor holds up a renewal. It ends when it is dropped.
    Thread(
        #[expect(dead_code, reason = "the thread waits for its drop")] Sender<()>,
        #[expect(dead_code, reason = "a drop waits for it")] Threads,
    ),
}

/// By how much a release may end after its limit.
const SPARE: Duration = Duration::from_millis(100);

impl Elected {
    pub(super) fn new(state: &Arc<ControllerState>, candidate: Candidate) -> Self {
        let (leadership, when_lost, weak) = (candidate.leadership(), candidate.when_lost(), Arc::downgrade(state));
        leadership.attend();
        let lease = leadership.lease().to_owned();
        let candidate = candidate.telling(move |report| {
            let report = Report::Election { lease: &lease, report };
            weak.upgrade().iter().for_each(|state| state.report(&report));
        });
        Self { leadership, when_lost, candidate: Some(candidate), driver: None }
    }

    /// Becomes a candidate.
    pub(super) fn begin(&mut self, state: &ControllerState, executor: &Executor<'_>) -> Result<(), RunError> {
        let Some(candidate) = self.candidate.take() else { return Ok(()) };
        let drive = async move { _ = candidate.drive().await };
        self.driver = Some(if state.clock.is_simulated() {
            Driver::Task(executor.spawn(drive.boxed()))
        } else {
            let (alive, dropped) = smol::channel::bounded::<()>(1);
            let dropped = async move { _ = dropped.recv().await };
            let mut thread = Threads::default();
            thread.spawn(named(&state.name, "election"), || smol::block_on(or(drive, dropped))).map_err(no_thread)?;
            Driver::Thread(alive, thread)
        });
        Ok(())
    }

    /// Whether it is, or was, a candidate.
    pub(super) fn has_begun(&self) -> bool {
        self.driver.is_some()
    }

    /// Calls `begin` when the first term begins. Returns when a term is lost, unless the candidate rejoins. A term may be
    /// lost before the streams' thread has time to look.
    pub(super) async fn lead(&self, state: &ControllerState, begin: impl FnOnce()) -> Result<(), RunError> {
        let mut begin = Some(begin);
        loop {
            match self.leadership.turn().await {
                Turn::Leads => {
                    begin.take().into_iter().for_each(|begin| begin());
                    self.leadership.lost().await;
                }
                Turn::Lost(reason) if self.when_lost == WhenLost::End => {
                    return Err(RunError::LeaderElectionLost { lease: self.leadership.lease().to_owned(), reason });
                }
                Turn::Lost(_) => {
                    self.idle(state).await;
                    self.leadership.stopped();
                }
                // The program has not asked for the end, as this runs.
                Turn::Ended => {
                    let lease = self.leadership.lease();
                    return Err(RunError::Panicked(format!("what renews the lease {lease} has ended")));
                }
            }
        }
    }

    /// Waits until no work of the lost term goes on. Work that takes longer than a release may is reported.
    async fn idle(&self, state: &ControllerState) {
        let idle = async {
            self.leadership.idle().await;
            state.blocking.ended().await;
        };
        let late = async {
            let after = self.leadership.release_limit();
            state.clock.sleep(after).await;
            state.report(&Report::StillWorking { keys: &working(state), after });
            pending::<()>().await;
        };
        or(idle, late).await;
    }

    /// Asks the candidate to end, and waits until it may not write any more.
    pub(super) async fn lost_after_stop(&self) {
        self.leadership.stop();
        if !self.has_begun() {
            self.leadership.abandon();
        }
        self.leadership.lost().await;
    }

    /// Waits until no work goes on that blocks, or until the term is lost, and until `until` at most. Returns the keys that
    /// still have such work.
    pub(super) async fn unblocked_by(&self, state: &ControllerState, until: Instant) -> Vec<Key> {
        let lost = async { _ = self.leadership.lost().await };
        or(state.blocking.ended(), or(state.clock.sleep_until(until), lost)).await;
        state.blocking.keys()
    }

    /// Waits until the lease is released: no work goes on but the writes that were sent, which have until `until`. A
    /// program's report function may block the thread that does it.
    pub(super) async fn end(&self, clock: &Clock, until: Instant) {
        self.leadership.stopped_by(until);
        let limit = until.max(clock.now()) + self.leadership.release_limit() + SPARE;
        let ended = async { _ = self.leadership.ended().await };
        or(ended, clock.sleep_until(limit)).await;
        self.leadership.abandon();
    }
}

/// The keys whose reconcile or blocking work goes on.
fn working(state: &ControllerState) -> Vec<Key> {
    let running = state.machine.report().into_iter().filter(|it| matches!(it.state, KeyState::Running { .. }));
    let keys: BTreeSet<_> = running.map(|it| it.key).chain(state.blocking.keys()).collect();
    keys.into_iter().collect()
}

/// Workers wait for the term or the end. A candidate without a driver has ended.
impl Drop for Elected {
    fn drop(&mut self) {
        self.leadership.abandon();
    }
}
