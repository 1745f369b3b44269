use core::cell::RefCell;

/// A kind of lock: one writer, or any number of readers.
///
/// The lock is held while a closure runs, so it cannot be kept across an `await`. A lock without a guard, such as a
/// critical section, fits too. Any other lock is a few lines:
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
/// The closure must not use the lock that it runs under, and neither must the functions that it calls. In a cache these
/// are the index functions. In a queue these are the group function, the rate limiter, and the `Hash`, `Eq`, `Clone`
/// and `Drop` of its keys. Such a use would be a deadlock. A lock that detects it panics instead:
///
/// | lock | read inside of a read | any other return |
/// |---|---|---|
/// | `StdLock` | goes on | panics |
/// | [`CellLock`], `CriticalSectionLock` | goes on | panics |
/// | `SpinLock` | goes on | waits for ever |
///
/// A panic in the closure leaves the lock open, and the value as the closure left it. What a machine makes of that is
/// said [here](crate::sync).
pub trait Lock {
    /// A value behind a lock.
    type Cell<T>;

    /// Puts a lock around `value`.
    fn new<T>(value: T) -> Self::Cell<T>;

    /// Calls `f` with exclusive access to the value.
    fn with<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&mut T) -> R) -> R;

    /// Calls `f` with shared access to the value.
    fn read<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&T) -> R) -> R;

    /// Whether another thread has the value now, as far as that is known without waiting; `false` unless implemented. If it
    /// is, a queue lets its producers leave their keys in front of the lock.
    fn is_taken<T>(_cell: &Self::Cell<T>) -> bool {
        false
    }
}

/// A critical section: nothing else runs until the closure returns. The target's crate implements [`critical_section`],
/// for example by disabling interrupts.
///
/// Readers exclude each other as well as writers. If a closure uses the same lock again, it panics, unless both uses
/// only read.
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
/// It does not know priorities. On one core, an interrupt or a task of higher priority that needs the lock of the task
/// that it interrupted waits for ever. Take a critical section there (feature `critical-section`). A closure that uses
/// the same lock again waits for ever too, unless both uses only read.
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

    fn is_taken<T>(cell: &Self::Cell<T>) -> bool {
        cell.try_write().is_none()
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
        f(&mut cell.try_borrow_mut().unwrap_or_else(|_| panic_on_deadlock()))
    }

    fn read<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&T) -> R) -> R {
        f(&cell.try_borrow().unwrap_or_else(|_| panic_on_deadlock()))
    }
}

/// Panics for a closure that would wait for itself.
#[cold]
#[track_caller]
pub(super) fn panic_on_deadlock() -> ! {
    panic!("deadlock: a function that runs under a lock used the same lock again")
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
