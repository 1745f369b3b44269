//! A simulated cluster, and a client that notes what the server is told.

use crate::collector::ask_each_subscriber;
use core::task::Poll;
use listwatch::api::{ApiRequest, ApiTransport, Method, Reply, TraceContext};
use listwatch::controller::{Controller, Reconciler};
use listwatch::decode::Raw;
use listwatch::request::RequestId;
use listwatch::testing::SimulatedCluster;
use listwatch::transport::ReadContext;
use listwatch::{Client, Clock, InformerHandle, Resource, World};
use serde_json::json;
use std::sync::{Arc, Mutex};

pub(crate) const MAPS: &str = "v1/configmaps";

/// Each request of a client, and what it says of its sender.
pub(crate) type Sent = Arc<Mutex<Vec<(Method, String, Option<TraceContext>)>>>;

pub(crate) struct Stage {
    pub(crate) clock: Clock,
    pub(crate) cluster: SimulatedCluster,
    pub(crate) world: World,
    pub(crate) sent: Sent,
}

impl Stage {
    /// A cluster with ConfigMaps of these names.
    pub(crate) fn new(names: &[&str]) -> Self {
        ask_each_subscriber();
        let clock = Clock::simulated();
        let time = clock.clone();
        let cluster = SimulatedCluster::new().on_clock(move || time.now());
        for name in names {
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": name, "namespace": "web" } });
            cluster.create(map).unwrap();
        }
        let sent = Sent::default();
        let client = Client::new(Noting { inner: cluster.client(), sent: Arc::clone(&sent) }, clock.clone());
        let inside = cluster.clone();
        let world = World::from_parts(clock.clone(), client, move |_| Box::new(inside.transport()));
        Self { clock, cluster, world, sent }
    }

    /// A controller of the ConfigMaps, and their informer. It ends after a minute.
    pub(crate) fn controller(&self) -> (Reconciler<Raw>, InformerHandle<Raw>) {
        let world = self.world.clone().lasting(core::time::Duration::from_secs(60));
        let controller = Controller::new("maps", world);
        let maps = controller.informer_of::<Raw>(Resource::named(MAPS).unwrap());
        (controller.reconciles(&maps), maps)
    }
}

struct Noting<X> {
    inner: X,
    sent: Sent,
}

impl<X: ApiTransport> ApiTransport for Noting<X> {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.sent.lock().unwrap().push((request.method, request.path.clone(), request.trace));
        self.inner.open(id, request);
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        self.inner.poll_response(id, turn)
    }

    fn abort(&mut self, id: RequestId) {
        self.inner.abort(id);
    }
}
