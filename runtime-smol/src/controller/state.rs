//! What the parts of a running controller share.

use super::blocking_work::BlockingWork;
use super::cleaned::Cleaned;
use super::expected::Expected;
use super::followed::Followed;
use super::own_kind::OwnKind;
use super::report::{OnReport, Report};
use super::settled::Settled;
use super::sources::Sources;
use super::tally::Tally;
use super::told::Told;
use super::waits::Waits;
use crate::caught::caught_call;
use crate::client::Client;
use crate::clock::Clock;
use crate::election::{Leadership, Work};
use crate::informers::Informers;
use crate::recorder::Recorder;
use crate::stderr::Folded;
use crate::traced;
use core::pin::Pin;
use core::time::Duration;
use listwatch_core::controller::{Cause, HoldId, Lifecycle, SharedReconciler};
use listwatch_core::queue::{ExponentialBackoff, Priority};
use listwatch_core::sync::StdLock;
use listwatch_core::text::Printable;
use listwatch_core::{Instant, Key};
use smol::channel::{Receiver, Sender};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The machine that decides which key is reconciled when.
pub(super) type Machine = SharedReconciler<Key, StdLock, Cause, Expected, ExponentialBackoff>;

/// Shared by the streams' side, the workers, and the program's handles.
pub(super) struct State {
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
    pub(super) cleaned: Cleaned,
    pub(super) settled: Settled,
    pub(super) told: Told,
    pub(super) waits: Waits,
    pub(super) blocking: Arc<BlockingWork>,
    pub(super) on_report: Option<OnReport>,
    pub(super) stderr: Folded,
    /// To the streams' side, which waits for the writes to be shown.
    pub(super) held: Sender<Held>,
    /// To the streams' side, which follows what is added meanwhile: sources, and objects in the way of a key.
    pub(super) added: Sender<Box<dyn Follow>>,
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
    pub(super) added: Receiver<Box<dyn Follow>>,
    pub(super) stop: Receiver<()>,
}

/// What is followed beside the controller's own sources.
pub(super) trait Follow: Send {
    /// Follows it until it is removed. A source that does not sync in time is reported, and followed on.
    fn follow(self: Box<Self>, state: Arc<State>, sync_within: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

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

impl State {
    pub(super) fn add(&self, key: Key, priority: Priority, cause: Cause) {
        self.machine.add(key, priority, cause);
    }

    pub(super) fn has_not_ended(&self) -> bool {
        !matches!(self.machine.lifecycle(), Lifecycle::Stopped | Lifecycle::NotSynced)
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
        self.stale().get(key).cloned().unwrap_or_default()
    }

    pub(super) fn add_stale(&self, key: &Key, writes: &[Expected]) {
        self.stale().entry(key.clone()).or_default().extend_from_slice(writes);
    }

    /// The write is shown, or forgotten.
    pub(super) fn remove_stale(&self, key: &Key, write: &Expected) {
        let mut stale = self.stale();
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

    fn stale(&self) -> MutexGuard<'_, HashMap<Key, Vec<Expected>>> {
        self.stale.lock().unwrap_or_else(PoisonError::into_inner)
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
        let is_traced = traced::report(&self.name, report, took);
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
