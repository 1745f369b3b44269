//! A cluster takes no request any more, because a crash comes between the deletion of a pod and the note of it.

use super::{Model, Step, ensure, holds, living, object, serving};
use listwatch::api::ApiError;
use listwatch::controller::{Context, Controller, Error, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, InformerHandle, World};
use serde_json::{Value, json};

const CLUSTERS: &str = "example.com/v1/cassandraclusters";
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
    let clusters = controller.informer_of::<Value>(CLUSTERS).with_kind("CassandraCluster");
    let pods = controller.informer_of::<Value>(PODS).with_kind("CassandraPod");
    let volumes = controller.informer_of::<Value>(VOLUMES).with_kind("Volume");
    controller.reconciles(&clusters).owns(&pods).owns(&volumes).run(async |cx, key| {
        let Some(cluster) = cx.live().get(&clusters, &key).await? else { return Ok(Outcome::Done) };
        let operation = cluster["status"]["operation"].clone();
        let node = key.sibling(operation["node"].as_str().unwrap_or_default());
        match operation["phase"].as_str() {
            None => {
                let known = pods.list_in("web");
                let surplus = match known.iter().find(|pod| number(pod) >= nodes(&cluster)) {
                    Some(pod) => cx.live().get(&pods, pod.key()).await?,
                    None => None,
                };
                match surplus {
                    Some(pod) => begin(&cx, &cluster, &pod).await?,
                    None => grow(&cx, &pods, &volumes, &cluster).await?,
                }
            }
            Some("Ongoing") => {
                let pod = cx.live().get(&pods, &node).await?;
                check(pod.is_some())?;
                if let Some(pod) = pod {
                    cx.delete(&pod).await?;
                }
                proceed(&cx, &cluster, &operation, &json!({ "phase": "Finalizing", "node": node.name() })).await?;
            }
            Some(_) => {
                // The volume is older than the end of the operation, if that has not come after it was read.
                let volume = cx.live().get(&volumes, &node).await?;
                let Some(cluster) = cx.live().get(&clusters, &key).await? else { return Ok(Outcome::Done) };
                if let Some(volume) = volume.filter(|_| cluster["status"]["operation"] == operation) {
                    cx.delete(&volume).await?;
                }
                proceed(&cx, &cluster, &operation, &json!(null)).await?;
            }
        }
        Ok(Outcome::Done)
    })
}

/// Begins the decommission of a pod that is too many.
async fn begin(cx: &Context, cluster: &Found<Value>, pod: &Found<Value>) -> Result<(), Error> {
    let operation = json!({ "phase": "Ongoing", "node": pod.key().name() });
    let begin = |cluster: &mut Value| {
        if cluster["status"]["operation"].is_null() && number(pod) >= nodes(cluster) {
            cluster["status"]["operation"] = operation.clone();
        }
    };
    cx.change_status(cluster, begin).await?;
    Ok(())
}

/// Goes from one state of the operation to the next, unless another run has.
async fn proceed(cx: &Context, cluster: &Found<Value>, from: &Value, to: &Value) -> Result<(), Error> {
    let proceed = |cluster: &mut Value| {
        if cluster["status"]["operation"] == *from {
            cluster["status"]["operation"] = to.clone();
        }
    };
    cx.change_status(cluster, proceed).await?;
    Ok(())
}

async fn grow(
    cx: &Context,
    pods: &InformerHandle<Value>,
    volumes: &InformerHandle<Value>,
    cluster: &Found<Value>,
) -> Result<(), Error> {
    for number in 0..nodes(cluster) {
        let key = cluster.key().sibling(&format!("ca-{number}"));
        for kind in [volumes, pods] {
            cx.ensure(kind, &key, &json!({ "spec": { "number": number } })).owned_by(cluster).await?;
        }
    }
    Ok(())
}

fn nodes(cluster: &Value) -> u64 {
    cluster["spec"]["nodes"].as_u64().unwrap_or_default()
}

fn number(pod: &Value) -> u64 {
    pod["spec"]["number"].as_u64().unwrap_or_default()
}

pub(crate) fn cluster() -> SimulatedCluster {
    let kinds = [("CassandraCluster", "cassandraclusters"), ("CassandraPod", "cassandrapods"), ("Volume", "volumes")];
    let cluster = serving(&kinds);
    cluster.create(object("CassandraCluster", "ca", &json!({ "nodes": 2 }))).unwrap();
    cluster
}

fn scale(cluster: &SimulatedCluster, nodes: u64) -> Result<(), ApiError> {
    cluster.patch(CLUSTERS, "web/ca", json!({ "spec": { "nodes": nodes } })).map(drop)
}
