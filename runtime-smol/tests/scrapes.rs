//! That scrapes cost no memory that stays. The figures are those of the whole process, so this test is alone in it.

use core::time::Duration;
use listwatch::controller::{Controller, ControllerHandle, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::metrics::Metrics;
use listwatch::testing::SimulatedCluster;
use listwatch::{Informers, World};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const SCRAPES: usize = 10_000;
/// Less than a byte for each scrape.
const LITTLE: usize = 4096;

#[test]
fn ten_thousand_scrapes_keep_nothing_and_each_takes_as_much_as_its_text() {
    let cluster = SimulatedCluster::new();
    for number in 0..50 {
        let metadata = json!({ "name": format!("map-{number}"), "namespace": "web" });
        cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
    }
    let (world, metrics, handle) = (World::from(cluster), Metrics::new(), ControllerHandle::default());
    let (clock, measured) = (world.clock().clone(), metrics.clone());
    let informers = Informers::new(world.until(async move {
        clock.sleep(Duration::from_secs(60)).await;
        let text = measured.encode();
        assert!(text.len() > 10_000, "{text}");
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        for _ in 0..SCRAPES {
            assert_eq!(measured.encode().len(), text.len());
        }
        let after = ALLOCATOR.current_usage();
        assert!(after <= before + LITTLE, "{before} bytes, then {after}");
        let peak = ALLOCATOR.peak_usage() - before;
        println!("a scrape of {} bytes takes {peak} bytes at most; {before} bytes before, {after} after", text.len());
        assert!(peak < text.len() * 8, "{peak} bytes for a text of {}", text.len());
    }));
    metrics.add_informers(&informers);
    metrics.add_controller(&handle);
    let controller = Controller::new("maps", &informers);
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    let running = controller.reconciles(&maps).keys(&handle).on_report(|_, _| {});
    running.run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
}
