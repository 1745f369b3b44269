//! The handle of a controller, and what metrics and status pages read by it.

use super::error::RunError;
use super::feed::{AddedSource, Feed, Mapped, add_feed};
use super::source::{Keys, Mapper, Source, SourceStatus};
use super::state::ControllerState;
#[cfg(feature = "metrics")]
use super::tally::Counts;
use crate::election::ElectionStatus;
#[cfg(feature = "endpoint")]
use crate::election::Leadership;
#[cfg(feature = "metrics")]
use crate::informers::Asked;
use crate::mutex::Mutex;
#[cfg(feature = "endpoint")]
use listwatch_core::Instant;
use listwatch_core::Key;
use listwatch_core::controller::{Cause, CauseKind, KeyReport, Lifecycle};
use listwatch_core::object::ObjectHandle;
use listwatch_core::queue::{Priority, QueueMetrics, QueueStats};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Reaches a controller from outside, from any thread: it adds keys and sources, ends the controller, and reads
/// its state. A clone reaches the same controller.
///
/// A handle can be made first and given to [`keys`](super::Reconciler::keys), or taken from
/// [`Running::handle`](super::Running::handle). Keys that are added before the controller runs wait for it. A handle
/// reaches one controller: a second one with the same handle ends at once, with [`RunError::Config`].
///
/// ```
/// use listwatch::controller::ControllerHandle;
/// use listwatch::queue::Priority;
///
/// let handle = ControllerHandle::default();
/// // For example on a request to a webhook.
/// handle.add_with_priority("web/a", Priority::High);
/// ```
#[derive(Clone, Default)]
pub struct ControllerHandle(Arc<Mutex<Attached>>);

#[derive(Default)]
struct Attached {
    state: Option<Weak<ControllerState>>,
    /// What is to be done once there is a controller.
    pending: BTreeMap<Key, Priority>,
    is_stopped: bool,
}

impl ControllerHandle {
    /// Lets the controller reconcile `key`. False if the controller has ended, or is ending.
    pub fn add(&self, key: impl Into<Key>) -> bool {
        self.add_with_priority(key, Priority::default())
    }

    /// The same with a priority.
    pub fn add_with_priority(&self, key: impl Into<Key>, priority: Priority) -> bool {
        let key = key.into();
        let mut attached = self.0.lock();
        if attached.is_stopped {
            return false;
        }
        if attached.state.is_none() {
            let known = attached.pending.entry(key).or_insert(priority);
            *known = priority.max(*known);
            return true;
        }
        drop(attached);
        let Some(state) = self.state() else { return false };
        state.add(key, priority, cause())
    }

    /// Ends the controller: no reconcile begins, and those that run have until the end of the
    /// [drain](super::Reconciler::drain).
    pub fn stop(&self) {
        let state = {
            let mut attached = self.0.lock();
            attached.is_stopped = true;
            attached.state.as_ref().and_then(Weak::upgrade)
        };
        state.into_iter().for_each(|state| _ = state.stop.close());
    }

    /// Each key that is not done, and how it stands; nothing unless the controller runs. The cost grows with the number
    /// of keys.
    pub fn report(&self) -> Vec<KeyReport<Key>> {
        self.state().map_or_else(Vec::new, |state| state.machine.report())
    }

    /// The keys that are [parked](super::Reconciler::park_after): they are reconciled when they change.
    pub fn parked(&self) -> Vec<Key> {
        self.state().map_or_else(Vec::new, |state| state.machine.read(|it| it.parked().cloned().collect::<Vec<_>>()))
    }

    /// The counters of the controller's queue; `None` before and after its life. Keys that are
    /// [debounced](super::Reconciler::debounce) are not in the queue yet.
    pub fn stats(&self) -> Option<QueueStats> {
        self.state().map(|state| state.machine.read(|it| it.stats()))
    }

    /// The times of the controller's queue, as client-go's `workqueue_*` metrics; `None` before and after its life.
    pub fn metrics(&self) -> Option<QueueMetrics> {
        let state = self.state()?;
        state.machine.read(|it| it.metrics(state.clock.now()))
    }

    /// How far the controller is with each source that it follows, in the order in which they were added; nothing
    /// unless the controller runs.
    pub fn sources(&self) -> Vec<SourceStatus> {
        self.state().map_or_else(Vec::new, |state| state.sources.status(state.clock.now()))
    }

    /// The stage of the controller's life; `None` before and after it.
    pub fn lifecycle(&self) -> Option<Lifecycle> {
        self.state().map(|state| state.machine.lifecycle())
    }

    /// How the controller stands in its [election](super::Reconciler::lead_by); `None` if it has no election, and before
    /// and after its life.
    ///
    /// ```
    /// use listwatch::controller::ControllerHandle;
    ///
    /// /// A line for a status page.
    /// fn line(controller: &ControllerHandle) -> String {
    ///     match controller.election() {
    ///         Some(it) if it.is_leading() => format!("leads for {} s at least", it.remaining.as_secs()),
    ///         Some(it) => format!("follows {:?}", it.leader), // the text comes from the server
    ///         None => "no election".to_owned(),
    ///     }
    /// }
    /// assert_eq!(line(&ControllerHandle::default()), "no election");
    /// ```
    pub fn election(&self) -> Option<ElectionStatus> {
        Some(self.state()?.leadership.as_ref()?.status())
    }

    /// Reconciles the owner of each object of `kind` from now on, as [`Reconciler::owns`](super::Reconciler::owns)
    /// does. `None` unless there is a controller that is not ending, and whose own kind is of the same world and has a
    /// known [name](crate::InformerHandle::with_kind).
    ///
    /// The kind may have been discovered while the controller runs. Its objects come first, as an initial list. A
    /// running controller goes on meanwhile; one that has not started waits for the kind. If the kind does not sync in
    /// [time](super::Reconciler::sync_within), that is [reported](super::Report::SourceNotSynced), and the controller
    /// goes on.
    ///
    /// ```
    /// use listwatch::controller::{AddedSource, ControllerHandle};
    /// use listwatch::decode::MetadataOnly;
    /// use listwatch::{Informers, Resource};
    ///
    /// /// Follows a kind that discovery found, until the source is dropped.
    /// fn follow(controller: &ControllerHandle, informers: &Informers, found: Resource) -> Option<AddedSource> {
    ///     controller.owns(&informers.informer_of::<MetadataOnly>(found))
    /// }
    /// ```
    #[doc(alias = "Watch")]
    pub fn owns<U: Send + Sync + 'static>(&self, kind: impl Into<Source<U>>) -> Option<AddedSource> {
        let kind = kind.into();
        let own = self.state()?.own.upgrade()?;
        own.check_owns(&kind.handle).ok()?;
        self.follow(Box::new(Mapped::new(kind, Mapper::Owner(own))))
    }

    /// Calls `map` with each object of `kind` from now on, as [`Reconciler::maps`](super::Reconciler::maps) does. Else
    /// it is as [`owns`](Self::owns), and `kind` may be of another world with the same clock. The controller runs the
    /// informers of that world until the source is removed. The end of that world does not end it.
    #[doc(alias = "Watch")]
    pub fn maps<U: Send + Sync + 'static>(
        &self,
        kind: impl Into<Source<U>>,
        map: impl Fn(&ObjectHandle<U>, &mut Keys<'_>) + Send + 'static,
    ) -> Option<AddedSource> {
        self.follow(Box::new(Mapped::new(kind.into(), Mapper::Program(Box::new(map)))))
    }

    fn follow(&self, feed: Box<dyn Feed>) -> Option<AddedSource> {
        let state = self.state()?;
        let is_alive = matches!(state.machine.lifecycle(), Lifecycle::Starting | Lifecycle::Running);
        let is_timed = feed.source().informers().clock().is_same(&state.clock);
        if is_alive && is_timed { add_feed(&state, feed) } else { None }
    }

    /// Reaches this controller from now on.
    ///
    /// # Errors
    /// The handle reaches another controller, which has not ended.
    pub(super) fn attach(&self, state: &Arc<ControllerState>) -> Result<(), RunError> {
        // It leaves the lock: the drop of its last share drops the program's objects.
        let (_ended, reached) = {
            let mut attached = self.0.lock();
            match attached.state.as_ref().and_then(Weak::upgrade) {
                Some(other) if other.has_not_ended() => (None, Err(other)),
                ended => {
                    attached.state = Some(Arc::downgrade(state));
                    (ended, Ok((core::mem::take(&mut attached.pending), attached.is_stopped)))
                }
            }
        };
        let (pending, is_stopped) = reached.map_err(|other| {
            RunError::Config(format!(
                "the handle of the controller {:?} reaches {:?} already; give each controller a handle of its own",
                state.name, other.name
            ))
        })?;
        pending.into_iter().for_each(|(key, priority)| _ = state.add(key, priority, cause()));
        if is_stopped {
            state.stop.close();
        }
        Ok(())
    }

    /// Whether both are clones of one handle.
    #[cfg(feature = "metrics")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether the controller that it reached has ended, and nothing is left of it.
    #[cfg(feature = "metrics")]
    pub(crate) fn is_gone(&self) -> bool {
        self.0.lock().state.as_ref().is_some_and(|state| state.strong_count() == 0)
    }

    /// Whether no controller has begun yet, and one still may.
    #[cfg(feature = "endpoint")]
    pub(crate) fn is_awaited(&self) -> bool {
        let attached = self.0.lock();
        attached.state.is_none() && !attached.is_stopped
    }

    pub(super) fn state(&self) -> Option<Arc<ControllerState>> {
        self.0.lock().state.as_ref().and_then(Weak::upgrade)
    }
}

fn cause() -> Cause {
    Cause { source: "handle".into(), kind: CauseKind::Requested, object: None, version: None }
}

listwatch_core::summary!("ControllerHandle" for ControllerHandle, |it| { lifecycle: it.lifecycle() });

/// What a scrape reads of a controller that lives.
#[cfg(feature = "metrics")]
pub(crate) struct Reading {
    pub(crate) name: Arc<str>,
    pub(crate) stats: QueueStats,
    pub(crate) times: Option<QueueMetrics>,
    pub(crate) counts: Counts,
    pub(crate) sources: Vec<SourceStatus>,
    /// The lease of its election, and whether it leads.
    pub(crate) leads: Option<(String, bool)>,
    /// The requests of its world.
    pub(crate) asked: Option<Asked>,
}

/// What a status page reads of a controller that lives.
#[cfg(feature = "endpoint")]
pub(crate) struct Inspection {
    pub(crate) reading: Reading,
    pub(crate) now: Instant,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) keys: Vec<KeyReport<Key>>,
    pub(crate) election: Option<ElectionStatus>,
}

#[cfg(feature = "metrics")]
impl ControllerHandle {
    /// None before and after the controller's life.
    #[cfg(feature = "endpoint")]
    pub(crate) fn inspection(&self) -> Option<Inspection> {
        let reading = self.reading()?;
        let state = self.state()?;
        Some(Inspection {
            reading,
            now: state.clock.now(),
            lifecycle: state.machine.lifecycle(),
            keys: state.machine.report(),
            election: state.leadership.as_ref().map(Leadership::status),
        })
    }

    /// None before and after the controller's life.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let state = self.state().filter(|state| state.has_not_ended())?;
        let now = state.clock.now();
        Some(Reading {
            name: Arc::clone(&state.name),
            stats: state.machine.read(|it| it.stats()),
            times: state.machine.read(|it| it.metrics(now)),
            counts: state.tally.counts(),
            sources: state.sources.status(now),
            asked: Some(state.informers.world().asked()),
            leads: state.leadership.as_ref().map(|it| (it.lease().to_owned(), it.token().is_some())),
        })
    }
}
