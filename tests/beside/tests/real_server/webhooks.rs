//! Webhooks that a real API server calls.
#![expect(clippy::disallowed_methods, reason = "a real server keeps real time")]

use crate::foos::{FooV1, FooV2, definition, foo, webhooks};
use crate::real_server::plane::{Plane, own_plane};
use crate::real_server::sample_controller::stage::{SetAtEnd, wait_for};
use listwatch::World;
use listwatch::http::HttpClient;
use listwatch_core::Resource;
use listwatch_core::api::{Api, ApiClient, ApiError, ApiResponse};
use listwatch_webhooks::{Address, Certificates, Serving, Webhooks};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const DEFINITIONS: &str = "apiextensions.k8s.io/v1/customresourcedefinitions";
const CONFIGURATIONS: [&str; 2] = [
    "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
];

/// A server that knows Foos, and their webhooks.
struct Stage {
    plane: Plane,
    namespace: String,
    address: SocketAddr,
    _serving: Serving,
}

/// Programs of a test, and the next one in its place, may have the same address.
fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

impl Stage {
    fn of(test: &str, webhooks: Webhooks, lifetime: Duration) -> Option<Self> {
        let mut plane = own_plane()?;
        let (namespace, address) = (plane.namespace(test), free_address());
        let definitions = Resource::named(DEFINITIONS).unwrap();
        let name = definition()["metadata"]["name"].as_str().unwrap().to_owned();
        assert!(wait_for(Duration::from_secs(30), || plane.get(&definitions, &name).is_none()), "that of another test");
        plane.create(&definitions, &definition());
        let is_established = || {
            let found = plane.get(&definitions, &name).unwrap();
            found["status"]["conditions"].to_string().contains("InitialNamesAccepted")
        };
        assert!(wait_for(Duration::from_secs(30), is_established));
        let serving = serve(&plane, webhooks, &namespace, address, lifetime);
        let stage = Self { plane, namespace, address, _serving: serving };
        // An API server hears of its configuration by a watch, and of the definition too.
        let is_changed = || stage.try_create("probe", &json!({}), true).is_ok_and(|made| made["spec"]["replicas"] == 1);
        assert!(wait_for(Duration::from_secs(30), is_changed), "{:?}", stage.try_create("probe", &json!({}), true));
        Some(stage)
    }

    fn foos(&self, of: &Resource) -> Api<Value> {
        Api::new(&of.clone().in_namespace(&self.namespace))
    }

    fn user(&self) -> User<'_> {
        User { client: &self.plane.client, namespace: &self.namespace }
    }

    fn try_create(&self, name: &str, spec: &Value, is_dry: bool) -> Result<Value, ApiError> {
        self.user().try_create(name, spec, is_dry)
    }

    /// The code and the message of a refusal.
    fn refusal(&self, name: &str, spec: &Value) -> (u16, String) {
        let refused = self.try_create(name, spec, false).expect_err("it is refused");
        let status = refused.status().unwrap_or_else(|| panic!("{refused}"));
        (status.code, status.message.to_string())
    }
}

/// What a thread of a test has of the stage.
#[derive(Clone, Copy)]
struct User<'s> {
    client: &'s HttpClient,
    namespace: &'s str,
}

impl User<'_> {
    fn try_create(self, name: &str, spec: &Value, is_dry: bool) -> Result<Value, ApiError> {
        let mut foo = foo(name, spec);
        foo["metadata"]["namespace"] = json!(self.namespace);
        let foos = Api::new(&Resource::of::<FooV1>().in_namespace(self.namespace));
        let call = foos.create(&foo);
        let call = if is_dry { call.with_query("dryRun", "All") } else { call };
        call.send(self.client)
    }
}

fn serve(plane: &Plane, webhooks: Webhooks, namespace: &str, address: SocketAddr, lifetime: Duration) -> Serving {
    let certificates = Certificates::managed(namespace, "foos").lasting(lifetime);
    let world = World::from(plane.cluster.clone());
    let at = Address::url(&format!("https://{address}"));
    let serving = webhooks.listen(address).start(world, &at, certificates).unwrap();
    assert!(wait_for(Duration::from_secs(30), || serving.ready_check()().is_ok()), "no certificate is served");
    serving
}

impl Drop for Stage {
    /// Nothing asks for the webhooks of a test that is over.
    fn drop(&mut self) {
        let gone = CONFIGURATIONS.map(|it| (it, "foos".to_owned()));
        let definition = (DEFINITIONS, definition()["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        for (resource, name) in gone.into_iter().chain([definition]) {
            _ = self.plane.delete(&Resource::named(resource).unwrap(), &name);
        }
    }
}

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn a_server_refuses_changes_and_converts_by_the_functions() {
    let Some(stage) = Stage::of("reviewed", webhooks(), LONG) else { return };
    let made = stage.try_create("a", &json!({ "other": "x" }), false).unwrap();
    assert_eq!(made["spec"], json!({ "other": "x", "replicas": 1 }));
    let (code, message) = stage.refusal("b", &json!({ "replicas": 11 }));
    let denied = "admission webhook \"validate.foos.hooks.example.com\" denied the request: at most ten replicas";
    assert_eq!((code, &*message), (403, denied));
    let (code, message) = stage.refusal("b", &json!({ "replicas": 7 }));
    assert!(code == 500 && message.contains("failed calling webhook"), "{code} {message}");
    assert!(!message.contains("seven"), "{message}");
    let api = stage.foos(&Resource::of::<FooV1>());
    let rehearsal = api.create(&foo_of(&stage, "c")).with_query("dryRun", "All");
    let answer: ApiResponse = stage.plane.client.send(rehearsal.request().unwrap()).unwrap();
    assert_eq!((answer.status, &*answer.warnings), (201, &["this is a rehearsal".to_owned()][..]));

    let new = stage.foos(&Resource::of::<FooV2>());
    let get = || new.get("a").send(&stage.plane.client).unwrap();
    assert!(wait_for(Duration::from_secs(30), || get()["spec"] == json!({ "size": 1 })), "{}", get());
    let mut shown = get();
    assert_eq!((&shown["spec"], &shown["metadata"]["uid"]), (&json!({ "size": 1 }), &made["metadata"]["uid"]));
    shown["spec"]["size"] = json!(5);
    new.replace("a", &shown).send(&stage.plane.client).unwrap();
    let stored = api.get("a").send(&stage.plane.client).unwrap();
    assert_eq!(stored["spec"], json!({ "replicas": 5 }));
    let listed = new.list().send(&stage.plane.client).unwrap();
    assert_eq!(listed.items[0]["spec"], json!({ "size": 5 }));
    let mut shown = get();
    shown["spec"]["size"] = json!(13);
    let refused = new.replace("a", &shown).send(&stage.plane.client).unwrap_err().to_string();
    assert!(refused.contains("13 is no size"), "{refused}");
    // The webhooks of version 1 review writes of version 2, too.
    shown["spec"]["size"] = json!(12);
    let refused = new.replace("a", &shown).send(&stage.plane.client).unwrap_err().to_string();
    assert!(refused.contains("at most ten replicas"), "{refused}");
}

fn foo_of(stage: &Stage, name: &str) -> Value {
    let mut foo = foo(name, &json!({}));
    foo["metadata"]["namespace"] = json!(stage.namespace);
    foo
}

#[test]
fn a_function_that_hangs_is_given_up_as_its_policy_says() {
    let quick = || webhooks().configured(|webhook| webhook["timeoutSeconds"] = json!(1));
    let Some(mut stage) = Stage::of("hanging", quick(), LONG) else { return };
    let begin = Instant::now();
    let (code, message) = stage.refusal("a", &json!({ "replicas": 8 }));
    assert!(code == 500 && message.contains("failed calling webhook"), "{code} {message}");
    assert!((900..2900).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
    let user = stage.user();
    thread::scope(|scope| {
        let hanging: Vec<_> =
            (0..8).map(|_| scope.spawn(move || user.try_create("a", &json!({ "replicas": 8 }), true))).collect();
        let begin = Instant::now();
        assert!(user.try_create("quick", &json!({}), true).is_ok());
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
        assert!(hanging.into_iter().all(|it| it.join().unwrap().is_err()));
    });
    let lenient = quick().configured(|webhook| webhook["failurePolicy"] = json!("Ignore"));
    let address = free_address();
    stage._serving = serve(&stage.plane, lenient, &stage.namespace, address, LONG);
    let is_created = || stage.try_create("a", &json!({ "replicas": 8 }), false).is_ok();
    assert!(wait_for(Duration::from_secs(30), is_created));
}

/// `ROTATIONS=10` waits for so many.
#[test]
fn rotations_under_load_fail_no_request() {
    let rotations = std::env::var("ROTATIONS").map_or(3, |number| number.parse().unwrap());
    // A certificate takes the place of another each ten seconds.
    let Some(stage) = Stage::of("rotating", webhooks(), Duration::from_secs(20)) else { return };
    let secrets = Resource::named("v1/secrets").unwrap().in_namespace(&stage.namespace);
    let (mut served, mut bundles, sent) = (BTreeSet::new(), BTreeSet::new(), AtomicU32::new(0));
    let user = stage.user();
    let (is_over, begin) = (AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        let over = SetAtEnd(&is_over);
        let load = || {
            while !is_over.load(Ordering::Relaxed) {
                let number = sent.fetch_add(1, Ordering::Relaxed);
                let made = user.try_create(&format!("a-{number}"), &json!({}), true);
                assert_eq!(made.unwrap()["spec"]["replicas"], 1);
            }
        };
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(load)).collect();
        while served.len() <= rotations && begin.elapsed() < Duration::from_secs(24) * (rotations as u32) {
            let secret = stage.plane.get(&secrets, "foos").unwrap();
            served.insert(secret["data"]["tls.crt"].to_string());
            let configuration = stage.plane.get(&Resource::named(CONFIGURATIONS[0]).unwrap(), "foos").unwrap();
            bundles.insert(configuration["webhooks"][0]["clientConfig"]["caBundle"].to_string());
            if clients.iter().any(thread::ScopedJoinHandle::is_finished) {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        drop(over);
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    let sent = sent.into_inner();
    eprintln!("{} certificates, {} bundles and {sent} requests in {:?}", served.len(), bundles.len(), begin.elapsed());
    assert!(
        served.len() > rotations && bundles.len() > rotations && sent > 100,
        "{} {} {sent}",
        served.len(),
        bundles.len()
    );
}

#[test]
fn clients_that_mean_harm_disturb_no_server() {
    let Some(stage) = Stage::of("hostile", webhooks(), LONG) else { return };
    let connect = || TcpStream::connect(stage.address).unwrap();
    let mut crowd: Vec<TcpStream> = (0..700).map(|_| connect()).collect();
    for (number, stream) in crowd.iter_mut().enumerate() {
        let bytes: &[u8] = match number % 4 {
            0 => b"POST /convert HTTP/1.1\r\n\r\n",
            // The begin of a greeting.
            1 => &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01],
            2 => &[0xff; 4096],
            _ => &[],
        };
        // Some are closed already.
        _ = stream.write_all(bytes);
    }
    for number in 0..50 {
        let made = stage.try_create(&format!("a-{number}"), &json!({}), true).unwrap();
        assert_eq!(made["spec"]["replicas"], 1);
    }
    drop(crowd);
}
