//! What a controller decides: which key is reconciled when, and why.
//!
//! [`ReconcilerIn`] is the machine: a work queue, and around it the causes of each reconcile, debouncing, the wait for
//! a reconcile's own writes, and the life of a controller from its first list to its drain. [`SharedReconciler`] shares
//! it between tasks. The [`predicate`]s say which changes matter. [`LoopDetector`] finds writes
//! without an end.

#[cfg(feature = "alloc")]
mod cause;
mod lifecycle;
#[cfg(feature = "json")]
pub mod loops;
mod notes;
#[cfg(feature = "alloc")]
pub mod predicate;
mod reconciler;
mod record;
mod report;
#[cfg(feature = "alloc")]
mod shared;

#[cfg(feature = "alloc")]
pub use cause::{Awaited, Cause, CauseKind, Write};
pub use lifecycle::{Lifecycle, SourceId};
#[cfg(feature = "json")]
pub use loops::{Attention, LoopDetector, LoopKind, OwnValues, OwnWrite, WriteLoop};
pub use reconciler::ReconcilerIn;
pub use record::{Debounce, Ended, HoldId, WorkItem};
pub use report::{KeyReport, KeyState};
#[cfg(feature = "alloc")]
pub use shared::{NextReconcile, ReconcileGuard, SharedReconciler, Timeouts};

/// A [`ReconcilerIn`] on the heap, which is never full.
#[cfg(feature = "alloc")]
pub type Reconciler<K = crate::object::Key, C = Cause, W = Write, L = crate::queue::ExponentialBackoff> =
    ReconcilerIn<K, C, W, L, crate::storage::Heap>;

/// A [`ReconcilerIn`] with room for `N` keys, `N` causes and `N` writes in place; nothing is allocated.
#[cfg(feature = "fixed")]
pub type FixedReconciler<K, C, W, const N: usize, L = crate::queue::ExponentialBackoff> =
    ReconcilerIn<K, C, W, L, crate::storage::Fixed<N>>;
