//! The changes of an informer for many subscribers, each at its own pace: client-go's `sharedProcessor`.
//!
//! [`EventLogIn`] is the machine. It keeps each [`Transition`] once, until the slowest subscriber has read it, and has a
//! limit. A subscriber that falls behind the limit is told one change for each key, or holds the log back, as its
//! [`SubscriptionConfig`] says.

mod check;
mod event_log;
mod folded;
mod folding;
mod queues;
mod ring;
mod subscriber;
#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
mod transition;

pub use event_log::EventLogIn;
pub use subscriber::{SubscriberId, SubscriptionConfig, WhenBehind};
pub use transition::{Notice, Transition};

/// An [`EventLogIn`] in memory that grows.
#[cfg(feature = "alloc")]
pub type EventLog<V> = EventLogIn<V, crate::storage::Heap>;

/// An [`EventLogIn`] in memory for `N` entries, `N` waiting keys and `N` marks of all subscribers together.
#[cfg(feature = "fixed")]
pub type FixedEventLog<V, const N: usize> = EventLogIn<V, crate::storage::Fixed<N>>;
