//! Workers under embassy: tasks that wait for keys, and an interrupt that adds them.
//!
//! The futures of the queue name no executor. Its lock is a critical section, so that the interrupt can add keys, which
//! wakes a worker. One task follows the delays of what failed, and the timer wakes it.
#![cfg_attr(target_os = "none", no_std, no_main)]

// Where there is no such timer, the panic handler alone is of use.
use listwatch_bare_metal as _;

#[cfg(all(target_os = "none", target_arch = "arm"))]
mod image {
    use core::cell::{Cell, RefCell};
    use core::future::poll_fn;
    use core::task::{Poll, Waker};
    use critical_section::Mutex;
    use embassy_executor::{Executor, SpawnError, Spawner, task};
    use listwatch_bare_metal::heap;
    use listwatch_bare_metal::machine::{self, entry};
    use listwatch_bare_metal::sensors::{self, Sensor};
    use listwatch_core::sync::{CriticalSectionLock, Due, SharedWorkQueue};
    use static_cell::StaticCell;

    type Queue = SharedWorkQueue<Sensor, CriticalSectionLock>;

    const WORKERS: usize = 2;

    /// The queue, once there is one.
    static QUEUE: Mutex<Cell<Option<&'static Queue>>> = Mutex::new(Cell::new(None));
    /// The task that waits for the timer.
    static SLEEPER: Mutex<RefCell<Option<Waker>>> = Mutex::new(RefCell::new(None));

    #[cortex_m_rt::exception]
    fn SysTick() {
        let Some(queue) = critical_section::with(|section| QUEUE.borrow(section).get()) else { return };
        if let Some(sensor) = sensors::interrupt() {
            queue.add(sensor);
        }
        let sleeper = critical_section::with(|section| SLEEPER.borrow(section).take());
        sleeper.into_iter().for_each(Waker::wake);
    }

    #[entry]
    fn main() -> ! {
        static MEMORY: StaticCell<Queue> = StaticCell::new();
        static EXECUTOR: StaticCell<Executor> = StaticCell::new();
        machine::start();
        heap::init();
        let queue: &Queue = MEMORY.init_with(Queue::default);
        critical_section::with(|section| QUEUE.borrow(section).set(Some(queue)));
        EXECUTOR.init_with(Executor::new).run(|spawner| {
            if spawn(spawner, queue).is_err() {
                machine::end(Err("a task cannot be started"));
            }
            if let Err(why) = sensors::start() {
                machine::end(Err(why));
            }
        })
    }

    fn spawn(spawner: Spawner, queue: &'static Queue) -> Result<(), SpawnError> {
        for _ in 0..WORKERS {
            spawner.spawn(work(queue)?);
        }
        spawner.spawn(wait(queue)?);
        Ok(())
    }

    #[task(pool_size = WORKERS)]
    async fn work(queue: &'static Queue) {
        let mut next = queue.get();
        while let Some(job) = next.await {
            let outcome = sensors::reconcile(*job.key());
            next = job.finish_and_get(sensors::now(), outcome);
        }
    }

    /// Follows the delays until every sensor was reconciled after its last change, and ends the image.
    #[task]
    async fn wait(queue: &'static Queue) {
        let mut delays = queue.delays();
        poll_fn(|context| {
            let due = delays.poll_due(context, sensors::now());
            let sleeper = context.waker().clone();
            critical_section::with(|section| SLEEPER.borrow(section).replace(Some(sleeper)));
            let is_done = sensors::is_over() && due == Due::Idle && queue.is_empty();
            if is_done { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        heap::print();
        machine::end(sensors::check());
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
