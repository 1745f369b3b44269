//! What the parts of a controller share.

use super::memory::{Memory, Told};
use super::owners::{Followed, OwnKind};
use super::report::{OnReport, Report};
use super::source::Sources;
use super::tally::Tally;
use super::writes::Expected;
use crate::caught::caught_call;
use crate::client::Client;
use crate::clock::Clock;
use crate::election::{Leadership, Work};
use crate::informers::Informers;
use crate::mutex::Mutex;
use crate::recorder::Recorder;
use crate::stderr::Folded;
use crate::waiting::Waiting;
use core::convert::Infallible;
use core::pin::Pin;
use core::time::Duration;
use listwatch_core::controller::{Cause, HoldId, Lifecycle, SharedReconciler};
use listwatch_core::queue::{ExponentialBackoff, Priority};
use listwatch_core::sync::StdLock;
use listwatch_core::text::Printable;
use listwatch_core::{Instant, Key};
use smol::channel::bounded;
use smol::channel::{Receiver, Sender};
use std::collections::BTreeMap;
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
    /// The client of the controller's world.
    pub(super) client: Client,
    /// Without it, no election says who works.
    pub(super) leadership: Option<Leadership>,
    /// Of Events. The replay of a tape has none.
    pub(super) recorder: Option<Recorder>,
    pub(super) machine: Machine,
    /// How many began, without a tape.
    pub(super) reconciles: AtomicU64,
    pub(super) sources: Sources,
    pub(super) tally: Tally,
    pub(super) followed: Followed,
    pub(super) memory: Memory,
    pub(super) told: Told,
    pub(super) waits: Waits,
    pub(super) blocking: Arc<BlockingWork>,
    pub(super) on_report: Option<OnReport>,
    pub(super) stderr: Folded,
    /// To the streams' side, which waits for the writes to be shown.
    pub(super) held: Sender<Held>,
    /// To the streams' side, which follows what is added meanwhile.
    pub(super) errands: Sender<Errand>,
    /// For how long a source may sync.
    pub(super) sync_within: Duration,
    /// The streams' side has it.
    pub(super) own: Weak<OwnKind>,
    /// The writes that were awaited too often, until their stores show them.
    pub(super) stale: Mutex<HashMap<Key, Vec<Expected>>>,
    /// Closed when the program asks the controller to end.
    pub(super) stop: Sender<()>,
}

/// What the streams' side gets of the others.
pub(super) struct Inbox {
    pub(super) held: Receiver<Held>,
    pub(super) errands: Receiver<Errand>,
    pub(super) stop: Receiver<()>,
}

/// What the streams' side follows beside the controller's own sources: a source that was added, or an object in the way
/// of a key.
pub(super) type Errand = Box<dyn FnOnce(Arc<ControllerState>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// As many errands wait for the streams' side. What finds no room is told so at once.
pub(super) const MOST_ERRANDS: usize = 1024;
/// As many writes are followed until their stores show them. The key of another one waits for its longest time.
pub(super) const MOST_FOLLOWED: usize = 16_384;
/// As many writes are followed that their keys do not wait for any more.
pub(super) const MOST_STALE: usize = 4096;
/// As many objects in its way are awaited for one key.
const MOST_OBSTACLES: usize = 64;

/// The writes that a key waits for.
pub(super) struct Held {
    pub(super) key: Key,
    /// None for writes that are stale.
    pub(super) hold: Option<HoldId>,
    /// The end of the wait.
    pub(super) until: Instant,
    pub(super) writes: Vec<Expected>,
}

/// A candidacy is over.
pub(super) struct Ended;

/// The client, which sends writes only under a term if there is an election.
pub(super) fn guarded(leadership: Option<&Leadership>, client: &Client) -> Client {
    leadership.map_or_else(|| client.clone(), |leadership| leadership.guarded(client))
}

impl ControllerState {
    pub(super) fn add(&self, key: Key, priority: Priority, cause: Cause) {
        self.machine.add(key, priority, cause);
    }

    pub(super) fn has_not_ended(&self) -> bool {
        !matches!(self.machine.lifecycle(), Lifecycle::Stopped | Lifecycle::NotSynced | Lifecycle::Failed)
    }

    /// A client of these informers, which sends writes only while this controller leads.
    pub(super) fn client_of(&self, informers: &Informers) -> Client {
        guarded(self.leadership.as_ref(), informers.client())
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

    /// The writes of the key's reconciles that were awaited too often, and are not shown yet.
    pub(super) fn stale_writes(&self, key: &Key) -> Vec<Expected> {
        self.stale.lock().get(key).cloned().unwrap_or_default()
    }

    /// Nothing tells the machine when these writes are shown: too many are followed. The key waits as long as it may.
    pub(super) fn on_unfollowed(&self, key: &Key, hold: Option<HoldId>, writes: &[Expected]) {
        if hold.is_none() {
            return writes.iter().for_each(|write| self.remove_stale(key, write));
        }
        let message = "too many writes are awaited; the key waits for its longest time, whether or not they are shown";
        self.report(&Report::Warning { key, about: None, reason: "WriteNotFollowed", message });
    }

    pub(super) fn add_stale(&self, key: &Key, writes: &[Expected]) {
        self.stale.lock().entry(key.clone()).or_default().extend_from_slice(writes);
    }

    /// The write is shown, or forgotten.
    pub(super) fn remove_stale(&self, key: &Key, write: &Expected) {
        let mut stale = self.stale.lock();
        let Some(writes) = stale.get_mut(key) else { return };
        writes.retain(|other| !other.is_same(write));
        if writes.is_empty() {
            stale.remove(key);
        }
    }

    /// Warns the operator once of an owned collection whose changes wake no key, because no source has its objects.
    pub(super) fn warn_unfollowed(&self, key: &Key, path: &str) {
        if self.followed.misses(path) {
            let message =
                format!("changes of {path} wake no owner: add `.owns(&…)` with its informer to the controller");
            self.report(&Report::Warning { key, about: None, reason: "OwnedKindNotFollowed", message: &message });
        }
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
        let is_traced = report.trace(&self.name, took);
        let _ = caught_call(|| match (&self.on_report, self.informers.world().on_line()) {
            (Some(on_report), _) => on_report(&self.name, report),
            (None, Some(on_line)) => on_line(&format!("{}: {report}", Printable::new(&*self.name))),
            (None, None) if is_traced => {}
            (None, None) => {
                let name = Printable::new(&*self.name);
                self.stderr.write_line(&self.clock, report.message(), format_args!("{name}: {report}"));
            }
        });
    }
}

/// What keeps the waits of each key.
#[derive(Default)]
pub(super) struct Waits(Mutex<HashMap<Key, Vec<Sender<Infallible>>>>);

/// Closed with the next reconcile of the key.
pub(super) type UntilNext = Receiver<Infallible>;

impl Waits {
    /// Begins a wait of a key; `None` if it has too many.
    pub(super) fn begin(&self, key: &Key) -> Option<UntilNext> {
        let (keep, over) = bounded(1);
        let mut waits = self.0.lock();
        let waits = waits.entry(key.clone()).or_default();
        (waits.len() < MOST_OBSTACLES).then(|| waits.push(keep))?;
        Some(over)
    }

    /// Ends the waits of a key.
    pub(super) fn end(&self, key: &Key) {
        let ended = self.0.lock().remove(key);
        drop(ended);
    }
}

/// Which keys have such work.
#[derive(Default)]
pub(super) struct BlockingWork {
    keys: Mutex<BTreeMap<Key, usize>>,
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
        *self.keys.lock().entry(key.clone()).or_default() += 1;
        Blocking { all: Arc::clone(self), key: key.clone() }
    }

    /// Waits until no such work goes on.
    pub(super) async fn ended(&self) {
        self.waiting.until(|| self.keys.lock().is_empty().then_some(())).await;
    }

    /// The keys whose work goes on.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.keys.lock().keys().cloned().collect()
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        let mut keys = self.all.keys.lock();
        if let Some(count) = keys.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                keys.remove(&self.key);
            }
        }
        drop(keys);
        self.all.waiting.wake_by_ref();
    }
}
