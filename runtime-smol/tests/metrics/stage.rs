//! A controller of a simulated cluster, with an election.

use core::time::Duration;
use listwatch::controller::{Controller, ControllerHandle, Error, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::election::{Election, WhenLost};
use listwatch::metrics::Metrics;
use listwatch::testing::SimulatedCluster;
use listwatch::{Clock, Informers, World};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// The ConfigMaps, and what becomes of a reconcile of each.
pub(crate) const MAPS: [&str; 6] = ["done", "fails", "hangs", "late", "panics", "terminal"];

pub(crate) struct Stage {
    pub(crate) cluster: SimulatedCluster,
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
}

impl Stage {
    /// A candidate that reconciles the ConfigMaps while `scenario` goes on.
    pub(crate) fn play<F: Future<Output = ()> + Send + 'static>(scenario: impl FnOnce(Arc<Self>) -> F) {
        let cluster = SimulatedCluster::new();
        for name in MAPS {
            let metadata = json!({ "name": name, "namespace": "web" });
            cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
        }
        let (world, metrics) = (World::from(cluster.clone()), Metrics::new());
        let handle = ControllerHandle::default();
        let clock = world.clock().clone();
        let stage = Arc::new(Self { cluster, clock, metrics: metrics.clone() });
        let informers = Informers::new(world.until(scenario(stage)));
        metrics.add_informers(&informers);
        metrics.add_controller(&handle);
        let controller = Controller::new("maps", &informers);
        let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
        let election = Election::new("it").namespace("web").identity("a").when_lost(WhenLost::Rejoin);
        let reconciler = controller.reconciles(&maps).keys(&handle).lead_by(election).on_report(|_, _| {});
        let reconciler = reconciler.deadline(Duration::from_secs(1)).park_after(3);
        let ended = reconciler.run(async |cx, key| match key.name() {
            "fails" => Err(std::io::Error::other("it fails").into()),
            "hangs" => core::future::pending().await,
            "late" => {
                cx.clock().sleep(Duration::from_millis(300)).await;
                Ok(Outcome::RequeueAfter(Duration::from_secs(100_000)))
            }
            "panics" => panic!("it panics"),
            "terminal" => Err(Error::terminal(std::io::Error::other("it fails for good"))),
            _ => Ok(Outcome::Done),
        });
        ended.unwrap();
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    /// The value of a series with these labels.
    pub(crate) fn value(&self, series: &str) -> f64 {
        crate::metrics::value(&self.metrics.encode(), series)
    }
}

/// A scrape when each result has been seen.
pub(crate) fn scraped() -> String {
    let scraped = Arc::<Mutex<String>>::default();
    let taken = Arc::clone(&scraped);
    Stage::play(|stage| async move {
        stage.pass(60).await;
        *taken.lock().unwrap() = stage.metrics.encode();
    });
    let scraped = scraped.lock().unwrap();
    scraped.clone()
}
