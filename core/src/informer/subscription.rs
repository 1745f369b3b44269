//! What a subscriber asks for, and what it is told.

use super::EventOf;
use crate::fanout::{SubscriptionConfig, Transition, WhenBehind};
use crate::storage::{Heap, Keyed};
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

/// What a [`Subscriber`](super::Subscriber) is told.
#[expect(clippy::large_enum_variant, reason = "nearly all are events")]
pub enum Told<V: Keyed> {
    /// An event of the informer. Of several failures, or several objects that could not be decoded, the last one is
    /// told.
    Event(EventOf<V>),
    /// A mark of a state that is not told; see [`Subscription::marks`](super::Subscription::marks).
    Mark(Box<str>),
    /// States were not told whose marks are not known, because the function of the
    /// [marks](super::Subscription::marks) panicked. The function is not called any more. Later states that are not told
    /// are reported in the same way.
    MarksLost,
}

impl<V: Keyed<Key: Clone> + Clone> Clone for Told<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Event(event) => Self::Event(event.clone()),
            Self::Mark(mark) => Self::Mark(mark.clone()),
            Self::MarksLost => Self::MarksLost,
        }
    }
}

impl<V: Keyed<Key: PartialEq> + PartialEq> PartialEq for Told<V> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Event(one), Self::Event(other)) => one == other,
            (Self::Mark(one), Self::Mark(other)) => one == other,
            (Self::MarksLost, Self::MarksLost) => true,
            (Self::Event(_) | Self::Mark(_) | Self::MarksLost, _) => false,
        }
    }
}

impl<V: Keyed<Key: fmt::Debug> + fmt::Debug> fmt::Debug for Told<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(event) => f.debug_tuple("Event").field(event).finish(),
            Self::Mark(mark) => f.debug_tuple("Mark").field(mark).finish(),
            Self::MarksLost => f.write_str("MarksLost"),
        }
    }
}

/// How much of a change a filter lets through (client-go `FilteringResourceEventHandler`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The change as it is.
    Whole,
    /// An update whose old state the filter does not accept: the object is told as added.
    Appears,
    /// An update whose new state the filter does not accept: the object is told as deleted.
    Vanishes,
    Nothing,
}

impl Pass {
    /// A deletion passes if the state that was known passes. So it is told exactly if the object was, whatever the
    /// final state is. (client-go filters by the final state.)
    pub(super) fn of<V>(transition: &Transition<V>, filter: impl Fn(&V) -> bool) -> Self {
        match transition {
            Transition::Added { object: told, .. } | Transition::Deleted { old: told, .. } if filter(told) => {
                Self::Whole
            }
            Transition::Added { .. } | Transition::Deleted { .. } => Self::Nothing,
            Transition::Updated { old, new } => match (filter(old), filter(new)) {
                (true, true) => Self::Whole,
                (false, true) => Self::Appears,
                (true, false) => Self::Vanishes,
                (false, false) => Self::Nothing,
            },
        }
    }

    pub(super) fn apply<V: Clone>(self, transition: Transition<V>) -> Option<Transition<V>> {
        match (self, transition) {
            (Self::Nothing, _) => None,
            (Self::Appears, Transition::Updated { new: object, .. }) => {
                Some(Transition::Added { object, initial: false })
            }
            (Self::Vanishes, Transition::Updated { old, .. }) => {
                Some(Transition::Deleted { object: old.clone(), old, final_state_known: true })
            }
            (_, transition) => Some(transition),
        }
    }
}
