//! Tasks that end together.

use crate::mutex::Mutex;
use async_executor::{Executor, Task};
use core::ops::Deref;

/// An executor that drops its tasks when it is dropped, whatever other threads do meanwhile.
///
/// An [`Executor`] alone forgets a task that another thread wakes at that time: it finds the task marked as queued, but not
/// yet in its queue. What such a task has, as a connection, would be open until the process ends.
#[derive(Debug, Default)]
pub(crate) struct TaskGroup {
    executor: Executor<'static>,
    /// Those that go on without a handle.
    detached: Mutex<Vec<Task<()>>>,
}

/// How often the last tasks are looked for. Between two looks, the threads that wake them may run.
const LOOKS: u32 = 10_000;

impl TaskGroup {
    /// Adds a task, which goes on until it is over, or the group is dropped.
    pub(crate) fn spawn_detached(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.executor.spawn(task);
        let mut detached = self.detached.lock();
        if detached.len() == detached.capacity() {
            detached.retain(|task| !task.is_finished());
        }
        detached.push(task);
    }
}

impl Deref for TaskGroup {
    type Target = Executor<'static>;

    fn deref(&self) -> &Executor<'static> {
        &self.executor
    }
}

impl Drop for TaskGroup {
    /// Cancels the tasks, and drops them. A task that drops its own group stays, and ends with its present step.
    fn drop(&mut self) {
        self.detached.get_mut().clear();
        for _ in 0..LOOKS {
            if self.executor.is_empty() {
                return;
            }
            if !self.executor.try_tick() {
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::future::poll_fn;
    use core::sync::atomic::{AtomicBool, Ordering};
    use core::task::{Poll, Waker};
    use std::sync::Arc;
    use std::thread;

    /// The waker of the task goes to another thread, which wakes it while the group is dropped.
    #[test]
    fn a_task_that_is_woken_while_its_group_is_dropped_is_dropped_with_it() {
        for _ in 0..2_000 {
            let (group, held, begin) = (TaskGroup::default(), Arc::new(()), Arc::new(AtomicBool::new(false)));
            let waker = Arc::new(std::sync::Mutex::new(None::<Waker>));
            let (kept, of_task) = (Arc::clone(&held), Arc::clone(&waker));
            group.spawn_detached(async move {
                let _kept = kept;
                poll_fn(|cx| {
                    *of_task.lock().unwrap() = Some(cx.waker().clone());
                    Poll::<()>::Pending
                })
                .await;
            });
            assert!(group.try_tick());
            let woken = waker.lock().unwrap().take().unwrap();
            let begun = Arc::clone(&begin);
            let waking = thread::spawn(move || {
                while !begun.load(Ordering::Acquire) {
                    core::hint::spin_loop();
                }
                woken.wake();
            });
            begin.store(true, Ordering::Release);
            drop(group);
            waking.join().unwrap();
            assert_eq!(Arc::strong_count(&held), 1);
        }
    }

    #[test]
    fn tasks_that_are_over_are_forgotten() {
        let group = TaskGroup::default();
        for _ in 0..1_000 {
            group.spawn_detached(async {});
            assert!(group.try_tick());
        }
        assert!(group.detached.lock().len() <= 8);
    }

    #[test]
    fn a_task_may_drop_its_own_group() {
        let group = Arc::new(TaskGroup::default());
        let own = Arc::clone(&group);
        group.spawn_detached(async move { drop(own) });
        let handle = Arc::clone(&group);
        drop(group);
        assert!(handle.try_tick());
        assert_eq!(Arc::strong_count(&handle), 1);
    }
}
