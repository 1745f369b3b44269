//! The requests of one seed, in a namespace of their own.

use crate::real_server::plane::Plane;
use crate::real_server::requests::reasons::{REASONS, reasons};
use listwatch_core::Resource;
use listwatch_core::api::{Api, DeleteOptions, Patch};
use listwatch_simulated_cluster::SimulatedCluster;
use listwatch_tests::answers::definitions;
use listwatch_tests::requests::Request;
use listwatch_tests::requests::draw::{draw, watches};
use listwatch_tests::requests::pair::{Compared, Pair};
use listwatch_tests::requests::side::Side;
use listwatch_transport_http::HttpClient;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A server that has the wheels and the cogs.
pub(super) struct Stage {
    client: HttpClient,
    group: String,
    namespaces: AtomicU64,
}

/// What became of a request.
pub(super) struct Told {
    pub(super) request: Request,
    /// Its place among the requests of its seed.
    pub(super) place: usize,
    pub(super) compared: Compared,
    /// The reasons of the difference, if there is one.
    pub(super) reasons: Vec<usize>,
}

/// The two servers, and where they are asked.
type Servers<'s> = Pair<'s, HttpClient, SimulatedCluster>;

impl Stage {
    pub(super) fn new(plane: &mut Plane) -> Self {
        let group = plane.name("wheels") + ".example";
        for definition in definitions(&group) {
            let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
            plane.create_global("apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
            let objects = Resource::named(&format!("{group}/v1/{plural}")).unwrap();
            while !plane.has(&objects) {}
        }
        Self { client: plane.cluster.client().unwrap(), group, namespaces: AtomicU64::new(0) }
    }

    /// Sends the requests of a seed.
    pub(super) fn play(&self, seed: u64, count: usize) -> Vec<Told> {
        let requests = draw(seed, count);
        self.with_servers(|servers| {
            let mut told: Vec<Told> = Vec::new();
            for (place, request) in requests.iter().enumerate() {
                told.extend(ask(servers, request, place));
            }
            told.extend(watch(servers, &watches(seed), count));
            told
        })
    }

    /// Sends some of the requests of a seed, the last of which is watched.
    pub(super) fn replay(&self, requests: &[Request]) -> Option<Told> {
        self.with_servers(|servers| {
            let last = requests.len().checked_sub(1)?;
            requests
                .iter()
                .enumerate()
                .filter_map(|(place, request)| ask(servers, request, place))
                .find(|it| it.place == last)
        })
    }

    /// Gives both servers a namespace, and the group.
    fn with_servers<T>(&self, act: impl FnOnce(&mut Servers<'_>) -> T) -> T {
        let namespace = format!("requests-{}", self.namespaces.fetch_add(1, Ordering::Relaxed));
        let namespaces = Api::<Value>::new(&Resource::named("v1/namespaces").unwrap());
        let object = json!({ "metadata": { "name": namespace } });
        // The clock stands still, so no garbage is collected there, either.
        let simulated = SimulatedCluster::new();
        definitions(&self.group).into_iter().for_each(|it| _ = simulated.create(it).unwrap());
        namespaces.create(&object).send(&self.client).unwrap();
        namespaces.create(&object).send(&simulated).unwrap();
        let mut servers =
            Pair::new(Side::new(&self.client, &namespace, &self.group), Side::new(&simulated, &namespace, &self.group));
        let done = act(&mut servers);
        self.give_back(&namespace);
        done
    }

    /// The addresses of Services are few.
    fn give_back(&self, namespace: &str) {
        let services = Api::<Value>::new(&Resource::named("v1/services").unwrap().in_namespace(namespace));
        for service in services.list().send(&self.client).unwrap().items {
            let name = service["metadata"]["name"].as_str().unwrap();
            let release = json!({ "metadata": { "finalizers": null } });
            let _released = services.patch(name, &Patch::Merge(&release)).send(&self.client);
            let _gone = services.delete(name, &DeleteOptions::default()).send(&self.client);
        }
    }
}

/// Sends a request to both. What they differ in is brought to the same state.
fn ask(servers: &mut Servers<'_>, request: &Request, place: usize) -> Option<Told> {
    let compared = servers.compare(request).unwrap_or_else(|error| panic!("{request}: {error}"))?;
    let told = tell(request, place, compared);
    let has_made = request.has(listwatch_tests::requests::side::GENERATED);
    if !told.compared.differences.is_empty() || has_made {
        servers.level(request, &told.compared).unwrap_or_else(|error| panic!("{request}: {error}"));
    }
    Some(told)
}

fn tell(request: &Request, place: usize, compared: Compared) -> Told {
    let reasons = if compared.differences.is_empty() { Vec::new() } else { reasons(request, &compared) };
    debug_assert!(reasons.iter().all(|reason| *reason < REASONS.len()));
    Told { request: request.clone(), place, compared, reasons }
}

/// Watches at once, because each watch takes a second.
fn watch(servers: &Servers<'_>, watches: &[Request], first: usize) -> Vec<Told> {
    thread::scope(|scope| {
        let each = watches.iter().enumerate().map(|(place, request)| {
            let mut servers = servers.clone();
            scope.spawn(move || ask(&mut servers, request, first + place))
        });
        let each: Vec<_> = each.collect();
        each.into_iter().filter_map(|one| one.join().unwrap()).collect()
    })
}
