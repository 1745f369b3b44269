//! One machine for many tasks or threads, behind a [`Lock`] of the caller's choice. Wakers are called after the lock is
//! released.

#[cfg(feature = "alloc")]
mod delays;
#[cfg(feature = "alloc")]
pub(crate) mod dispatch;
#[cfg(feature = "alloc")]
mod due;
#[cfg(feature = "alloc")]
mod get;
#[cfg(feature = "alloc")]
mod guarded;
#[cfg(feature = "alloc")]
mod inbox;
#[cfg(feature = "alloc")]
mod job_guard;
mod lock;
#[cfg(feature = "alloc")]
pub(crate) mod on_panic;
#[cfg(feature = "std")]
mod std_lock;
#[cfg(feature = "alloc")]
pub(crate) mod wakers;
#[cfg(feature = "alloc")]
mod work_queue;

#[cfg(feature = "alloc")]
pub use delays::Delays;
#[cfg(feature = "alloc")]
pub use due::Due;
#[cfg(feature = "alloc")]
pub use get::Get;
#[cfg(feature = "alloc")]
pub use guarded::SharedWorkQueue;
#[cfg(feature = "alloc")]
pub use job_guard::JobGuard;
#[cfg(feature = "critical-section")]
pub use lock::CriticalSectionLock;
#[cfg(feature = "spin")]
pub use lock::SpinLock;
pub use lock::{CellLock, Lock};
#[cfg(feature = "std")]
pub use std_lock::StdLock;

use core::fmt;

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
    #[must_use]
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
}

/// Locks that constants can make, so that what they protect can be a `static`.
#[cfg(feature = "critical-section")]
impl<T> Shared<T, CriticalSectionLock> {
    /// As [`new`](Self::new), for a `static`.
    #[must_use]
    pub const fn const_new(value: T) -> Self {
        Self { cell: critical_section::Mutex::new(core::cell::RefCell::new(value)) }
    }
}

#[cfg(feature = "spin")]
impl<T> Shared<T, SpinLock> {
    /// As [`new`](Self::new), for a `static`.
    #[must_use]
    pub const fn const_new(value: T) -> Self {
        Self { cell: spin::RwLock::new(value) }
    }
}

impl<T: Default, L: Lock> Default for Shared<T, L> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T, L: Lock> fmt::Debug for Shared<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
