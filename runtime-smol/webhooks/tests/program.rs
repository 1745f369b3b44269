//! Webhooks of a simulated cluster, which are served on a real socket.

use crate::client::Connection;
use crate::foos::{definition, webhooks};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use listwatch::testing::SimulatedCluster;
use listwatch::{Client, Clock, World};
use listwatch_webhooks::{Address, Certificates, Serving, Webhooks};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) struct Program {
    pub(crate) cluster: SimulatedCluster,
    pub(crate) serving: Serving,
    pub(crate) reports: Arc<Mutex<Vec<String>>>,
}

pub(crate) const VALIDATE: &str = "/validate/hooks.example.com/v1/foos";
pub(crate) const MUTATE: &str = "/mutate/hooks.example.com/v1/foos";
const CONFIGURATIONS: &str = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A cluster, with the definition that is converted.
pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    cluster.create(definition()).unwrap();
    cluster
}

/// The cluster as a program sees it, by the clock of the machine.
fn world(cluster: &SimulatedCluster) -> World {
    let (clock, of_world) = (Clock::real(), cluster.clone());
    let client = Client::new(cluster.client(), clock.clone());
    World::from_parts(clock, client, move |resource| Box::new(of_world.transport_of(resource)))
}

/// A program with certificates in a Secret.
pub(crate) fn program() -> Program {
    let certificates = Certificates::managed("web", "foos").lasting(Duration::from_secs(3600));
    let program = start(&cluster(), webhooks(), certificates);
    wait_for("the program is ready", || program.serving.ready_check()().is_ok());
    program
}

pub(crate) fn start(cluster: &SimulatedCluster, webhooks: Webhooks, certificates: Certificates) -> Program {
    let reports = Arc::<Mutex<Vec<String>>>::default();
    let told = Arc::clone(&reports);
    let webhooks = webhooks.on_report(move |line| told.lock().unwrap().push(line.to_owned()));
    let webhooks = webhooks.listen((Ipv4Addr::LOCALHOST, 0));
    let serving = webhooks.start(world(cluster), &Address::url("https://127.0.0.1"), certificates).unwrap();
    Program { cluster: cluster.clone(), serving, reports }
}

impl Program {
    pub(crate) fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// What the API server trusts.
    pub(crate) fn authorities(&self) -> String {
        let configuration = self.cluster.get(CONFIGURATIONS, "foos").unwrap();
        let bundle = configuration["webhooks"][0]["clientConfig"]["caBundle"].as_str().unwrap();
        String::from_utf8(STANDARD.decode(bundle).unwrap()).unwrap()
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address(), &self.authorities()).unwrap()
    }

    pub(crate) fn reported(&self, text: &str) -> bool {
        self.reports.lock().unwrap().iter().any(|line| line.contains(text))
    }
}

pub(crate) fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_configuration_names_the_functions_and_the_authority() {
    let program = program();
    let validating = program.cluster.get(CONFIGURATIONS, "foos").unwrap();
    assert_eq!(validating["webhooks"][0]["clientConfig"]["url"], format!("https://127.0.0.1{VALIDATE}"));
    let definition = program.cluster.get("apiextensions.k8s.io/v1/customresourcedefinitions", "foos.hooks.example.com");
    let conversion = definition.unwrap()["spec"]["conversion"].clone();
    assert_eq!(conversion["webhook"]["clientConfig"]["url"], "https://127.0.0.1/convert");
    assert_eq!(conversion["webhook"]["conversionReviewVersions"], json!(["v1"]));
}
