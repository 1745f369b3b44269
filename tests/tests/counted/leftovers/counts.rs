//! What a process has: threads, open files, allocations.

use crate::leftovers::{ROUNDS, WARM_UP};
use std::fs;
use std::time::Duration;

/// What a process has at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Threads, where the system tells.
    threads: usize,
    /// Sockets, pipes, timers, and files.
    files: usize,
    /// Allocations. Tasks, timers, wakers and entries of tables are some.
    blocks: usize,
}

impl Counts {
    fn now() -> Self {
        let entries = |path: &str| fs::read_dir(path).map_or(0, Iterator::count);
        let (threads, files) = (entries("/proc/self/task"), entries("/proc/self/fd"));
        Self { threads, files, blocks: dhat::HeapStats::get().curr_blocks }
    }

    /// Whether nothing is left that was not there `before`. Buffers of threads that stay come and go, but nothing is left by
    /// each round, and not by every tenth.
    fn is_no_more_than(&self, before: &Self) -> bool {
        let blocks = before.blocks + ROUNDS as usize / 10;
        self.threads <= before.threads && self.files <= before.files && self.blocks < blocks
    }
}

/// Calls `round` again and again. What the process has after the last time is what it had after the first ones, up to some
/// allocations.
///
/// # Panics
/// If it is not.
pub(crate) fn leaves_nothing(name: &str, mut round: impl FnMut(u32)) {
    (0..WARM_UP).for_each(&mut round);
    let before = rested();
    (0..ROUNDS).for_each(&mut round);
    let mut after = Counts::now();
    let is_clean = (0..PATIENCE).any(|_| {
        after = Counts::now();
        after.is_no_more_than(&before) || pause()
    });
    println!("{name}: {before:?}, and after {ROUNDS} starts and stops {after:?}");
    assert!(is_clean, "{name}: from {before:?} to {after:?}");
}

/// How many pauses threads may take to end after the last handle is dropped: a minute.
const PATIENCE: u32 = 6_000;

/// The counts once they have rested for a second.
fn rested() -> Counts {
    let (mut last, mut rested) = (Counts::now(), 0);
    for _ in 0..PATIENCE {
        pause();
        let now = Counts::now();
        rested = if now == last { rested + 1 } else { 0 };
        last = now;
        if rested == 100 {
            break;
        }
    }
    last
}

/// It is not over yet.
#[expect(clippy::disallowed_methods, reason = "threads of the system end in real time")]
fn pause() -> bool {
    std::thread::sleep(Duration::from_millis(10));
    false
}
