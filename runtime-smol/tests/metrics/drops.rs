//! The drops of a program's own objects while a scrape reads.

use listwatch::controller::{Controller, ControllerHandle, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::metrics::Metrics;
use listwatch::testing::SimulatedCluster;
use listwatch_tests::wait::wait_until;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// An object of a program that uses the metrics when it is dropped.
struct Measuring(Metrics, ControllerHandle);

impl Drop for Measuring {
    fn drop(&mut self) {
        self.0.add_controller(&self.1);
    }
}

#[test]
fn a_controller_is_dropped_outside_of_the_lock_of_its_metrics() {
    let (metrics, handle, over) = (Metrics::new(), ControllerHandle::default(), Arc::<AtomicBool>::default());
    let (scraped, ended) = (metrics.clone(), Arc::clone(&over));
    let scrapes = thread::spawn(move || {
        while !ended.load(Ordering::Relaxed) {
            _ = scraped.encode();
        }
    });
    let ends = thread::spawn(move || {
        for _ in 0..5_000 {
            let dropped = Measuring(metrics.clone(), handle.clone());
            let controller = Controller::new("maps", SimulatedCluster::new());
            let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
            let reconciler = controller.reconciles(&maps).on_report(move |_, _| _ = &dropped);
            let running = reconciler.calls(async |_cx, _key| Ok(Outcome::Done));
            metrics.add(&running);
        }
        over.store(true, Ordering::Relaxed);
    });
    // A thread that waits for itself never ends.
    wait_until(|| ends.is_finished() && scrapes.is_finished());
    [ends, scrapes].into_iter().for_each(|thread| thread.join().unwrap());
}
