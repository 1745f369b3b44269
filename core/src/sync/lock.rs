use core::cell::RefCell;

/// A kind of lock: one writer, or any number of readers.
///
/// The lock is held while a closure runs, so it cannot be kept across an `await`, and a lock that has no guard fits too,
/// such as a critical section. Any other is a few lines:
///
/// ```
/// use listwatch_core::sync::{Lock, Shared};
/// use std::sync::Mutex;
///
/// enum MutexLock {}
///
/// impl Lock for MutexLock {
///     type Cell<T> = Mutex<T>;
///
///     fn new<T>(value: T) -> Mutex<T> {
///         Mutex::new(value)
///     }
///
///     fn with<T, R>(cell: &Mutex<T>, f: impl FnOnce(&mut T) -> R) -> R {
///         f(&mut cell.lock().unwrap())
///     }
///
///     fn read<T, R>(cell: &Mutex<T>, f: impl FnOnce(&T) -> R) -> R {
///         f(&cell.lock().unwrap())
///     }
/// }
///
/// let number = Shared::<u32, MutexLock>::new(1);
/// number.with(|n| *n += 1);
/// assert_eq!(number.read(|n| *n), 2);
/// ```
///
/// The closure must not come back to the lock that it runs under, and neither must what it calls: the index functions of
/// a cache, the group function and the rate limiter of a queue, the `Hash`, `Eq`, `Clone` and `Drop` of its keys. It would
/// wait for itself; where that can be told, it panics instead. What is told:
///
/// | lock | read inside of a read | any other return |
/// |---|---|---|
/// | `StdLock` | goes on | panics |
/// | [`CellLock`], `CriticalSectionLock` | goes on | panics |
/// | `SpinLock` | goes on | waits for ever |
///
/// A panic in the closure leaves the lock open, and the value as the closure left it. An operation of this crate's
/// machines that panics, because something did that it calls, leaves its machine as it was.
pub trait Lock {
    /// A value behind a lock.
    type Cell<T>;

    /// Puts a lock around `value`.
    fn new<T>(value: T) -> Self::Cell<T>;

    /// Calls `f` with exclusive access to the value.
    fn with<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&mut T) -> R) -> R;

    /// Calls `f` with shared access to the value.
    fn read<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&T) -> R) -> R;
}

/// A critical section: nothing else runs until the closure returns. What that takes, such as turning interrupts off, is
/// up to the target: its crate implements [`critical_section`].
///
/// Readers keep each other out as well as writers. A closure that comes back to a value that it changes, or to change one
/// that it reads, panics.
#[cfg(feature = "critical-section")]
#[derive(Clone, Copy, Debug)]
pub enum CriticalSectionLock {}

#[cfg(feature = "critical-section")]
impl Lock for CriticalSectionLock {
    type Cell<T> = critical_section::Mutex<RefCell<T>>;

    fn new<T>(value: T) -> Self::Cell<T> {
        critical_section::Mutex::new(RefCell::new(value))
    }

    fn with<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&mut T) -> R) -> R {
        critical_section::with(|section| CellLock::with(cell.borrow(section), f))
    }

    fn read<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&T) -> R) -> R {
        critical_section::with(|section| CellLock::read(cell.borrow(section), f))
    }
}

/// A lock that spins until it is free: the last resort, for a target with several cores and no operating system.
///
/// It does not know priorities. On one core, an interrupt or a task of higher priority that waits for the one it
/// interrupted waits for ever: take a critical section there (feature `critical-section`). So does a closure that comes
/// back to a value that it changes, or to change one that it reads.
#[cfg(feature = "spin")]
#[derive(Clone, Copy, Debug)]
pub enum SpinLock {}

#[cfg(feature = "spin")]
impl Lock for SpinLock {
    type Cell<T> = spin::RwLock<T>;

    fn new<T>(value: T) -> Self::Cell<T> {
        spin::RwLock::new(value)
    }

    fn with<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut cell.write())
    }

    fn read<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&T) -> R) -> R {
        f(&cell.read())
    }
}

/// No lock but a `RefCell`, for tasks that share one thread. A closure that comes back to it panics, unless both read.
#[derive(Clone, Copy, Debug)]
pub enum CellLock {}

impl Lock for CellLock {
    type Cell<T> = RefCell<T>;

    fn new<T>(value: T) -> Self::Cell<T> {
        RefCell::new(value)
    }

    fn with<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut cell.try_borrow_mut().unwrap_or_else(|_| came_back()))
    }

    fn read<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&T) -> R) -> R {
        f(&cell.try_borrow().unwrap_or_else(|_| came_back()))
    }
}

/// Panics for a closure that would wait for itself.
#[cold]
#[track_caller]
pub(super) fn came_back() -> ! {
    panic!(
        "a closure came back to the lock that it runs under: what is called under a lock must not use that lock again"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Shared;
    #[cfg(feature = "std")]
    use crate::sync::StdLock;

    fn a_write_is_read<L: Lock>() {
        let number = Shared::<u32, L>::new(1);
        assert_eq!(number.with(|n| core::mem::replace(n, 2)), 1);
        assert_eq!(number.read(|n| *n), 2);
    }

    #[test]
    fn a_write_is_read_behind_every_lock() {
        a_write_is_read::<CellLock>();
        #[cfg(feature = "std")]
        a_write_is_read::<StdLock>();
        #[cfg(feature = "critical-section")]
        a_write_is_read::<CriticalSectionLock>();
        #[cfg(feature = "spin")]
        a_write_is_read::<SpinLock>();
    }

    /// Readers that kept each other out would wait here for ever.
    #[test]
    fn readers_do_not_keep_each_other_out() {
        fn read_twice<L: Lock>() -> u32 {
            let number = Shared::<u32, L>::new(1);
            number.read(|one| number.read(|other| one + other))
        }
        assert_eq!(read_twice::<CellLock>(), 2);
        #[cfg(feature = "std")]
        assert_eq!(read_twice::<StdLock>(), 2);
        #[cfg(feature = "critical-section")]
        assert_eq!(read_twice::<CriticalSectionLock>(), 2);
        #[cfg(feature = "spin")]
        assert_eq!(read_twice::<SpinLock>(), 2);
    }

    /// Every one of the additions reads and writes: one that another thread comes between is lost.
    #[cfg(feature = "critical-section")]
    #[test]
    fn a_critical_section_keeps_other_threads_out() {
        let number = Shared::<u32, CriticalSectionLock>::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..1_000).for_each(|_| number.with(|n| *n = core::hint::black_box(*n) + 1)));
            }
        });
        assert_eq!(number.read(|n| *n), 4_000);
    }
}
