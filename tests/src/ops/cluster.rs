//! A simulated cluster that authors and clients change, and informers that follow it.
//!
//! Whatever happens to the cluster and to the requests of the informers, each informer's cache is in the end what a list
//! shows, and a watch tells each version once and in order.

use super::rest;
use arbitrary::{Arbitrary, Unstructured};
use listwatch_core::api::{Api, ApiClient, ApiError, ApiRequest, DeleteOptions, Method, Patch, PropagationPolicy};
use listwatch_core::decode::Raw;
use listwatch_core::informer::Pumped;
use listwatch_core::{Driver, Informer, InformerConfig, Instant, Resource};
use listwatch_simulated_cluster::{ClusterTransport, Fault, SimulatedCluster};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Waker};
use std::time::Duration;

#[derive(Clone, Debug, Arbitrary)]
enum Op {
    Create(Name, Option<Name>),
    Change(Name, u8),
    Label(Name, bool),
    Status(Name, u8),
    Finalizer(Name, bool),
    Replace(Name, u8),
    Apply(Name, u8, bool),
    Delete(Name, Policy),
    DeleteAll,
    DeleteNamespace(bool),
    Compact,
    Disconnect,
    Fail(Failure),
    Sleep(Pause),
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Pause {
    /// As long as requests are under way.
    Millis(u8),
    /// As long as an informer waits before it tries again.
    Tenths(u8),
    /// As long as a watch lasts.
    Minutes(u8),
}

/// One of a few objects.
#[derive(Clone, Copy, Debug, Arbitrary, PartialEq, Eq)]
enum Name {
    A,
    B,
    C,
    D,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Policy {
    Default,
    Orphan,
    Foreground,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Failure {
    List(u8),
    Watch(u8),
}

/// An informer, and what it is to select.
struct Follower {
    driver: Driver<Raw, ClusterTransport>,
    label: Option<&'static str>,
}

const PODS: &str = "v1/pods";
const PATH: &str = "/api/v1/pods";

/// Does the operations that `data` stands for.
///
/// # Panics
/// Where an informer does not come to what a list shows.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let time = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&time);
    let cluster = SimulatedCluster::new().on_clock(move || Instant::from_nanos(clock.load(Relaxed)));
    let mut followers = followers(&cluster);
    let ops: Vec<Op> = rest(&mut data);
    for op in &ops {
        if let Op::Sleep(pause) = op {
            let until = Instant::from_nanos(time.load(Relaxed)) + pause.length();
            follow(&mut followers, &time, until);
        } else {
            // A refusal is an answer, too.
            let _answer = act(&cluster, op);
        }
    }
    let end = Instant::from_nanos(time.load(Relaxed)) + Duration::from_secs(3600);
    follow(&mut followers, &time, end);
    for follower in &followers {
        follower.check(&cluster, &ops);
    }
}

fn followers(cluster: &SimulatedCluster) -> Vec<Follower> {
    let pods = Resource::new(PATH);
    let (mut paged, mut listed) = (InformerConfig::default(), InformerConfig::default());
    (paged.reflector.watch_list, paged.reflector.page_size) = (false, Some(2));
    (listed.reflector.watch_list, listed.reflector.page_size) = (false, None);
    let followers = [
        (pods.clone(), InformerConfig::default(), None),
        (pods.clone(), paged, None),
        (pods.clone().with_label_selector("app=x"), listed, Some("x")),
        (pods.metadata_only(), InformerConfig::default(), None),
    ];
    let follower = |(number, (resource, config, label)): (usize, (Resource, InformerConfig, Option<&'static str>))| {
        let mut informer = Informer::<Raw>::new(resource, config);
        informer.seed_unless_chosen(number as u64);
        informer.start(Instant::ZERO);
        Follower { driver: Driver::new(informer, cluster.transport()), label }
    };
    followers.into_iter().enumerate().map(follower).collect()
}

/// Lets the informers follow until a time.
fn follow(followers: &mut [Follower], time: &AtomicU64, end: Instant) {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        let now = Instant::from_nanos(time.load(Relaxed));
        for Follower { driver, .. } in followers.iter_mut() {
            // A change that another one brought about, such as the collector's, is found in the next round.
            for round in 0.. {
                assert!(round < 100_000, "an informer does not rest");
                while driver.informer_mut().poll_event().is_some() {}
                if driver.pump(now, &mut cx) == Pumped::Waiting {
                    break;
                }
            }
        }
        let next = followers.iter().filter_map(|follower| follower.driver.poll_timeout()).min();
        let next = next.unwrap_or(end).min(end);
        if now >= end {
            return;
        }
        time.store(next.max(now).as_nanos(), Relaxed);
        assert!(next > now, "a deadline that was handled lies behind");
    }
}

impl Pause {
    fn length(self) -> Duration {
        match self {
            Self::Millis(millis) => Duration::from_millis(u64::from(millis % 8)),
            Self::Tenths(tenths) => Duration::from_millis(u64::from(tenths) * 100),
            Self::Minutes(minutes) => Duration::from_secs(u64::from(minutes % 8) * 60),
        }
    }
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
        }
    }

    /// Two namespaces, so that one can be deleted.
    fn namespace(self) -> &'static str {
        if matches!(self, Self::A | Self::B) { "one" } else { "two" }
    }

    fn key(self) -> String {
        format!("{}/{}", self.namespace(), self.text())
    }

    fn api(self) -> Api<Value> {
        Api::new(&Resource::new(PATH).in_namespace(self.namespace()))
    }
}

fn act(cluster: &SimulatedCluster, op: &Op) -> Result<(), ApiError> {
    let merge =
        |name: &Name, patch: Value| name.api().patch(name.text(), &Patch::Merge(&patch)).send(cluster).map(drop);
    match op {
        Op::Create(name, owner) => {
            let mut pod = json!({ "metadata": { "name": name.text(), "labels": { "app": "x" } } });
            if let Some(owner) = owner.filter(|owner| owner != name) {
                let uid = cluster.get(PODS, &owner.key())?["metadata"]["uid"].clone();
                pod["metadata"]["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "Pod",
                    "name": owner.text(), "uid": uid, "blockOwnerDeletion": true }]);
            }
            name.api().create(&pod).send(cluster).map(drop)
        }
        Op::Change(name, value) => merge(name, json!({ "spec": { "value": value } })),
        Op::Label(name, is_x) => {
            let app = if *is_x { "x" } else { "y" };
            cluster.patch(PODS, &name.key(), json!({ "metadata": { "labels": { "app": app } } })).map(drop)
        }
        Op::Status(name, value) => {
            let patch = json!({ "spec": { "value": 999 }, "status": { "value": value } });
            name.api().status().patch(name.text(), &Patch::Merge(&patch)).send(cluster).map(drop)
        }
        Op::Finalizer(name, is_there) => {
            let finalizers = if *is_there { json!(["example.com/wait"]) } else { Value::Null };
            merge(name, json!({ "metadata": { "finalizers": finalizers } }))
        }
        Op::Replace(name, value) => {
            let mut pod = cluster.get(PODS, &name.key())?;
            pod["spec"] = json!({ "value": value });
            cluster.replace(pod).map(drop)
        }
        Op::Apply(name, value, force) => {
            let pod = json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "value": value } });
            let patch = Patch::Apply { manager: "other", force: *force, object: &pod };
            name.api().patch(name.text(), &patch).send(cluster).map(drop)
        }
        Op::Delete(name, policy) => {
            let options = match policy {
                Policy::Default => DeleteOptions::default(),
                Policy::Orphan => DeleteOptions::default().with_propagation(PropagationPolicy::Orphan),
                Policy::Foreground => DeleteOptions::default().with_propagation(PropagationPolicy::Foreground),
            };
            name.api().delete(name.text(), &options).send(cluster)
        }
        Op::DeleteAll => {
            let pods = ApiRequest::new(Method::Delete, "/api/v1/namespaces/two/pods");
            cluster.send(&pods).map(drop).map_err(ApiError::from)
        }
        Op::DeleteNamespace(is_one) => {
            let name = if *is_one { "one" } else { "two" };
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            let _may_be_there = cluster.create(namespace);
            cluster.delete("v1/namespaces", name)
        }
        Op::Compact => {
            cluster.compact();
            Ok(())
        }
        Op::Disconnect => {
            cluster.disconnect();
            Ok(())
        }
        Op::Fail(failure) => {
            let (verb, how) = match failure {
                Failure::List(how) => ("LIST", how),
                Failure::Watch(how) => ("WATCH", how),
            };
            let faults =
                [Fault::Refused(410), Fault::Refused(500), Fault::Refused(429), Fault::Unreachable, Fault::Lost];
            cluster.fail_next(verb, faults[usize::from(*how) % faults.len()])
        }
        Op::Sleep(_) => Ok(()),
    }
}

impl Follower {
    /// Its cache is what a list shows.
    fn check(&self, cluster: &SimulatedCluster, ops: &[Op]) {
        let informer = self.driver.informer();
        assert!(informer.has_synced(), "{ops:?}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let listed = cluster.list(PODS).unwrap_or_default().into_iter();
        let selected = listed.filter(|pod| self.label.is_none_or(|label| pod["metadata"]["labels"]["app"] == label));
        let expected: BTreeMap<String, String> = selected
            .map(|pod| {
                let metadata = &pod["metadata"];
                let key = format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
                (key, text(&metadata["resourceVersion"]))
            })
            .collect();
        let cached = informer.cache().iter();
        let cached = cached.map(|pod| (pod.key().to_string(), pod.meta().resource_version().to_owned()));
        assert_eq!(cached.collect::<BTreeMap<_, _>>(), expected, "{:?} {ops:?}", self.label);
    }
}
