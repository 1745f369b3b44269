//! Two nodes get the same addresses, because an old leader goes on after the end of its term.

use super::{Model, Step, after_forty_seconds, ensure, living, object, serving};
use core::time::Duration;
use listwatch::controller::{Context, Controller, ControllerHandle, Error, Outcome, RunError, run_all};
use listwatch::election::{Election, WhenLost};
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, Informers, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

const NODES: &str = "example.com/v1/ciliumnodes";
const CLAIMS: &str = "example.com/v1/addressclaims";

pub(super) const MODEL: Model = Model {
    name: "old leader",
    source: "cilium/cilium 42920: parts of the operator do not notice that it leads no more, and hand out addresses of a \
             pool in its memory, beside the new leader",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step { what: "a second node joins", take: |cluster| cluster.create(node("n2")).map(drop) },
        Step {
            what: "a third node joins later",
            take: |cluster| after_forty_seconds(cluster).and_then(|()| cluster.create(node("n3")).map(drop)),
        },
    ],
    always: |cluster| {
        let given: Vec<_> = living(cluster, NODES).iter().filter_map(number).collect();
        let distinct = given.iter().collect::<BTreeSet<_>>().len();
        ensure(distinct == given.len(), || format!("two nodes have the same addresses: {given:?}"))
    },
    in_the_end: |cluster| {
        let have_addresses = living(cluster, NODES).iter().all(|node| number(node).is_some());
        ensure(have_addresses, || "a node has no addresses".to_owned())
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let (informers, leads, pool) = (Informers::new(world), AtomicBool::new(false), Mutex::new(None));
    let (leader, handle) = (Controller::new("cilium", &informers), ControllerHandle::default());
    let nodes = leader.informer_of::<Value>(NODES);
    let leader = leader.reconciles(&nodes).lead_by(election().when_lost(WhenLost::Rejoin)).calls(async |_cx, key| {
        // It is told when the first term begins, and not when one ends.
        leads.store(true, Ordering::Relaxed);
        handle.add(key);
        Ok(Outcome::Done)
    });
    let allocator = Controller::new("addresses", &informers).reconciles(&nodes).keys(&handle);
    let allocator = allocator.calls(async |cx, key| {
        let Some(node) = nodes.get(&key).filter(|_| leads.load(Ordering::Relaxed)) else { return Ok(Outcome::Done) };
        if node["spec"]["podCIDR"].is_null() {
            // The pool begins behind the last addresses that are given.
            let last = || nodes.list_in("web").iter().filter_map(|node| number(node)).max();
            let next = pool.lock().unwrap().get_or_insert_with(|| last().map_or(0, |last| last + 1)..).next();
            give(&cx, &node, next.unwrap_or_default()).await?;
        }
        Ok(Outcome::Done)
    });
    run_all([leader, allocator])
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("cilium", world);
    let nodes = controller.informer_of::<Value>(NODES).with_kind("CiliumNode");
    let claims = controller.informer_of::<Value>(CLAIMS).with_kind("AddressClaim");
    // At the end of a term each reconcile is dropped, and the program ends with what it knew.
    controller.reconciles(&nodes).lead_by(election()).run(async |cx, key| {
        let Some(node) = nodes.get(&key) else { return Ok(Outcome::Done) };
        if node["spec"]["podCIDR"].is_null() {
            // The first addresses that no other node has. The server has them by name, so a late request takes none twice.
            let (mut number, claim) = (0, json!({ "spec": { "node": key.name() } }));
            let name = |number| key.sibling(&format!("10.0.{number}.0"));
            while let Err(error) = cx.create(&claims, name(number), &claim).owned_by(&node).await {
                if !error.is_already_exists() {
                    return Err(error.into());
                }
                number += 1;
            }
            give(&cx, &node, number).await?;
        }
        Ok(Outcome::Done)
    })
}

/// An election whose terms are short, so that a replica that died is soon replaced.
fn election() -> Election {
    let [lease, renewal, retry] = [6, 4, 1].map(Duration::from_secs);
    let election = Election::new("cilium").namespace("web").lease_duration(lease).renew_deadline(renewal);
    election.retry_period(retry).request_timeout(Duration::from_secs(2))
}

/// Gives addresses to a node that has none.
async fn give(cx: &Context, node: &Found<Value>, number: usize) -> Result<(), Error> {
    let set = |node: &mut Value| {
        if node["spec"]["podCIDR"].is_null() {
            node["spec"]["podCIDR"] = json!(format!("10.0.{number}.0/24"));
        }
    };
    Ok(cx.change(node, set).await.map(drop)?)
}

/// The number in the addresses of a node.
fn number(node: &Value) -> Option<usize> {
    node["spec"]["podCIDR"].as_str()?.split('.').nth(2)?.parse().ok()
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("CiliumNode", "ciliumnodes"), ("AddressClaim", "addressclaims")]);
    cluster.create(node("n1")).unwrap();
    cluster
}

fn node(name: &str) -> Value {
    object("CiliumNode", name, &json!({}))
}
