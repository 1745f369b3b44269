//! One machine for many tasks or threads, behind a [`Lock`] of the caller's choice. Wakers are called after the lock is
//! released.
//!
//! # If the program's code panics
//!
//! There are two kinds of code.
//!
//! Functions that a program hands over to be called: reconciles, mappers, handlers, index functions, marks, predicates,
//! a `Deserialize`, a transport. A machine calls them before it changes anything, or takes back what it has changed. If
//! one panics, the call panics with it, and the machine is as before. The caller can go on.
//!
//! Code that runs where a machine is being changed: a key's or an object's `Hash`, `Eq`, `Clone` and `Drop`, group
//! functions, rate limiters, clocks, and wakers. It must not panic. If it does:
//!
//! - A work queue or a controller behind its lock has failed, as a poisoned `std::sync::Mutex` has. It has lost its
//!   keys, it refuses others, and its workers end as after a shut-down. All that sleep are woken.
//!   [`has_failed`](SharedWorkQueue::has_failed), or
//!   [`Lifecycle::Failed`](crate::controller::Lifecycle::Failed), says so.
//! - A store looks for its keys before it changes, and drops objects after its lock. Its informer makes the change again,
//!   as after an index function that panicked.
//! - A machine that its caller owns is as a collection of `std` is then: its content is not specified. A `&mut` to it
//!   does not pass `catch_unwind` unless the caller asserts that.
//!
//! A change sets a mark when it begins, and clears it at its end. Whoever finds the mark set empties the machine. Nothing
//! is repaired, and the emptied memory is not dropped, since that would call the same code again. Core catches nothing.

#[cfg(feature = "alloc")]
pub(crate) mod dispatch;
#[cfg(feature = "alloc")]
mod inbox;
mod lock;
#[cfg(feature = "std")]
mod std_lock;
#[cfg(feature = "alloc")]
pub(crate) mod wakers;
#[cfg(feature = "alloc")]
mod work_queue;
#[cfg(feature = "alloc")]
pub(crate) mod worker;

#[cfg(feature = "alloc")]
pub use dispatch::Due;
#[cfg(feature = "critical-section")]
pub use lock::CriticalSectionLock;
#[cfg(feature = "spin")]
pub use lock::SpinLock;
pub use lock::{CellLock, Lock};
#[cfg(feature = "std")]
pub use std_lock::StdLock;
#[cfg(feature = "alloc")]
pub use work_queue::{Delays, Get, JobGuard, SharedWorkQueue};
#[cfg(feature = "alloc")]
pub use worker::{Follower, Lent, Shares, Wait};

/// A value behind a lock of the kind `L`.
///
/// The machines take `&mut self` and hold no lock. Several tasks share one like this:
///
/// ```
/// use listwatch_core::sync::{CellLock, Shared};
/// use listwatch_core::WorkQueue;
///
/// let queue = Shared::<_, CellLock>::new(WorkQueue::<u32>::default());
/// queue.with(|queue| queue.add(7));
/// assert_eq!(queue.read(|queue| queue.len()), 1);
/// ```
///
/// A machine in fixed memory can be a `static`; see [`FixedWorkQueue`](crate::queue::FixedWorkQueue), and `const_new`
/// of `CriticalSectionLock` and `SpinLock`.
pub struct Shared<T, L: Lock> {
    cell: L::Cell<T>,
}

impl<T, L: Lock> Shared<T, L> {
    /// Puts a lock around `value`.
    pub fn new(value: T) -> Self {
        Self { cell: L::new(value) }
    }

    /// Calls `f` with exclusive access to the value.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        L::with(&self.cell, f)
    }

    /// Calls `f` with shared access to the value.
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        L::read(&self.cell, f)
    }

    #[cfg(feature = "alloc")]
    fn is_taken(&self) -> bool {
        L::is_taken(&self.cell)
    }
}

/// Locks that constants can make, so that what they protect can be a `static`.
#[cfg(feature = "critical-section")]
impl<T> Shared<T, CriticalSectionLock> {
    /// As [`new`](Self::new), for a `static`.
    pub const fn const_new(value: T) -> Self {
        Self { cell: critical_section::Mutex::new(core::cell::RefCell::new(value)) }
    }
}

#[cfg(feature = "spin")]
impl<T> Shared<T, SpinLock> {
    /// As [`new`](Self::new), for a `static`.
    pub const fn const_new(value: T) -> Self {
        Self { cell: spin::RwLock::new(value) }
    }
}

impl<T: Default, L: Lock> Default for Shared<T, L> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

summary!(impl[T, L: Lock] "Shared" for Shared<T, L>);

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
