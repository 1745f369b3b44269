use super::Lock;
use super::lock::panic_on_deadlock;
use core::cell::Cell;
use core::ptr;
use parking_lot::{RwLock, RwLockWriteGuard};

/// A reader-writer lock, for targets with the standard library. A panic under it, in an index function say, does not
/// poison it.
///
/// A closure that reads may read the same value once more, even while a writer waits. If it writes, or reads a value
/// that it is changing, it panics; it would be a deadlock. (Detection is per thread and eight locks deep. Two threads
/// that each hold one lock and want the other's wait for ever.)
#[derive(Clone, Copy, Debug)]
pub enum StdLock {}

/// A value behind a [`StdLock`].
#[derive(Debug)]
pub struct StdCell<T>(RwLock<T>);

impl Lock for StdLock {
    type Cell<T> = StdCell<T>;

    fn new<T>(value: T) -> StdCell<T> {
        StdCell(RwLock::new(value))
    }

    fn with<T, R>(cell: &StdCell<T>, f: impl FnOnce(&mut T) -> R) -> R {
        let _held = Held::enter(cell, Mode::Writing);
        f(&mut cell.write())
    }

    fn read<T, R>(cell: &StdCell<T>, f: impl FnOnce(&T) -> R) -> R {
        let held = Held::enter(cell, Mode::Reading);
        // A writer that waits waits for this thread too, so a second read must not wait for that writer.
        let value = if held.is_second { cell.0.read_recursive() } else { cell.0.read() };
        f(&value)
    }

    fn is_taken<T>(cell: &StdCell<T>) -> bool {
        cell.0.is_locked()
    }
}

/// How often a writer that waits for another one looks before it sleeps, and its pauses after the first look. They
/// double each time, to about 100 µs in all.
const LOOKS: u32 = 6;
const PAUSES: u32 = 32;

impl<T> StdCell<T> {
    #[inline]
    fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.try_write().unwrap_or_else(|| self.write_late())
    }

    /// Waits for another writer, first without a system call, which would cost both sides more than their work under
    /// the lock. The pauses let the other one come back while the lock and its value are in the cache of its core.
    #[cold]
    fn write_late(&self) -> RwLockWriteGuard<'_, T> {
        for look in 0..LOOKS {
            if !self.0.is_locked_exclusive() {
                if let Some(value) = self.0.try_write() {
                    return value;
                }
                // Readers have it, and may keep it for long.
                if !self.0.is_locked_exclusive() {
                    break;
                }
            }
            (0..PAUSES << look).for_each(|_| core::hint::spin_loop());
        }
        self.0.write()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Reading,
    Writing,
}

/// The locks that a thread is under, by their address.
struct Stack {
    locks: [Cell<(usize, Mode)>; DEEPEST],
    depth: Cell<usize>,
}

/// Deeper locks are not tracked.
const DEEPEST: usize = 8;

std::thread_local! {
    static STACK: Stack =
        const { Stack { locks: [const { Cell::new((0, Mode::Reading)) }; DEEPEST], depth: Cell::new(0) } };
}

/// A thread is under a lock until this is dropped.
struct Held {
    is_second: bool,
}

impl Held {
    #[inline]
    fn enter<T>(cell: &StdCell<T>, mode: Mode) -> Self {
        let address = ptr::from_ref(cell).addr();
        STACK.with(|stack| {
            let depth = stack.depth.get();
            let outer = stack.locks.iter().take(depth).map(Cell::get).find(|(lock, _)| *lock == address);
            if outer.is_some_and(|(_, outer)| (outer, mode) != (Mode::Reading, Mode::Reading)) {
                panic_on_deadlock();
            }
            if let Some(place) = stack.locks.get(depth) {
                place.set((address, mode));
            }
            stack.depth.set(depth + 1);
            Self { is_second: outer.is_some() }
        })
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        STACK.with(|stack| stack.depth.set(stack.depth.get() - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Shared;
    use alloc::sync::Arc;
    use core::time::Duration;
    use std::sync::mpsc::channel;
    use std::thread::{spawn, yield_now};

    #[test]
    fn a_second_read_beside_a_waiting_writer_does_not_wait_for_ever() {
        let number = Arc::new(Shared::<u32, StdLock>::new(1));
        let (done, is_done) = channel();
        let reader = Arc::clone(&number);
        // Threads that are not joined, because they would wait for each other for ever.
        spawn(move || {
            reader.read(|first| {
                let writer = Arc::clone(&reader);
                spawn(move || writer.with(|number| *number += 1));
                while reader.cell.0.try_read().is_some() {
                    yield_now();
                }
                let _ = done.send(reader.read(|second| first + second));
            });
        });
        assert_eq!(is_done.recv_timeout(Duration::from_secs(60)), Ok(2));
        while number.read(|number| *number) != 2 {
            yield_now();
        }
    }

    /// Each addition reads and writes: one that another thread comes between is lost.
    #[test]
    fn writers_that_wait_for_each_other_keep_each_other_out() {
        let number = Shared::<u32, StdLock>::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..1_000).for_each(|_| number.with(|n| *n = core::hint::black_box(*n) + 1)));
            }
        });
        assert_eq!(number.with(|n| *n), 4_000);
    }

    #[test]
    fn a_writer_that_waits_longer_than_its_pauses_gets_the_lock_all_the_same() {
        let number = Shared::<u32, StdLock>::new(1);
        let (begun, has_begun) = channel();
        std::thread::scope(|s| {
            number.with(|first| {
                let writer = s.spawn(|| {
                    let _ = begun.send(());
                    number.with(|number| *number *= 10);
                });
                assert_eq!(has_begun.recv(), Ok(()));
                (0..1_000).for_each(|_| yield_now());
                assert!(!writer.is_finished());
                *first += 1;
            });
        });
        assert_eq!(number.with(|n| *n), 20);
    }

    #[test]
    fn a_panic_under_the_lock_does_not_poison_it() {
        let number = Shared::<u32, StdLock>::new(1);
        let panicked = std::thread::scope(|s| s.spawn(|| number.with(|_| panic!("on purpose"))).join().is_err());
        assert!(panicked);
        assert_eq!(number.with(|n| *n), 1);
    }

    #[test]
    fn locks_inside_of_others_are_told_apart() {
        let locks: alloc::vec::Vec<Shared<u32, StdLock>> = (0..2 * DEEPEST as u32).map(Shared::new).collect();
        fn sum(locks: &[Shared<u32, StdLock>]) -> u32 {
            locks.split_first().map_or(0, |(first, rest)| first.with(|number| *number + sum(rest)))
        }
        assert_eq!((sum(&locks), sum(&locks)), (120, 120));
        assert_eq!(STACK.with(|stack| stack.depth.get()), 0);
    }
}
