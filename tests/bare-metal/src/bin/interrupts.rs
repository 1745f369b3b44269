//! A work queue that an interrupt fills: a critical section is its lock.
//!
//! The timer's interrupt adds the sensors that have changed. The main loop sleeps until an interrupt came, and reconciles
//! each sensor that was added. The lock is held for each addition and each answer, and never while a reconcile runs.
#![cfg_attr(target_os = "none", no_std, no_main)]

// Where there is no such timer, the panic handler alone is of use.
use listwatch_bare_metal as _;

#[cfg(all(target_os = "none", target_arch = "arm"))]
mod image {
    use core::cell::Cell;
    use critical_section::Mutex;
    use listwatch_bare_metal::machine::{entry, run};
    use listwatch_bare_metal::sensors::{self, SENSORS, Sensor};
    use listwatch_core::queue::FixedWorkQueue;
    use listwatch_core::sync::{CriticalSectionLock, Shared};
    use static_cell::StaticCell;

    type Queue = Shared<FixedWorkQueue<Sensor, SENSORS>, CriticalSectionLock>;

    /// The queue, once there is one.
    static QUEUE: Mutex<Cell<Option<&'static Queue>>> = Mutex::new(Cell::new(None));

    #[cortex_m_rt::exception]
    fn SysTick() {
        let queue = critical_section::with(|section| QUEUE.borrow(section).get());
        if let (Some(queue), Some(sensor)) = (queue, sensors::interrupt()) {
            // It has room for every sensor.
            _ = queue.with(|queue| queue.try_add(sensor));
        }
    }

    #[entry]
    fn main() -> ! {
        static MEMORY: StaticCell<Queue> = StaticCell::new();
        run(|| {
            let queue: &Queue = MEMORY.init_with(Queue::default);
            critical_section::with(|section| QUEUE.borrow(section).set(Some(queue)));
            sensors::start()?;
            while !sensors::is_over() || has_work(queue) {
                cortex_m::asm::wfi();
                work(queue);
            }
            sensors::check()
        })
    }

    fn has_work(queue: &Queue) -> bool {
        queue.read(|queue| !queue.is_empty() || queue.poll_timeout().is_some())
    }

    /// Reconciles the sensors that are ready.
    fn work(queue: &Queue) {
        loop {
            let job = queue.with(|queue| {
                queue.handle_timeout(sensors::now());
                let job = queue.poll_job()?;
                Some((*queue.key(&job), job))
            });
            let Some((sensor, job)) = job else { return };
            let outcome = sensors::reconcile(sensor);
            queue.with(|queue| queue.finish(sensors::now(), job, outcome));
        }
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
