use core::task::Poll;
use core::time::Duration;
use listwatch::api::ApiTransport;
use listwatch::audit::StreamAudit;
use listwatch::decode::MetadataOnly;
use listwatch::request::{Query, Request, RequestId};
use listwatch::testing::SimulatedCluster;
use listwatch::transport::{Incoming, ListerWatcher, ReadContext};
use listwatch::{Client, Clock, Executor, InformerHandle, Informers, Resource, World, run};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub(crate) const MAPS: &str = "v1/configmaps";

/// A cluster, and a world of it. The watches lose the events of some objects.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) cluster: SimulatedCluster,
    pub(crate) world: World,
    lost: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    /// With the ConfigMaps of these keys.
    pub(crate) fn with(keys: &[&str]) -> Self {
        Self::losing_in(|_| true, keys)
    }

    /// The same, but the watches of some streams lose nothing. The first stream has number zero.
    pub(crate) fn losing_in(is_losing: impl Fn(usize) -> bool + Send + Sync + 'static, keys: &[&str]) -> Self {
        let (cluster, lost) = (SimulatedCluster::new(), Arc::<Mutex<Vec<String>>>::default());
        let clock = Clock::simulated_at(cluster.date());
        let time = clock.clone();
        let (served, losing) = (cluster.on_clock(move || time.now()), Arc::clone(&lost));
        let client = Client::new(served.client(), clock.clone());
        let streams = AtomicUsize::new(0);
        let world = World::from_parts(clock, client, move |_| {
            let is_losing = is_losing(streams.fetch_add(1, Ordering::Relaxed));
            let (transport, lost) = (served.transport(), if is_losing { Arc::clone(&losing) } else { Arc::default() });
            Box::new(Losing { transport, lost, is_watch: false, is_at_line: true })
        });
        let stage = Self { cluster, world, lost };
        keys.iter().for_each(|key| stage.create(key));
        stage
    }

    /// The same cluster, whose watches lose nothing, in a world whose clients ask `server` instead.
    pub(crate) fn asking(&self, server: impl ApiTransport + Send + 'static) -> Self {
        let time = self.clock().clone();
        let served = self.cluster.on_clock(move || time.now());
        let client = Client::new(server, self.clock().clone());
        let world = World::from_parts(self.clock().clone(), client, move |_| Box::new(served.transport()));
        Self { world, ..self.clone() }
    }

    pub(crate) fn create(&self, key: &str) {
        let (namespace, name) = key.split_once('/').unwrap();
        let metadata = json!({ "name": name, "namespace": namespace, "labels": { "of": name } });
        self.cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
    }

    pub(crate) fn change(&self, key: &str) {
        self.set(key, 1);
    }

    /// A number that an object has already is no change.
    pub(crate) fn set(&self, key: &str, number: usize) {
        self.cluster.patch(MAPS, key, json!({ "data": { "number": number.to_string() } })).unwrap();
    }

    pub(crate) fn delete(&self, key: &str) {
        self.cluster.delete(MAPS, key).unwrap();
    }

    /// From now on, no watch tells of objects of these names.
    pub(crate) fn lose(&self, names: &[&str]) {
        *self.lost.lock().unwrap() = names.iter().map(|name| format!("\"name\":\"{name}\"")).collect();
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.world.clock()
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.clock().sleep(Duration::from_secs(seconds)).await;
    }

    /// The paths and queries of the lists that clients asked for.
    pub(crate) fn listed(&self) -> Vec<String> {
        let path = |request: listwatch::testing::ClientRequest| format!("{}?{}", request.path, request.query);
        self.cluster.requests().into_iter().filter(|request| request.method.name() == "GET").map(path).collect()
    }

    /// How many of them are of this path.
    pub(crate) fn lists_of(&self, path: &str) -> usize {
        self.listed().iter().filter(|list| list.split('?').next() == Some(path)).count()
    }

    /// Follows the ConfigMaps, and plays with their informer once it has synced.
    pub(crate) fn follow<R>(&self, play: impl AsyncFnOnce(&InformerHandle<MetadataOnly>) -> R) -> R {
        self.follow_in(&[], Resource::named(MAPS).unwrap(), play)
    }

    /// Follows those of some namespaces.
    pub(crate) fn follow_in<R>(
        &self,
        namespaces: &[&str],
        resource: Resource,
        play: impl AsyncFnOnce(&InformerHandle<MetadataOnly>) -> R,
    ) -> R {
        let (informers, executor) = (Informers::new(self.world.clone()), Executor::new());
        let _running = executor.spawn(informers.run());
        let maps = informers.informer_in::<MetadataOnly>(resource, namespaces.iter().copied());
        run(self.clock(), &executor, async {
            maps.synced().await.unwrap();
            play(&maps).await
        })
    }
}

/// Each difference as its key and kind.
pub(crate) fn found(audit: &StreamAudit) -> Vec<String> {
    let differences = &audit.result.as_ref().unwrap().differences;
    differences.iter().map(|it| format!("{} {}", it.key, it.kind().name())).collect()
}

/// The only audit.
pub(crate) fn only(audits: Vec<Arc<StreamAudit>>) -> Arc<StreamAudit> {
    let [audit] = &audits[..] else { panic!("{audits:?}") };
    Arc::clone(audit)
}

/// Writes spaces over events.
struct Losing<L> {
    transport: L,
    lost: Arc<Mutex<Vec<String>>>,
    is_watch: bool,
    is_at_line: bool,
}

impl<L> Losing<L> {
    fn lose(&mut self, piece: &mut [u8]) {
        for line in piece.split_inclusive_mut(|byte| *byte == b'\n') {
            let is_whole = self.is_at_line && line.ends_with(b"\n");
            self.is_at_line = line.ends_with(b"\n");
            let text = String::from_utf8_lossy(line).into_owned();
            if is_whole && self.lost.lock().unwrap().iter().any(|lost| text.contains(lost)) {
                let end = line.len() - 1;
                line[..end].fill(b' ');
            }
        }
    }
}

impl<L: ListerWatcher> ListerWatcher for Losing<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        (self.is_watch, self.is_at_line) = (request.query() != Query::List, true);
        self.transport.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let read = self.transport.poll_read(context, buf);
        if let Poll::Ready(Incoming::Data { len, .. }) = &read
            && self.is_watch
        {
            self.lose(&mut buf[..*len]);
        }
        read
    }

    fn abort(&mut self, id: RequestId) {
        self.transport.abort(id);
    }
}
