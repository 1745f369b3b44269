//! What a process has: threads, open files, allocations.

use crate::{ROUNDS, WARM_UP};
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
}

/// Calls `round` again and again. What the process has after the last time is what it had after the first ones, up to some
/// allocations.
///
/// # Panics
/// If it is not.
pub(crate) fn leaves_nothing(name: &str, mut round: impl FnMut(u32)) {
    (0..WARM_UP).for_each(&mut round);
    let before = settled(Counts::now());
    (0..ROUNDS).for_each(&mut round);
    let after = settled(before);
    println!("{name}: {before:?}, and after {ROUNDS} starts and stops {after:?}");
    assert_eq!((before.threads, before.files), (after.threads, after.files), "{name}");
    // Buffers of threads that stay come and go, but nothing is left by each round, and not by every tenth.
    assert!(after.blocks < before.blocks + ROUNDS as usize / 10, "{name}: from {before:?} to {after:?}");
}

/// How long threads may take to end after the last handle is dropped.
const PATIENCE: u32 = 1_000;

/// The counts once they are as `wanted`, or rest.
#[expect(clippy::disallowed_methods, reason = "threads of the system end in real time")]
fn settled(wanted: Counts) -> Counts {
    let mut last = Counts::now();
    let mut rested = 0;
    for _ in 0..PATIENCE {
        if last == wanted && rested > 10 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        let now = Counts::now();
        rested = if now == last { rested + 1 } else { 0 };
        last = now;
        if rested > 100 {
            break;
        }
    }
    last
}
