//! All data is lost, because the pod that replaces an evicted master becomes the master of its replica.

use super::{Model, Step, ensure, living, object, serving};
use core::cmp::Reverse;
use listwatch::api::Patch;
use listwatch::controller::{Context, Controller, Error, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, Key, World};
use serde_json::{Value, json};

const DRAGONFLIES: &str = "example.com/v1/dragonflies";
const SERVERS: &str = "example.com/v1/servers";

pub(super) const MODEL: Model = Model {
    name: "evicted master",
    source: "dragonflydb/dragonfly-operator 306, with the order of writes of its pull request 51: the roles go before the \
             election, so that a run which is interrupted there elects the empty pod after the evicted master",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step {
            what: "the user writes seven rows, and the replica copies them",
            take: |cluster| {
                let rows = || json!({ "spec": { "rows": 7 } });
                cluster.patch(SERVERS, "web/df-0", rows())?;
                cluster.patch(SERVERS, "web/df-1", rows())?;
                cluster.patch(DRAGONFLIES, "web/df", rows()).map(drop)
            },
        },
        Step {
            what: "the master is evicted, and an empty pod replaces it",
            take: |cluster| {
                cluster.delete(SERVERS, "web/df-0")?;
                cluster.create(server("df-0")).map(drop)
            },
        },
    ],
    always: |cluster| {
        let [written, kept] = [DRAGONFLIES, SERVERS].map(|resource| living(cluster, resource).iter().map(rows).max());
        ensure(kept >= written, || format!("of {written:?} rows, the servers have {kept:?}"))
    },
    in_the_end: |cluster| {
        let servers = living(cluster, SERVERS);
        let masters = servers.iter().filter(|server| server["spec"]["role"] == "master").count();
        let is_whole = masters == 1 && servers.iter().all(|server| rows(server) == 7);
        ensure(is_whole, || format!("servers are {servers:?}"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("dragonfly", world);
    let dragonflies = controller.informer_of::<Value>(DRAGONFLIES);
    let servers = controller.informer_of::<Value>(SERVERS);
    let reconciler = controller.reconciles(&dragonflies).maps(&servers, |_, keys| keys.add("web/df"));
    reconciler.run(async |cx, _key| {
        let mut pods: Vec<Found<Value>> = servers.list_in("web").into_iter().collect();
        pods.sort_by(|one, other| one.key().cmp(other.key()));
        if !pods.iter().any(|pod| pod["spec"]["role"] == "master") {
            let next = pods.iter().position(|pod| pod["spec"]["role"] == "replica").unwrap_or_default();
            // Between these writes, nothing tells a replica from an empty pod.
            for pod in pods.iter_mut().filter(|pod| !pod["spec"]["role"].is_null()) {
                *pod = set(&cx, pod, &json!({ "role": null })).await?;
            }
            if let Some(pod) = pods.get_mut(next) {
                *pod = set(&cx, pod, &json!({ "role": "master" })).await?;
            }
        }
        let Some(master) = pods.iter().find(|pod| pod["spec"]["role"] == "master") else { return Ok(Outcome::Done) };
        for pod in pods.iter().filter(|pod| pod["spec"]["role"].is_null()) {
            set(&cx, pod, &json!({ "role": "replica", "rows": master["spec"]["rows"] })).await?;
        }
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("dragonfly", world);
    let dragonflies = controller.informer_of::<Value>(DRAGONFLIES);
    let servers = controller.informer_of::<Value>(SERVERS);
    let reconciler = controller.reconciles(&dragonflies).maps(&servers, |_, keys| keys.add("web/df"));
    reconciler.run(async |cx, _key| {
        // The servers as the API server has them.
        let mut pods = Vec::new();
        for name in ["df-0", "df-1"] {
            pods.extend(cx.live().get(&servers, Key::new(Some("web"), name)).await?);
        }
        let role = |pod: &Value| pod["spec"]["role"].clone();
        let Some(master) = pods.iter().find(|pod| role(pod) == "master") else {
            // The server with the most rows is elected by one write, and the next reconcile sees it.
            let next = pods.iter().min_by_key(|pod| (Reverse(rows(pod)), role(pod) != "replica", pod.key().clone()));
            if let Some(next) = next {
                set(&cx, next, &json!({ "role": "master" })).await?;
            }
            return Ok(Outcome::Done);
        };
        for pod in pods.iter().filter(|pod| role(pod).is_null() && rows(pod) <= rows(master)) {
            set(&cx, pod, &json!({ "role": "replica", "rows": rows(master) })).await?;
        }
        Ok(Outcome::Done)
    })
}

/// Gives a server a role, if it is as it was read. A replica copies the rows of its master.
async fn set(cx: &Context, pod: &Found<Value>, spec: &Value) -> Result<Found<Value>, Error> {
    let version = json!({ "resourceVersion": pod.meta().resource_version() });
    Ok(cx.patch(pod, &Patch::Merge(&json!({ "metadata": version, "spec": spec }))).await?)
}

fn rows(object: &Value) -> u64 {
    object["spec"]["rows"].as_u64().unwrap_or_default()
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Dragonfly", "dragonflies"), ("Server", "servers")]);
    cluster.create(object("Dragonfly", "df", &json!({ "rows": 0 }))).unwrap();
    ["df-0", "df-1"].iter().for_each(|name| drop(cluster.create(server(name)).unwrap()));
    cluster
}

fn server(name: &str) -> Value {
    object("Server", name, &json!({ "rows": 0 }))
}
