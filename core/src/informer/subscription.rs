//! What a subscriber asks for, and what it is told.

use crate::fanout::{SubscriptionConfig, Transition, WhenBehind};
use crate::storage::Heap;
use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

/// How a [`Subscriber`](super::Subscriber) is told changes (client-go `HandlerOptions`).
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::decode::Raw;
/// use listwatch_core::informer::Subscription;
/// use listwatch_core::object::ObjectHandle;
///
/// let running = Subscription::<ObjectHandle<Raw>>::new()
///     .filter(|pod| pod.meta().label("app") == Some("web"))
///     .resync(Duration::from_secs(600))
///     .quiet();
/// # let _ = running;
/// ```
#[must_use]
pub struct Subscription<V> {
    pub(super) config: SubscriptionConfig<V, Heap>,
    pub(super) filter: Option<Filter<V>>,
    pub(super) resync: Option<Duration>,
}

/// Whether a subscriber is told of an object.
pub(super) type Filter<V> = Box<dyn Fn(&V) -> bool + Send + Sync>;

impl<V> Subscription<V> {
    /// A subscription to every object. Changes are coalesced while the subscriber is behind, repeated states are told,
    /// and there is no resync.
    pub const fn new() -> Self {
        Self { config: SubscriptionConfig::new(), filter: None, resync: None }
    }

    /// Tells every change, and holds the informer back while the subscriber is behind; see
    /// [`WhenBehind::Wait`].
    pub fn wait(mut self) -> Self {
        self.config = self.config.when_behind(WhenBehind::Wait);
        self
    }

    /// Leaves out updates that do not change the object; see
    /// [`SubscriptionConfig::quiet`](crate::fanout::SubscriptionConfig::quiet).
    pub fn quiet(mut self) -> Self {
        self.config = self.config.quiet();
        self
    }

    /// Tells only objects that `filter` accepts (client-go `FilteringResourceEventHandler`). An update that begins to
    /// satisfy it is told as added, and one that ceases to as deleted.
    ///
    /// A closure that is kept in a variable first needs its type: `|pod: &ObjectHandle<T>| …`.
    ///
    /// The filter must depend on the object alone. It runs without a lock. If it panics, the same change is the next
    /// one again.
    pub fn filter(mut self, filter: impl Fn(&V) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    /// Announces every object again after each `period`, as an update whose states are the same (client-go
    /// `resyncPeriod`). Zero stands for no resync.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period).filter(|period| !period.is_zero());
        self
    }

    /// Names the work that each state of an object causes, so that coalesced changes lose none; see
    /// [`SubscriptionConfig::marks`](crate::fanout::SubscriptionConfig::marks). A filter has no effect on marks.
    pub fn marks(mut self, marks: impl Fn(&V, &mut dyn FnMut(&str)) + Send + Sync + 'static) -> Self {
        self.config = self.config.marks(Box::new(marks));
        self
    }
}

impl<V> Default for Subscription<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> fmt::Debug for Subscription<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("config", &self.config)
            .field("filter", &self.filter.is_some())
            .field("resync", &self.resync)
            .finish()
    }
}

/// What a [`Subscriber`](super::Subscriber) is told: events `E`, and marks.
#[derive(Clone, Debug, PartialEq)]
pub enum Told<E> {
    /// An event of the informer. Of several failures, or several objects that could not be decoded, the last one is
    /// told.
    Event(E),
    /// A mark of a state that is not told; see [`Subscription::marks`](super::Subscription::marks).
    Mark(Box<str>),
    /// States were not told whose marks are not known, because the function of the
    /// [marks](super::Subscription::marks) panicked. The function is not called any more. Later states that are not told
    /// are reported in the same way.
    MarksLost,
}

/// Whether a filter accepts the state before a change, and the one after it (client-go `FilteringResourceEventHandler`).
///
/// A deletion passes if the state that was known passes. So it is told exactly if the object was, whatever the final
/// state is. (client-go filters by the final state.)
pub(super) fn accepted<V>(transition: &Transition<V>, filter: impl Fn(&V) -> bool) -> [bool; 2] {
    match transition {
        Transition::Added { object, .. } => [false, filter(object)],
        Transition::Updated { old, new } => [filter(old), filter(new)],
        Transition::Deleted { old, .. } => [filter(old), false],
    }
}

/// What a subscriber is told of a change whose states are [accepted] so.
pub(super) fn pass<V: Clone>(transition: Transition<V>, accepted: [bool; 2]) -> Option<Transition<V>> {
    match (transition, accepted) {
        (_, [false, false]) => None,
        (Transition::Updated { new: object, .. }, [false, true]) => Some(Transition::Added { object, initial: false }),
        (Transition::Updated { old, .. }, [true, false]) => {
            Some(Transition::Deleted { object: old.clone(), old, final_state_known: true })
        }
        (transition, _) => Some(transition),
    }
}
