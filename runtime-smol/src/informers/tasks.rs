//! The streams' tasks, which any number of futures run.
//!
//! [`Executor::run`](async_executor::Executor::run) notifies one of the futures that run it, and no other until that one
//! was polled. Here a future may be kept and not polled, and its thread may block in a program's code. So every task wakes
//! all of them.

use crate::task_group::TaskGroup;
use crate::waiting::{Wait, Waiting};
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use smol::future::FutureExt;
use std::sync::Arc;
use std::task::Wake;

/// The tasks, and the futures that run them.
#[derive(Default)]
pub(super) struct Tasks {
    group: Arc<TaskGroup>,
    /// The runners; those wait that found no task, and were not woken since.
    runners: Arc<Waiting>,
    /// Each task that is not over has a clone.
    tasks: Arc<()>,
}

impl Tasks {
    /// Adds a task, which ends by itself.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let counted = Arc::clone(&self.tasks);
        let task = async move {
            task.await;
            drop(counted);
        };
        self.group.spawn_detached(announced(task, Arc::clone(&self.runners)).boxed());
        self.runners.wake_by_ref();
    }

    /// Runs tasks while it is polled: about one step of each, and then other tasks of this thread get their turn. It is
    /// never done.
    pub(super) fn run(&self) -> impl Future<Output = ()> + Send + use<> {
        let (group, runner, tasks) = (Arc::clone(&self.group), self.runners.join(), Arc::downgrade(&self.tasks));
        poll_fn(move |cx| {
            // Without the one that each task's is a clone of.
            let ticks = tasks.strong_count().saturating_sub(1).max(1);
            poll_runner(&runner, cx.waker(), ticks, || group.try_tick())
        })
    }

    pub(super) fn runners(&self) -> &Arc<Waiting> {
        &self.runners
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.group.is_empty()
    }
}

/// A task whose waker wakes the runners too.
async fn announced<F: Future>(task: F, runners: Arc<Waiting>) -> F::Output {
    let mut task = pin!(task);
    // The waker that the executor gave last, and the one that was made of it.
    let mut wakers: Option<(Waker, Waker)> = None;
    poll_fn(|cx| {
        let same = wakers.take().filter(|(given, _)| given.will_wake(cx.waker()));
        let (_, announcing) = wakers.insert(same.unwrap_or_else(|| {
            let announcing = Announcing { task: cx.waker().clone(), runners: Arc::clone(&runners) };
            (cx.waker().clone(), Waker::from(Arc::new(announcing)))
        }));
        task.as_mut().poll(&mut Context::from_waker(announcing))
    })
    .await
}

struct Announcing {
    task: Waker,
    runners: Arc<Waiting>,
}

impl Wake for Announcing {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // First, so that whoever is woken finds it.
        self.task.wake_by_ref();
        self.runners.wake_by_ref();
    }
}

/// Runs tasks by `try_tick`, until it finds none, or has run as many as `ticks` and others get their turn. It is never
/// done.
fn poll_runner(runner: &Wait, waker: &Waker, ticks: usize, mut try_tick: impl FnMut() -> bool) -> Poll<()> {
    let (mut ran, mut is_asleep) = (0, false);
    while ran < ticks {
        if try_tick() {
            ran += 1;
            continue;
        }
        if is_asleep {
            return Poll::Pending;
        }
        // A task that became ready before that has woken nobody here, so it is looked for again.
        runner.set(waker);
        is_asleep = true;
    }
    // Tasks may be left that the others found running when they were woken.
    runner.waiting().wake_by_ref();
    waker.wake_by_ref();
    Poll::Pending
}

#[cfg(test)]
mod tests {
    mod tasks {
        use super::super::*;
        use core::pin::Pin;
        use core::sync::atomic::AtomicUsize;
        use core::sync::atomic::Ordering::Relaxed;
        use core::task::Poll;
        use smol::future::yield_now;
        use std::sync::Mutex;

        #[derive(Default)]
        struct Wakes(AtomicUsize);

        impl Wake for Wakes {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Relaxed);
            }
        }

        type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

        /// Polls a runner as an executor does: while it is woken.
        fn poll_while_woken(run: &mut Run, wakes: &Arc<Wakes>) {
            let waker = Waker::from(Arc::clone(wakes));
            while wakes.0.swap(0, Relaxed) > 0 {
                assert!(run.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
        }

        fn noop() -> Context<'static> {
            Context::from_waker(Waker::noop())
        }

        /// The second runner is woken while the task runs, finds nothing, and sleeps; then the first one lets others have
        /// their turn, and is not polled again.
        #[test]
        fn a_task_that_a_runner_leaves_behind_is_run_by_the_one_that_came_while_it_ran() {
            let tasks = Tasks::default();
            let (mut first, second): (Run, Run) = (Box::pin(tasks.run()), Box::pin(tasks.run()));
            let (second, wakes) = (Arc::new(Mutex::new(second)), Arc::new(Wakes(1.into())));
            let steps = Arc::new(AtomicUsize::new(0));
            let (other, woken, counted) = (Arc::clone(&second), Arc::clone(&wakes), Arc::clone(&steps));
            tasks.spawn(poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                // Not where it is the second one that runs this.
                if let Ok(mut other) = other.try_lock() {
                    poll_while_woken(&mut other, &woken);
                }
                if counted.fetch_add(1, Relaxed) < 40 { Poll::Pending } else { Poll::Ready(()) }
            }));
            assert!(first.as_mut().poll(&mut noop()).is_pending());
            assert!((1..40).contains(&steps.load(Relaxed)), "the first one gives others their turn");
            poll_while_woken(&mut second.lock().unwrap(), &wakes);
            assert!(tasks.is_empty(), "{steps:?} steps");
        }

        #[test]
        fn a_task_that_is_spawned_wakes_every_runner_although_one_is_never_polled_again() {
            let tasks = Tasks::default();
            let (mut idle, mut run): (Run, Run) = (Box::pin(tasks.run()), Box::pin(tasks.run()));
            let wakes = Arc::new(Wakes(1.into()));
            assert!(idle.as_mut().poll(&mut noop()).is_pending());
            for _ in 0..5 {
                poll_while_woken(&mut run, &wakes);
                tasks.spawn(yield_now());
                poll_while_woken(&mut run, &wakes);
                assert!(tasks.is_empty());
            }
        }

        #[test]
        fn a_runner_that_is_dropped_after_it_was_woken_leaves_its_task_to_the_next_one() {
            let tasks = Tasks::default();
            let (mut dropped, wakes): (Run, _) = (Box::pin(tasks.run()), Arc::new(Wakes(1.into())));
            poll_while_woken(&mut dropped, &wakes);
            tasks.spawn(async {});
            assert_eq!(wakes.0.load(Relaxed), 1);
            assert!(tasks.runners().is_any());
            drop(dropped);
            assert!(!tasks.runners().is_any());
            let mut next: Run = Box::pin(tasks.run());
            assert_eq!(next.as_mut().poll(&mut noop()), Poll::Pending);
            assert!(tasks.is_empty());
            drop(next);
            assert!(!tasks.runners().is_any());
        }

        #[test]
        fn a_task_that_is_woken_from_another_thread_is_run_by_whichever_runner_is_polled() {
            let tasks = Tasks::default();
            let (sender, receiver) = smol::channel::unbounded();
            let (done, is_done) = smol::channel::bounded(1);
            tasks.spawn(async move {
                for expected in 0..1_000 {
                    assert_eq!(receiver.recv().await, Ok(expected));
                    done.send(expected).await.unwrap();
                }
            });
            let mut idle: Run = Box::pin(tasks.run());
            assert!(idle.as_mut().poll(&mut noop()).is_pending());
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (run, (over, is_over)) = (tasks.run(), smol::channel::bounded::<()>(1));
                    let until = async move {
                        let _ = is_over.recv().await;
                    };
                    (over, std::thread::spawn(move || smol::block_on(smol::future::or(until, run))))
                })
                .collect();
            for number in 0..1_000 {
                sender.send_blocking(number).unwrap();
                assert_eq!(is_done.recv_blocking(), Ok(number));
            }
            for (over, thread) in threads {
                drop(over);
                thread.join().unwrap();
            }
        }
    }

    mod runners {
        use super::super::*;

        #[test]
        fn a_task_that_becomes_ready_before_the_runner_sleeps_is_found() {
            let runners = Arc::<Waiting>::default();
            let runner = runners.join();
            let mut found = [false, true, false].into_iter();
            assert!(poll_runner(&runner, Waker::noop(), 16, || found.next().is_some_and(|found| found)).is_pending());
            assert_eq!((found.len(), runners.len()), (0, 1));
            drop(runner);
            assert!(runners.len() == 0 && !runners.is_any());
        }
    }
}
