//! The program that is scraped: it counts what it does.

use core::num::NonZeroU32;
use core::time::Duration;
use listwatch::api::Api;
use listwatch::controller::{Controller, Error, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::election::Election;
use listwatch::endpoint::Endpoint;
use listwatch::metrics::Metrics;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::{Clock, Informers, Resource, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Of a new ConfigMap, the oldest goes.
const MOST_MAPS: usize = 40;

/// What the program counts itself.
#[derive(Default)]
struct Counts {
    results: Mutex<BTreeMap<&'static str, u64>>,
    keys: AtomicU64,
    not_found: AtomicU64,
}

impl Counts {
    fn count(&self, result: &'static str) {
        *self.results.lock().unwrap().entry(result).or_default() += 1;
    }
}

pub(crate) struct Program {
    pub(crate) address: SocketAddr,
    counts: Arc<Counts>,
    cluster: SimulatedCluster,
    settled: Receiver<()>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Program {
    /// Works for so long, and then waits for its end.
    pub(crate) fn start(time: Duration) -> Self {
        let (begun, address) = channel();
        let (settles, settled) = channel();
        let (counts, is_over) = (Arc::<Counts>::default(), Arc::<AtomicBool>::default());
        let cluster = SimulatedCluster::new();
        let (counted, ends, of_it) = (Arc::clone(&counts), Arc::clone(&is_over), cluster.clone());
        let thread = std::thread::spawn(move || run(&of_it, time, counted, &begun, settles, ends));
        Self { address: address.recv().unwrap(), counts, cluster, settled, is_over, thread }
    }

    /// Waits until it rests, and returns what it counted, by series.
    pub(crate) fn settle(&self) -> BTreeMap<String, f64> {
        self.settled.recv().unwrap();
        let results = self.counts.results.lock().unwrap();
        let counted = |which: &[&str]| which.iter().map(|it| results.get(it).copied().unwrap_or(0)).sum::<u64>() as f64;
        let posts = self.cluster.requests().iter().filter(|it| it.to_string().starts_with("POST")).count();
        let maps = self.cluster.list("v1/configmaps").unwrap().len();
        let series = [
            ("controller_runtime_reconcile_total{result=\"success\"}", counted(&["done"])),
            ("controller_runtime_reconcile_total{result=\"requeue_after\"}", counted(&["later"])),
            (
                "controller_runtime_reconcile_total{result=\"error\"}",
                counted(&["fails", "terminal", "panics", "hangs"]),
            ),
            ("controller_runtime_reconcile_errors_total{}", counted(&["fails", "terminal", "panics", "hangs"])),
            ("controller_runtime_reconcile_panics_total{}", counted(&["panics"])),
            ("controller_runtime_reconcile_timeouts_total{}", counted(&["hangs"])),
            ("controller_runtime_terminal_reconcile_errors_total{}", counted(&["terminal"])),
            ("controller_runtime_active_workers{}", 0.0),
            ("leader_election_master_status{name=\"web/it\"}", 1.0),
            ("listwatch_stream_objects{stream=\"configmaps\"}", maps as f64),
            (
                "rest_client_requests_total{code=\"404\",method=\"GET\",host=\"\"}",
                // And the lease, before it was there.
                (self.counts.not_found.load(Ordering::Relaxed) + 1) as f64,
            ),
            ("rest_client_requests_total{method=\"POST\"}", posts as f64),
        ];
        series.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    pub(crate) fn keys(&self) -> u64 {
        self.counts.keys.load(Ordering::Relaxed)
    }

    pub(crate) fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

fn run(
    cluster: &SimulatedCluster,
    time: Duration,
    counts: Arc<Counts>,
    begun: &Sender<SocketAddr>,
    settles: Sender<()>,
    is_over: Arc<AtomicBool>,
) {
    let world = World::from(cluster.clone()).paced(NonZeroU32::MIN);
    let (clock, changed, noted) = (world.clock().clone(), cluster.clone(), Arc::clone(&counts));
    let informers = Informers::new(world.until(async move {
        work(&clock, &changed, &noted, time).await;
        settles.send(()).unwrap();
        while !is_over.load(Ordering::Relaxed) {
            clock.sleep(Duration::from_millis(100)).await;
        }
    }));
    let controller = Controller::new("maps", &informers);
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    let secrets = Api::<Value>::new(&Resource::named("v1/secrets").unwrap().in_namespace("web"));
    let reconciler = controller.reconciles(&maps).workers(4).deadline(Duration::from_millis(300)).park_after(3);
    let reconciler = reconciler.lead_by(Election::new("it").namespace("web").identity("a")).on_report(|_, _| {});
    let reconciler = reconciler.audit_every(Duration::from_secs(10));
    let running = reconciler.calls(async move |cx, key| {
        let what = match maps.get(&key).and_then(|_| key.name().rsplit('-').next()?.parse::<u64>().ok()) {
            None => "done",
            Some(number) => {
                ["done", "done", "later", "fails", "terminal", "panics", "hangs", "asks"][number as usize % 8]
            }
        };
        counts.count(if what == "asks" { "done" } else { what });
        match what {
            "fails" => Err(std::io::Error::other("it fails").into()),
            "terminal" => Err(Error::terminal(std::io::Error::other("it fails for good"))),
            "panics" => panic!("it panics"),
            "hangs" => core::future::pending().await,
            "later" => Ok(Outcome::RequeueAfter(Duration::from_secs(100_000))),
            "asks" => {
                counts.not_found.fetch_add(1, Ordering::Relaxed);
                assert!(cx.client().call(secrets.get("none")).await.is_err());
                Ok(Outcome::Done)
            }
            _ => Ok(Outcome::Done),
        }
    });
    let metrics = Metrics::new();
    metrics.add_controller(&running.handle());
    metrics.add_informers(&informers);
    // It may not be read, for the panel of streams that are not synced.
    for request in ["LIST /api/v1/nodes", "WATCH /api/v1/nodes"] {
        (0..500).for_each(|_| cluster.fail_next(request, Fault::Refused(403)).unwrap());
    }
    let _failing = informers.informer_of::<MetadataOnly>(Resource::new("/api/v1/nodes"));
    let endpoint = Endpoint::builder(&metrics).start(0).unwrap();
    begun.send(endpoint.address()).unwrap();
    running.run().unwrap();
}

/// Changes objects, breaks watches, and lets keys end that hang or are retried.
async fn work(clock: &Clock, cluster: &SimulatedCluster, counts: &Counts, time: Duration) {
    let begun = clock.now();
    let mut names = std::collections::VecDeque::new();
    while clock.now().saturating_since(begun) + Duration::from_secs(8) < time {
        let number = counts.keys.fetch_add(1, Ordering::Relaxed);
        let name = format!("map-{number}");
        let metadata = json!({ "name": name, "namespace": "web" });
        cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
        names.push_back(name);
        if names.len() > MOST_MAPS {
            cluster.delete("v1/configmaps", &format!("web/{}", names.pop_front().unwrap())).unwrap();
        }
        // Relists that follow each other within two minutes have longer and longer delays.
        let expires = number % 1500 == 20 || number == 60;
        match number % 40 {
            10 => cluster.disconnect(),
            _ if expires => {
                cluster.fail_next("WATCH /api/v1/configmaps", Fault::Refused(410)).unwrap();
                cluster.disconnect();
            }
            _ => {}
        }
        clock.sleep(Duration::from_millis(100)).await;
    }
    // Those that fail are parked by now.
    clock.sleep(Duration::from_secs(8)).await;
}
