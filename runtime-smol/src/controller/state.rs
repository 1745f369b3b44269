//! What the parts of a controller share.

use super::loops::Loops;
use super::memory::{Memory, Told};
use super::owners::{Followed, OwnKind};
use super::report::{OnReport, Report};
use super::resync::Resync;
use super::sharded::{Place, PlaceGate, Sharded};
use super::source::Sources;
use super::tally::Tally;
use super::writes::{Awaiting, Expected};
use crate::caught::caught_call;
use crate::client::Client;
use crate::clock::Clock;
use crate::election::{Leadership, Work};
use crate::informers::Informers;
use crate::mutex::Mutex;
use crate::recorder::Recorder;
use crate::stderr::Folded;
use crate::task_group::TaskGroup;
use crate::waiting::Waiting;
use async_executor::Task;
use core::time::Duration;
use listwatch_core::controller::{Cause, Lifecycle, SharedReconciler};
use listwatch_core::queue::{Added, ExponentialBackoff, Priority};
use listwatch_core::sync::StdLock;
use listwatch_core::text::Printable;
use listwatch_core::{Instant, Key};
use smol::channel::Sender;
use smol::future::{or, pending, yield_now};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::task::Wake;

/// The machine that decides which key is reconciled when.
pub(super) type Machine = SharedReconciler<Key, StdLock, Cause, Expected, ExponentialBackoff>;

/// Shared by the streams' side, the workers, and the program's handles.
pub(super) struct ControllerState {
    pub(super) name: Arc<str>,
    pub(super) clock: Clock,
    /// Of the random delays.
    pub(super) seed: u64,
    pub(super) informers: Informers,
    /// Without it, no election says who works.
    pub(super) leadership: Option<Leadership>,
    /// Without it, this replica has all keys.
    pub(super) shards: Option<Sharded>,
    /// Of Events. The replay of a tape has none.
    pub(super) recorder: Option<Recorder>,
    pub(super) machine: Machine,
    /// How many began, without a tape.
    pub(super) reconciles: AtomicU64,
    pub(super) sources: Sources,
    pub(super) resync: Mutex<Resync>,
    pub(super) tally: Tally,
    pub(super) followed: Followed,
    pub(super) memory: Memory,
    pub(super) told: Told,
    pub(super) loops: Loops,
    pub(super) obstacles: Obstacles,
    pub(super) awaiting: Awaiting,
    pub(super) blocking: Arc<BlockingWork>,
    pub(super) on_report: Option<OnReport>,
    pub(super) stderr: Folded,
    /// What the streams' side runs. It has the executor.
    pub(super) tasks: Weak<TaskGroup>,
    /// For how long a source may sync.
    pub(super) sync_within: Duration,
    /// The streams' side has it.
    pub(super) own: Weak<OwnKind>,
    /// Closed when the program asks the controller to end.
    pub(super) stop: Sender<()>,
}

/// A candidacy is over.
pub(super) struct Ended;

/// Another replica has the shard of a key.
pub(super) struct NotOurs;

impl ControllerState {
    /// Adds a key, unless it is another replica's. Returns whether the controller goes on.
    pub(super) fn add(&self, key: Key, priority: Priority, cause: Cause) -> bool {
        let is_ours = self.shards.as_ref().is_none_or(|shards| shards.admits(self.own.upgrade().as_deref(), &key));
        if is_ours { self.machine.add(key, priority, cause) != Added::Closed } else { self.has_not_ended() }
    }

    /// Begins work on a key, which may have late writes, with its place among the shards, if there are some.
    ///
    /// # Errors
    /// It is another replica's.
    pub(super) fn enter(&self, key: &Key, late: &[Expected]) -> Result<Option<Place>, NotOurs> {
        let Some(shards) = &self.shards else { return Ok(None) };
        let last = late.first().and_then(|expected| expected.shard);
        shards.enter(self.own.upgrade().as_deref(), key, last).map(Some).ok_or(NotOurs)
    }

    /// Reconciles all keys of the own kind soon, because it is not known to which keys an event leads.
    pub(super) fn resync(self: &Arc<Self>, cause: Cause) {
        let due = self.resync.lock().on_loss(self.clock.now());
        if let Some(due) = due {
            let state = Arc::clone(self);
            self.spawn_detached(async move {
                state.clock.sleep_until(due).await;
                let keys = state.own.upgrade().map_or_else(Vec::new, |own| own.keys());
                state.add_all(keys, cause).await;
            });
        }
    }

    /// Adds keys with low priority. Others have the thread after each slice.
    pub(super) async fn add_all(&self, keys: Vec<Key>, cause: Cause) {
        for slice in keys.chunks(1000) {
            slice.iter().for_each(|key| _ = self.add(key.clone(), Priority::Low, cause.clone()));
            yield_now().await;
        }
    }

    /// Lets the streams' side run a task. Dropped, the task ends. `None` if the controller has ended.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Option<Task<()>> {
        Some(self.tasks.upgrade()?.spawn(task))
    }

    /// Lets the streams' side run a task until it is over, unless the controller has ended.
    pub(super) fn spawn_detached(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = self.tasks.upgrade() {
            tasks.spawn_detached(task);
        }
    }

    /// The output of `future`; none if it takes longer.
    pub(super) async fn by<F: Future>(&self, deadline: Option<Instant>, future: F) -> Option<F::Output> {
        let over = async {
            match deadline {
                Some(deadline) => self.clock.sleep_until(deadline).await,
                None => pending().await,
            }
            None
        };
        or(async { Some(future.await) }, over).await
    }

    pub(super) fn has_not_ended(&self) -> bool {
        !matches!(self.machine.lifecycle(), Lifecycle::Stopped | Lifecycle::NotSynced | Lifecycle::Failed)
    }

    /// A client of these informers, which sends writes only while this controller leads, and has the shard of the gate.
    pub(super) fn client_of(&self, informers: &Informers, gate: Option<&PlaceGate>) -> Client {
        let client = informers.client();
        let client = self.leadership.as_ref().map_or_else(|| client.clone(), |leadership| leadership.guarded(client));
        if let Some(gate) = gate { client.behind(gate.gate()) } else { client }
    }

    /// Waits until this controller leads or ends, if it has an election.
    pub(super) async fn leads_or_ends(&self) {
        if let Some(leadership) = &self.leadership {
            leadership.leads_or_ends().await;
        }
    }

    /// Begins work under a term.
    ///
    /// # Errors
    /// The candidacy has ended.
    pub(super) async fn work(&self) -> Result<Option<Work>, Ended> {
        match &self.leadership {
            Some(leadership) => leadership.work().await.map(Some).ok_or(Ended),
            None => Ok(None),
        }
    }

    /// Warns the operator once of an owned collection whose changes wake no key, because no source has its objects.
    pub(super) fn warn_unfollowed(&self, key: &Key, path: &str) {
        if self.followed.misses(path) {
            let message =
                format!("changes of {path} wake no owner: add `.owns(&…)` with its informer to the controller");
            self.warn(key, None, "OwnedKindNotFollowed", &message);
        }
    }

    /// Warns the operator about an object, or about the key itself.
    pub(super) fn warn(&self, key: &Key, about: Option<&str>, reason: &str, message: &str) {
        self.report(&Report::Warning { key, about, reason, message });
    }

    /// Reports to the program. A panic of its function has been printed by the panic hook.
    pub(super) fn report(&self, report: &Report<'_>) {
        self.tell(report, None);
    }

    /// The same, at the end of a reconcile that took so long.
    pub(super) fn report_end(&self, report: &Report<'_>, took: Duration) {
        self.tell(report, Some(took));
    }

    fn tell(&self, report: &Report<'_>, took: Option<Duration>) {
        #[cfg(feature = "file")]
        if let Some((cause, of)) = report.dump_cause() {
            self.informers.world().dump_for(cause, &format_args!("{}: {of}", self.name));
        }
        let is_traced = report.trace(&self.name, took);
        let on_line = self.informers.world().on_line();
        if let Some(on_line) = on_line {
            let _ = caught_call(|| on_line(&format!("{}: {report}", Printable::new(&*self.name))));
        }
        let _ = caught_call(|| match &self.on_report {
            Some(on_report) => on_report(&self.name, report),
            None if on_line.is_some() || is_traced => {}
            None => {
                let name = Printable::new(&*self.name);
                self.stderr.write_line(&self.clock, report.message(), format_args!("{name}: {report}"));
            }
        });
    }
}

/// The objects that are awaited for each key, until its next reconcile.
#[derive(Default)]
pub(super) struct Obstacles(Mutex<HashMap<Key, Vec<Task<()>>>>);

/// As many objects in its way are awaited for one key.
const MOST_OBSTACLES: usize = 64;

impl Obstacles {
    /// Ends the waits of a key.
    pub(super) fn forget(&self, key: &Key) {
        let ended = self.0.lock().remove(key);
        drop(ended);
    }

    /// Adds a wait to those of a key. False if the key has too many.
    pub(super) fn add(&self, key: &Key, wait: impl FnOnce() -> Option<Task<()>>) -> bool {
        let mut waits = self.0.lock();
        let waits = waits.entry(key.clone()).or_default();
        let has_room = waits.len() < MOST_OBSTACLES;
        // Without the streams' side, the controller has ended.
        waits.extend(has_room.then(wait).flatten());
        has_room
    }
}

/// Which keys have such work.
#[derive(Default)]
pub(super) struct BlockingWork {
    keys: Mutex<Vec<Key>>,
    waiting: Arc<Waiting>,
}

/// One such work, until it is dropped.
pub(super) struct Blocking {
    all: Arc<BlockingWork>,
    key: Key,
}

impl BlockingWork {
    /// Counts a work that begins.
    pub(super) fn begin(self: &Arc<Self>, key: &Key) -> Blocking {
        self.keys.lock().push(key.clone());
        Blocking { all: Arc::clone(self), key: key.clone() }
    }

    /// Waits until no such work goes on.
    pub(super) async fn ended(&self) {
        self.waiting.until(|| self.keys.lock().is_empty().then_some(())).await;
    }

    /// The keys whose work goes on.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.keys.lock().clone()
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        let mut keys = self.all.keys.lock();
        let ended = keys.iter().position(|key| *key == self.key).map(|place| keys.swap_remove(place));
        drop((keys, ended));
        self.all.waiting.wake_by_ref();
    }
}
