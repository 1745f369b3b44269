//! The threads of a controller, and its workers on them.

use super::error::RunError;
use super::state::ControllerState;
use super::worker::{Reconcile, Worker};
use crate::caught::caught_call;
use crate::workers::{WorkerHandle, WorkerStates};
use async_executor::{LocalExecutor, Task};
use core::cell::RefCell;
use core::ops::Range;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use listwatch_core::Key;
use smol::lock::Mutex;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle, ThreadId};

/// The number of workers on each of `threads`, as equal as possible; no thread has none.
pub(super) fn shares(workers: usize, threads: usize) -> impl Iterator<Item = Range<usize>> {
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

/// The workers of one thread. Dropped, they have left.
pub(super) struct Crew<'a> {
    state: Arc<ControllerState>,
    handles: Vec<WorkerHandle<Key>>,
    reconcile: Arc<dyn Reconcile + 'a>,
}

impl<'a> Crew<'a> {
    /// One crew for each thread, with its share of the workers.
    pub(super) fn of(
        state: &Arc<ControllerState>,
        workers: &Arc<WorkerStates<Key>>,
        shares: impl Iterator<Item = Range<usize>>,
        reconcile: &Arc<dyn Reconcile + 'a>,
    ) -> Vec<Self> {
        let crew = |share: Range<usize>| Self {
            state: Arc::clone(state),
            handles: share.map(|number| workers.handle(number)).collect(),
            reconcile: Arc::clone(reconcile),
        };
        shares.map(crew).collect()
    }

    /// The program's function.
    #[cfg(feature = "file")]
    pub(super) fn reconcile(&self) -> Arc<dyn Reconcile + 'a> {
        Arc::clone(&self.reconcile)
    }

    /// Reconciles on the calling thread, until the controller is drained. After a panic its workers have
    /// [left](WorkerStates::lost), and the panic hook has printed the message.
    pub(super) fn run_to_end(self) {
        let _ = caught_call(|| smol::block_on(self.run()));
    }

    /// Reconciles on the thread that polls, until the controller is drained.
    pub(super) async fn run(self) {
        let Self { state, handles, reconcile } = self;
        let (turn, executor) = (Mutex::new(()), LocalExecutor::new());
        let worker = |handle| Worker { state: &state, handle, turn: &turn, reconcile: &*reconcile }.run();
        let workers: Vec<Task<()>> = handles.into_iter().map(|handle| executor.spawn(worker(handle))).collect();
        let join = async {
            for worker in workers {
                worker.await;
            }
        };
        executor.run(join).await;
    }
}

/// Runs a future that is not `Send` inside of one that is: the thread that polls first makes it and keeps it. `None` if
/// that thread has ended.
pub(super) async fn on_one_thread<F>(make: impl FnOnce() -> F + Send + 'static) -> Option<F::Output>
where
    F: Future<Output: Send + 'static> + 'static,
{
    let output = Arc::new(crate::mutex::Mutex::new(None));
    let told = Arc::clone(&output);
    let bound = ThreadBound::new(move || {
        let future = make();
        Box::pin(async move {
            let output = future.await;
            *told.lock() = Some(output);
        })
    });
    bound.await;
    output.lock().take()
}

/// A future that is not `Send`, as another thread may have it.
type LocalFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

thread_local! {
    /// The futures that were polled on this thread.
    static BOUND: RefCell<HashMap<u64, LocalFuture<'static>>> = RefCell::default();
}

/// Holds a future that is not `Send`, and is `Send` itself: the thread that polls it first makes the future and keeps
/// it.
///
/// If it is dropped on another thread, its future is dropped when the thread ends that keeps it.
struct ThreadBound {
    state: Custody,
}

enum Custody {
    Unmade(Box<dyn FnOnce() -> LocalFuture<'static> + Send>),
    Kept { by: ThreadId, number: u64 },
    Over,
}

impl ThreadBound {
    fn new(make: impl FnOnce() -> LocalFuture<'static> + Send + 'static) -> Self {
        Self { state: Custody::Unmade(Box::new(make)) }
    }

    /// The future, taken from its thread until it is [kept](Self::keep) again.
    fn take(&mut self) -> Option<LocalFuture<'static>> {
        match core::mem::replace(&mut self.state, Custody::Over) {
            Custody::Unmade(make) => Some(make()),
            Custody::Kept { by, number } if by == thread::current().id() => {
                // Without the table, the thread is ending and has dropped its futures.
                BOUND.try_with(|bound| bound.borrow_mut().remove(&number)).ok().flatten()
            }
            Custody::Kept { .. } => panic!("only one thread can run under a simulated clock: give each its own"),
            Custody::Over => None,
        }
    }

    fn keep(&mut self, future: LocalFuture<'static>) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let _displaced = BOUND.with(|bound| bound.borrow_mut().insert(number, future));
        self.state = Custody::Kept { by: thread::current().id(), number };
    }
}

impl Future for ThreadBound {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(mut future) = self.take() else { return Poll::Ready(()) };
        if future.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        self.keep(future);
        Poll::Pending
    }
}

impl Drop for ThreadBound {
    fn drop(&mut self) {
        if matches!(self.state, Custody::Kept { by, .. } if by == thread::current().id()) {
            drop(self.take());
        }
    }
}

#[cfg(test)]
mod tests {
    mod threads {
        use super::super::*;

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

    mod thread_bound {
        use super::super::*;
        use core::task::Waker;
        use std::rc::Rc;
        use std::sync::Arc;

        /// Holds `held` for ever.
        fn bound(held: &Arc<()>) -> ThreadBound {
            let held = Arc::clone(held);
            ThreadBound::new(move || {
                Box::pin(async move {
                    let local = Rc::new(held);
                    smol::future::pending::<()>().await;
                    drop(local);
                })
            })
        }

        fn poll(bound: &mut ThreadBound) -> Poll<()> {
            Pin::new(bound).poll(&mut Context::from_waker(Waker::noop()))
        }

        #[test]
        fn its_future_is_dropped_with_it() {
            let held = Arc::new(());
            let mut bound = bound(&held);
            assert!(poll(&mut bound).is_pending() && poll(&mut bound).is_pending());
            assert_eq!(Arc::strong_count(&held), 2);
            drop(bound);
            assert_eq!(Arc::strong_count(&held), 1);
        }

        #[test]
        fn a_thread_that_ends_drops_what_it_kept() {
            let held = Arc::new(());
            let mut bound = bound(&held);
            let bound = thread::spawn(move || {
                assert!(poll(&mut bound).is_pending());
                bound
            });
            let bound = bound.join().unwrap();
            assert_eq!(Arc::strong_count(&held), 1);
            drop(bound);
        }

        #[test]
        fn it_is_done_once() {
            let mut bound = ThreadBound::new(|| Box::pin(async {}));
            assert!(poll(&mut bound).is_ready() && poll(&mut bound).is_ready());
        }
    }
}
