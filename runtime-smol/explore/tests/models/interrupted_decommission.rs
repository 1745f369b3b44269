//! A cluster takes no request any more, because a crash comes between the deletion of a pod and the note of it.

use super::{Model, Step, ensure, holds, living, object, serving};
use listwatch::api::ApiError;
use listwatch::controller::{Context, Controller, Error, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, InformerHandle, World};
use serde_json::{Value, json};

const CLUSTERS: &str = "example.com/v1/cassandras";
const PODS: &str = "example.com/v1/cassandrapods";
const VOLUMES: &str = "example.com/v1/volumes";

pub(super) const MODEL: Model = Model {
    name: "interrupted decommission",
    source: "Orange-OpenSource/casskop 370, of Sieve's: the operation of the status is still ongoing when its pod is gone, \
             which is an error of each later reconcile, so the volume stays and no other request is met",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step { what: "the user scales down to one node", take: |cluster| scale(cluster, 1) },
        Step { what: "the user scales up to three nodes", take: |cluster| scale(cluster, 3) },
    ],
    always: holds,
    in_the_end: |cluster| {
        let left = [PODS, VOLUMES].map(|resource| living(cluster, resource).len());
        let is_idle = living(cluster, CLUSTERS).iter().all(|cluster| cluster["status"]["operation"].is_null());
        ensure(is_idle && left == [3, 3], || format!("idle {is_idle}, with {left:?} pods and volumes for three nodes"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    operate(world, |pod| if pod { Ok(()) } else { Err("the pod to decommission was not found".into()) })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    // A pod that is gone was deleted by this operation.
    operate(world, |_pod| Ok(()))
}

/// One step of the state machine a reconcile; `check` is asked whether an ongoing operation may go on with or without its
/// pod.
fn operate(world: World, check: impl Fn(bool) -> Result<(), Error> + Send + Sync) -> Result<(), RunError> {
    let controller = Controller::new("casskop", world);
    let clusters = controller.informer_of::<Value>(CLUSTERS).with_kind("Cassandra");
    let pods = controller.informer_of::<Value>(PODS).with_kind("CassandraPod");
    let volumes = controller.informer_of::<Value>(VOLUMES).with_kind("Volume");
    controller.reconciles(&clusters).owns(&pods).owns(&volumes).run(async |cx, key| {
        let Some(cluster) = cx.live().get(&clusters, &key).await? else { return Ok(Outcome::Done) };
        let operation = cluster["status"]["operation"].clone();
        let node = key.sibling(operation["node"].as_str().unwrap_or_default());
        let next = match operation["phase"].as_str() {
            None => match surplus(&cx, &pods, &cluster).await? {
                Some(pod) => json!({ "phase": "Ongoing", "node": pod.key().name() }),
                None => return grow(&cx, [&volumes, &pods], &cluster).await,
            },
            Some(phase) => {
                let (is_pod, kind) = if phase == "Ongoing" { (true, &pods) } else { (false, &volumes) };
                let found = cx.live().get(kind, &node).await?;
                check(found.is_some() || !is_pod)?;
                // What was found is older than the end of the operation, if that has not come since.
                let is_same = |it: Found<Value>| it["status"]["operation"] == operation;
                let goes_on = cx.live().get(&clusters, &key).await?.is_some_and(is_same);
                if let Some(found) = found.filter(|_| goes_on) {
                    cx.delete(&found).await?;
                }
                if is_pod { json!({ "phase": "Finalizing", "node": node.name() }) } else { Value::Null }
            }
        };
        // Another run may have gone on, and the user may want other nodes.
        let is_same = |it: &Value| it["status"]["operation"] == operation && it["spec"] == cluster["spec"];
        let proceed = |it: &mut Value| _ = is_same(it).then(|| it["status"]["operation"] = next.clone());
        cx.change_status(&cluster, proceed).await?;
        Ok(Outcome::Done)
    })
}

/// A pod that is too many.
async fn surplus(cx: &Context, pods: &InformerHandle<Value>, cluster: &Value) -> Result<Option<Found<Value>>, Error> {
    let known = pods.list_in("web");
    let surplus = known.iter().find(|pod| pod["spec"]["number"].as_u64() >= cluster["spec"]["nodes"].as_u64());
    let Some(pod) = surplus else { return Ok(None) };
    Ok(cx.live().get(pods, pod.key()).await?)
}

async fn grow(cx: &Context, kinds: [&InformerHandle<Value>; 2], cluster: &Found<Value>) -> Result<Outcome, Error> {
    for number in 0..cluster["spec"]["nodes"].as_u64().unwrap_or_default() {
        let key = cluster.key().sibling(&format!("ca-{number}"));
        for kind in kinds {
            cx.ensure(kind, &key, &json!({ "spec": { "number": number } })).owned_by(cluster).await?;
        }
    }
    Ok(Outcome::Done)
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Cassandra", "cassandras"), ("CassandraPod", "cassandrapods"), ("Volume", "volumes")]);
    cluster.create(object("Cassandra", "ca", &json!({ "nodes": 2 }))).unwrap();
    cluster
}

fn scale(cluster: &SimulatedCluster, nodes: u64) -> Result<(), ApiError> {
    cluster.patch(CLUSTERS, "web/ca", json!({ "spec": { "nodes": nodes } })).map(drop)
}
