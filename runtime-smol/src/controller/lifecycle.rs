//! The life of a controller: its start when its sources have synced, and its end, with a drain.

use super::definitions::Definitions;
use super::election::Elected;
use super::error::RunError;
use super::events::Events;
use super::feed::{Feed, all_of};
use super::owners::OwnKind;
use super::report::Report;
use super::sharded::Member;
use super::source::{Distinct, Read};
use super::state::ControllerState;
use crate::audit::{AuditConfig, AuditSchedule, Audits};
use crate::informers::{HandleSynced, Informers};
use crate::task_group::TaskGroup;
use crate::workers::{Unfinished, WorkerStates, follow};
use async_executor::{Executor, Task};
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Poll, ready};
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::controller::{Cause, CauseKind, Lifecycle};
use smol::channel::Receiver;
use smol::future::{FutureExt, or, pending};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The streams' side. Dropped, it ends the workers too, at once.
pub(super) struct Streams {
    pub(super) ending: Ending,
    /// The informers that it runs, or why it cannot.
    pub(super) worlds: Result<Vec<Informers>, RunError>,
    /// What is applied before they run.
    pub(super) definitions: Definitions,
    pub(super) feeds: Vec<Box<dyn Feed>>,
    pub(super) reads: Vec<Box<dyn Read>>,
    pub(super) own: Arc<OwnKind>,
    /// Closed when the controller is to end.
    pub(super) stop: Receiver<()>,
    /// What runs beside the life of the controller. Dropped, all of it ends.
    pub(super) tasks: Arc<TaskGroup>,
    /// The election, if there is one.
    pub(super) elected: Result<Option<Elected>, RunError>,
    /// The member of shards, if there are some.
    pub(super) member: Option<Member>,
    /// The audits of the caches, if there is a schedule.
    pub(super) audits: Option<Audits>,
    pub(super) drain: Duration,
}

/// Ends the workers when it is dropped.
pub(super) struct Ending {
    pub(super) state: Arc<ControllerState>,
    pub(super) workers: Arc<WorkerStates<Key>>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.state.machine.drain(Duration::ZERO);
        self.workers.end(self.state.clock.now());
        #[cfg(feature = "file")]
        self.state.informers.world().replay().into_iter().for_each(|replay| replay.leave(&self.state.name));
    }
}

/// How long a start that has failed waits for the other sources, so that its error names all that fail.
const SETTLE: Duration = Duration::from_secs(1);

impl Streams {
    /// Runs the controller until it is asked to end, or cannot go on.
    pub(super) async fn run(self) -> Result<(), RunError> {
        let Self { ending, worlds, definitions, feeds, reads, own, stop, tasks, elected, member, audits, drain } = self;
        let (worlds, mut elected, state) = (worlds?, elected?, &ending.state);
        let (syncing, unsynced) = (synced(&feeds, &reads), synced(&feeds, &reads));
        let syncing = syncing.into_iter().map(|synced| synced.within(state.sync_within)).collect();
        let feeds = spawn_feeds(&tasks, state, feeds);
        let timeouts = tasks.spawn(follow_timeouts(Arc::clone(state), own).boxed());
        audits.into_iter().for_each(|audits| tasks.spawn_detached(report_audits(Arc::clone(state), audits).boxed()));
        if !state.clock.is_simulated() {
            tasks.spawn_detached(report_blocked(Arc::clone(state), Arc::clone(&ending.workers)).boxed());
        }
        #[cfg(feature = "shards")]
        if let (Some(member), Some(leadership)) = (member, state.leadership.clone()) {
            tasks.spawn_detached(super::membership::follow(member, Arc::downgrade(state), leadership).boxed());
        }
        #[cfg(not(feature = "shards"))]
        let None = member;
        let events = Events::begin(state, &tasks);
        let life = async {
            let mut elected = elected.as_mut();
            let defined = async {
                definitions.apply(state).await?;
                for informers in worlds.clone() {
                    tasks.spawn_detached(async move { informers.run().await }.boxed());
                }
                pending().await
            };
            let end = or(
                or(defined, live(state, syncing, &stop, elected.as_deref_mut(), &tasks)),
                or(over(state, &worlds, unsynced), or(ended(feeds), lost(&ending.workers))),
            )
            .await;
            ending.drain(end, drain, timeouts, elected.as_deref(), events).await
        };
        tasks.run(life).await
    }
}

impl Ending {
    /// Gives running reconciles their time, and reports what is left. Returns how the controller ended.
    async fn drain(
        &self,
        end: Result<(), RunError>,
        drain: Duration,
        timeouts: Task<()>,
        elected: Option<&Elected>,
        events: Option<Events>,
    ) -> Result<(), RunError> {
        let Self { state, workers } = self;
        let has_started = state.machine.lifecycle() == Lifecycle::Running;
        let is_lost = matches!(end, Err(RunError::LeaderElectionLost { .. }));
        let grace = if is_lost { Duration::ZERO } else { drain };
        let until = state.clock.now() + grace;
        state.machine.drain(grace);
        or(timeouts, lost_while_draining(state, elected)).await;
        workers.end(state.clock.now());
        let Unfinished { dropped, mut blocked, .. } = workers.join(&state.clock).await;
        if let Some(elected) = elected {
            blocked.extend(elected.unblocked_by(state, until).await);
        }
        let left = state.machine.report();
        if let Some(events) = events {
            events.end().await;
        }
        if let Some(elected) = elected.filter(|_| blocked.is_empty()) {
            elected.end(&state.clock, until).await;
        }
        state.report(&match has_started {
            true => Report::Ended { left: &left },
            false if elected.is_some_and(Elected::has_begun) => Report::NeverLed,
            false => Report::NeverStarted,
        });
        let is_drained = dropped.is_empty() && blocked.is_empty();
        end.and(if is_drained { Ok(()) } else { Err(RunError::NotDrained { grace: drain, dropped, blocked }) })
    }
}

/// The waits for the first state of each informer.
fn synced(feeds: &[Box<dyn Feed>], reads: &[Box<dyn Read>]) -> Vec<HandleSynced> {
    all_of(feeds, reads).map(Read::synced).collect()
}

/// Starts the controller once its sources have synced and it leads, and waits until it is asked to end.
async fn live(
    state: &Arc<ControllerState>,
    syncing: Vec<HandleSynced>,
    stop: &Receiver<()>,
    elected: Option<&mut Elected>,
    executor: &Executor<'_>,
) -> Result<(), RunError> {
    let stopped = async {
        let _closed = stop.recv().await;
        Ok(())
    };
    let begun = state.clock.now();
    let started = async {
        // No key is handed out while a failed start waits for the other sources: its end would forget what was written.
        let start = state.machine.update(|it, _| it.add_source());
        state.machine.update(|it, now| it.start(now, None));
        all_synced(state, syncing).await?;
        let after = state.clock.now().saturating_since(begun);
        let begin = || {
            state.report(&Report::Started { after, tape: state.informers.world().tape_path() });
            state.machine.update(|it, now| it.source_synced(now, start));
        };
        match elected {
            Some(elected) => {
                elected.begin(state, executor)?;
                elected.lead(state, begin).await
            }
            None => {
                begin();
                pending().await
            }
        }
    };
    or(stopped, started).await
}

/// Waits until the term is lost although the controller ends. Reconciles have no more time then.
async fn lost_while_draining(state: &ControllerState, elected: Option<&Elected>) {
    let Some(elected) = elected else { return pending().await };
    elected.lost_after_stop().await;
    state.machine.drain(Duration::ZERO);
}

/// Waits for the first state of every source.
async fn all_synced(state: &ControllerState, mut syncing: Vec<HandleSynced>) -> Result<(), RunError> {
    let mut settled = None;
    poll_fn(|cx| {
        let polled: Vec<_> = syncing.iter_mut().map(|synced| Pin::new(synced).poll(cx)).collect();
        if !polled.iter().any(|synced| matches!(synced, Poll::Ready(Err(_)))) && settled.is_none() {
            return if polled.iter().all(Poll::is_ready) { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
        let settled = settled.get_or_insert_with(|| state.clock.sleep(SETTLE));
        if !syncing.iter().all(HandleSynced::is_settled) {
            ready!(Pin::new(settled).poll(cx));
        }
        Poll::Ready(Err(RunError::not_synced(syncing.iter().map(HandleSynced::not_synced))))
    })
    .await
}

/// Follows the sources.
fn spawn_feeds(executor: &Executor<'_>, state: &Arc<ControllerState>, feeds: Vec<Box<dyn Feed>>) -> Vec<Task<String>> {
    let sources: Vec<_> = feeds.iter().map(|_| state.machine.update(|it, _| it.add_source())).collect();
    let feeds = feeds.into_iter().zip(sources);
    feeds.map(|(feed, source)| executor.spawn(feed.follow(Arc::clone(state), source))).collect()
}

/// Waits until one of the worlds ends. A controller that had not started by then has done nothing.
async fn over(state: &ControllerState, worlds: &[Informers], reads: Vec<HandleSynced>) -> Result<(), RunError> {
    let mut ends: Vec<_> = worlds.iter().map(|informers| Box::pin(informers.world().ended())).collect();
    or(async { first(&mut ends).await.map_err(RunError::World) }, endless(state, worlds)).await?;
    match RunError::not_synced(reads.iter().map(HandleSynced::not_synced)) {
        RunError::NotSynced { streams } if streams.is_empty() || state.machine.lifecycle() == Lifecycle::Running => {
            Ok(())
        }
        not_synced => Err(not_synced),
    }
}

/// Waits for the end of the longest time that the worlds allow.
async fn endless(state: &ControllerState, worlds: &[Informers]) -> Result<(), RunError> {
    let Some(after) = worlds.iter().filter_map(|informers| informers.world().longest()).min() else {
        return pending().await;
    };
    state.clock.sleep(after).await;
    let has_end = worlds.iter().any(|informers| informers.world().has_end());
    Err(RunError::Endless { after, has_end, left: state.machine.report() })
}

/// Waits until one of the sources ends.
async fn ended(mut feeds: Vec<Task<String>>) -> Result<(), RunError> {
    Err(RunError::SourceEnded { source: first(&mut feeds).await })
}

/// The output of the first of these futures that is done.
async fn first<F: Future + Unpin>(futures: &mut [F]) -> F::Output {
    poll_fn(|cx| {
        let mut polled = futures.iter_mut().map(|future| Pin::new(future).poll(cx));
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}

/// Waits until one of the workers has left before the controller is drained.
async fn lost(workers: &WorkerStates<Key>) -> Result<(), RunError> {
    workers.lost().await;
    Err(RunError::Panicked("a worker's thread panicked".into()))
}

/// Reports each reconcile that blocks its thread.
async fn report_blocked(state: Arc<ControllerState>, workers: Arc<WorkerStates<Key>>) {
    workers.tell_blocked(&state.clock, |key, after| state.report(&Report::Blocking { key, after })).await;
}

/// Adds the keys that are due, until the controller has stopped. Of the periods that pass while the keys of one are added,
/// none is made up for.
async fn follow_timeouts(state: Arc<ControllerState>, own: Arc<OwnKind>) {
    let mut adding = None;
    follow(state.machine.timeouts(), &state.clock, |cx| {
        let has_come = state.machine.update(|it, _| it.poll_period());
        if has_come && adding.is_none() {
            let cause = Cause { source: "period".into(), kind: CauseKind::Period, object: None, version: None };
            adding = Some(Box::pin(state.add_all(own.keys(), cause)));
        }
        let Some(added) = &mut adding else { return Poll::Ready(()) };
        if added.as_mut().poll(cx).is_ready() {
            adding = None;
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await;
}

/// The audits of these caches of a controller, each once in each period.
pub(super) fn audits<'r>(
    state: &ControllerState,
    period: Duration,
    reads: impl Iterator<Item = &'r dyn Read>,
) -> Audits {
    let mut distinct = Distinct::default();
    let targets = reads.filter(|read| distinct.is_new(*read)).flat_map(Read::audit_targets).collect();
    Audits::new(targets, state.clock.clone(), AuditSchedule::new(period, state.seed), AuditConfig::default())
}

/// Reports each audit whose cache is not clean, or was not before.
pub(super) async fn report_audits(state: Arc<ControllerState>, mut audits: Audits) {
    // The places of the streams whose last audit was not clean.
    let mut unclean = BTreeSet::new();
    while let Some((place, audit)) = audits.next_placed().await {
        let was_unclean = if audit.is_clean() { unclean.remove(&place) } else { !unclean.insert(place) };
        if was_unclean || !audit.is_clean() {
            state.report(&Report::Audited { audit: &audit });
        }
    }
}
