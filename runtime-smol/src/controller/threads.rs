//! The threads that worker tasks run on.

use super::run_error::RunError;
use async_executor::{LocalExecutor, Task};
use core::fmt;
use core::time::Duration;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::{io, thread};

/// Runs `workers` beside each other on the thread that polls, until each has ended.
pub(super) async fn run_local<'w, W: Future<Output = ()> + 'w>(workers: impl IntoIterator<Item = W>) {
    let executor = LocalExecutor::new();
    let tasks: Vec<Task<()>> = workers.into_iter().map(|worker| executor.spawn(worker)).collect();
    let join = async {
        for task in tasks {
            task.await;
        }
    };
    executor.run(join).await;
}

/// The number of workers on each of `threads`, as equal as possible; no thread has none.
pub(super) fn shares(workers: usize, threads: usize) -> impl Iterator<Item = core::ops::Range<usize>> {
    let threads = threads.clamp(1, workers.max(1));
    (0..threads).map(move |n| workers * n / threads..workers * (n + 1) / threads)
}

/// A thread of this name and purpose.
pub(super) fn named(controller: &str, purpose: &str) -> thread::Builder {
    thread::Builder::new().name(format!("{purpose} of {controller}"))
}

pub(super) fn no_thread(error: io::Error) -> RunError {
    RunError::System(format!("no thread can be started: {error}"))
}

/// Threads that end by themselves after their stop was requested.
///
/// Dropping it waits for them, 100 ms at most: a thread whose reconcile computes ends when that returns.
pub(super) struct Threads {
    threads: Vec<JoinHandle<()>>,
    alive: Option<Alive>,
    /// How long a drop waits.
    to_end: Duration,
}

impl Default for Threads {
    fn default() -> Self {
        Self { threads: Vec::new(), alive: None, to_end: Duration::from_millis(100) }
    }
}

struct Alive {
    /// Each thread has a clone, which it drops at its end.
    token: Sender<()>,
    ended: Receiver<()>,
}

impl Threads {
    /// Starts a thread.
    pub(super) fn spawn(&mut self, builder: thread::Builder, main: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let alive = self.alive.get_or_insert_with(|| {
            let (token, ended) = channel();
            Alive { token, ended }
        });
        let token = alive.token.clone();
        let thread = builder.spawn(move || {
            main();
            drop(token);
        })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let Some(Alive { token, ended }) = self.alive.take() else { return };
        drop(token);
        if ended.recv_timeout(self.to_end) == Err(RecvTimeoutError::Disconnected) {
            // The panic hook has reported a panic already.
            self.threads.drain(..).for_each(|thread| _ = thread.join());
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_is_on_one_thread_and_no_thread_is_without() {
        for workers in 1..9 {
            for threads in 0..12 {
                let shares: Vec<_> = shares(workers, threads).collect();
                assert_eq!(shares.iter().cloned().flatten().collect::<Vec<_>>(), (0..workers).collect::<Vec<_>>());
                assert!(shares.iter().all(|share| !share.is_empty()) && shares.len() == threads.clamp(1, workers));
            }
        }
    }

    #[test]
    fn a_drop_waits_for_threads_that_end_and_not_for_ever_for_one_that_does_not() {
        let (end, wait) = channel::<()>();
        let mut threads = Threads::default();
        threads.spawn(named("a", "ends"), || {}).unwrap();
        threads.spawn(named("a", "stays"), move || _ = wait.recv()).unwrap();
        drop(threads);
        end.send(()).expect("the thread is there");
        let (ended, wait) = channel();
        let mut threads = Threads { threads: Vec::new(), alive: None, to_end: listwatch_tests::wait::PATIENCE };
        threads.spawn(named("a", "ends"), move || ended.send(()).unwrap()).unwrap();
        drop(threads);
        assert_eq!(wait.try_recv(), Ok(()));
    }
}
