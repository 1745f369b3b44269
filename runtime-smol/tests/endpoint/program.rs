use core::time::Duration;
use listwatch::controller::{Controller, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::election::Election;
use listwatch::endpoint::{Endpoint, EndpointBuilder};
use listwatch::metrics::Metrics;
use listwatch::testing::SimulatedCluster;
use listwatch::{Clock, Informers, World};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// What a test does while the program runs.
pub(crate) struct Scene {
    pub(crate) cluster: SimulatedCluster,
    pub(crate) clock: Clock,
    pub(crate) address: SocketAddr,
}

impl Scene {
    pub(crate) async fn pass(&self, time: Duration) {
        self.clock.sleep(time).await;
    }
}

pub(crate) fn map(name: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": "web" });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "x": "the object's body" } })
}

/// Runs a controller of config maps, and its endpoint, under simulated time, until `play` ends. Reconciles fail by the
/// names of their maps: `bad…`, `parked`, `panics`, `slow`.
pub(crate) fn program<F: Future<Output = ()> + Send + 'static>(
    settings: impl FnOnce(EndpointBuilder) -> EndpointBuilder,
    play: impl FnOnce(Scene) -> F,
) {
    let (cluster, metrics) = (SimulatedCluster::new(), Metrics::new());
    let world = World::from(cluster.clone()).on_report_line(|_| {});
    let endpoint = settings(Endpoint::builder(&metrics)).start(0).unwrap();
    let clock = world.clock().clone();
    let scene = Scene { cluster, clock: clock.clone(), address: endpoint.address() };
    let informers = Informers::new(world.until(play(scene)));
    let controller = Controller::new("maps<1>", &informers);
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    let election = Election::new("maps").namespace("web").identity("pod-1");
    let reconciler = controller.reconciles(&maps).workers(2).park_after(12).lead_by(election).on_report(|_, _| {});
    let running = reconciler.calls(async move |_cx, key| match key.name() {
        "slow" => {
            clock.sleep(Duration::from_secs(20)).await;
            Ok(Outcome::Done)
        }
        "panics" => panic!("a message of a panic"),
        name if name.starts_with("bad") || name == "parked" => {
            Err(std::io::Error::other("an error of a reconcile").into())
        }
        _ => Ok(Outcome::Done),
    });
    metrics.add(&running);
    running.run().unwrap();
}
