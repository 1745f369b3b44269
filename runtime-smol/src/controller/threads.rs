//! The threads of a controller, and its workers on them.

use super::error::RunError;
use super::state::ControllerState;
use super::worker::{Reconcile, Worker};
use crate::caught::caught_call;
use crate::workers::{WorkerHandle, WorkerStates};
use async_executor::{LocalExecutor, Task};
use async_task::Runnable;
use core::ops::Range;
use core::time::Duration;
use listwatch_core::Key;
use smol::channel::{Receiver, unbounded};
use smol::future::{or, pending};
use smol::lock::Mutex;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle, ThreadId};

/// The number of workers on each of `threads`, as equal as possible; no thread has none.
fn shares(workers: usize, threads: usize) -> impl Iterator<Item = Range<usize>> {
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
#[derive(Debug, Default)]
pub(super) struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    /// Starts a thread.
    pub(super) fn spawn(&mut self, builder: thread::Builder, main: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.0.push(builder.spawn(main)?);
        Ok(())
    }

    /// Waits for the threads, so many milliseconds at most.
    #[expect(clippy::disallowed_methods, reason = "threads of the system end in real time")]
    fn wait(&mut self, most: u32) {
        let are_over = || self.0.iter().all(JoinHandle::is_finished);
        (0..most).take_while(|_| !are_over()).for_each(|_| thread::sleep(Duration::from_millis(1)));
        // The panic hook has reported a panic already.
        self.0.drain(..).filter(JoinHandle::is_finished).for_each(|thread| _ = thread.join());
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.wait(100);
    }
}

/// The workers of one thread. Dropped, they have left.
pub(super) struct Crew<'a> {
    state: Arc<ControllerState>,
    handles: Vec<WorkerHandle<Key>>,
    reconcile: Arc<dyn Reconcile + 'a>,
}

impl<'a> Crew<'a> {
    /// The states of the workers, and one crew for each thread, with its share of them.
    pub(super) fn of(
        state: &Arc<ControllerState>,
        workers: usize,
        threads: usize,
        reconcile: &Arc<dyn Reconcile + 'a>,
    ) -> (Arc<WorkerStates<Key>>, Vec<Self>) {
        let shares = || shares(workers, threads);
        let states = WorkerStates::on(shares().enumerate().flat_map(|(thread, share)| share.map(move |_| thread)));
        let crew = |share: Range<usize>| Self {
            state: Arc::clone(state),
            handles: share.map(|number| states.handle(number)).collect(),
            reconcile: Arc::clone(reconcile),
        };
        let crews = shares().map(crew).collect();
        (states, crews)
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

/// Runs a future that is not `Send` inside of one that is: the thread that polls first makes it, and is the only one that
/// can poll it. Dropped on another thread, it leaks.
pub(super) async fn on_one_thread<F>(make: impl FnOnce() -> F + Send + 'static) -> F::Output
where
    F: Future<Output: Send + 'static> + 'static,
{
    let (wake, woken) = unbounded();
    let (first, task) = async_task::spawn_local(make(), move |runnable| _ = wake.try_send(runnable));
    first.schedule();
    let local = Local { woken, thread: thread::current().id() };
    let run = async {
        while let Ok(runnable) = local.woken.recv().await {
            runnable.run();
        }
        pending().await
    };
    or(run, task).await
}

/// The turns of a future that is not `Send`.
struct Local {
    woken: Receiver<Runnable>,
    thread: ThreadId,
}

/// The last turn has the future.
impl Drop for Local {
    fn drop(&mut self) {
        let is_here = thread::current().id() == self.thread;
        while let Ok(last) = self.woken.try_recv() {
            if is_here { drop(last) } else { core::mem::forget(last) }
        }
    }
}

#[cfg(test)]
mod tests {
    mod threads {
        use super::super::*;
        use std::sync::mpsc::channel;

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
            let mut threads = Threads::default();
            threads.spawn(named("a", "ends"), move || ended.send(()).unwrap()).unwrap();
            threads.wait(listwatch_tests::wait::PATIENCE.as_millis() as u32);
            assert_eq!(wait.try_recv(), Ok(()));
        }
    }

    mod on_one_thread {
        use super::super::*;
        use core::pin::{Pin, pin};
        use core::task::{Context, Poll, Waker};
        use std::rc::Rc;

        type Bound = Pin<Box<dyn Future<Output = ()> + Send>>;

        /// Holds `held` for ever.
        fn bound(held: &Arc<()>) -> Bound {
            let held = Arc::clone(held);
            Box::pin(on_one_thread(move || async move {
                let local = Rc::new(held);
                pending::<()>().await;
                drop(local);
            }))
        }

        fn poll<F: Future + ?Sized>(bound: Pin<&mut F>) -> Poll<F::Output> {
            bound.poll(&mut Context::from_waker(Waker::noop()))
        }

        #[test]
        fn its_future_is_dropped_with_it() {
            let held = Arc::new(());
            let mut bound = bound(&held);
            assert!(poll(bound.as_mut()).is_pending() && poll(bound.as_mut()).is_pending());
            assert_eq!(Arc::strong_count(&held), 2);
            drop(bound);
            assert_eq!(Arc::strong_count(&held), 1);
        }

        #[test]
        fn another_thread_can_drop_it_and_leaks_what_it_holds() {
            let held = Arc::new(());
            let mut bound = bound(&held);
            assert!(poll(bound.as_mut()).is_pending());
            thread::spawn(move || drop(bound)).join().unwrap();
            assert_eq!(Arc::strong_count(&held), 2);
        }

        #[test]
        fn it_goes_on_when_it_is_woken() {
            let (wake, woken) = unbounded();
            let mut bound = pin!(on_one_thread(move || async move { *Rc::new(woken.recv().await.unwrap()) }));
            assert_eq!(poll(bound.as_mut()), Poll::Pending);
            wake.try_send(7).unwrap();
            assert_eq!(poll(bound.as_mut()), Poll::Ready(7));
        }
    }
}
