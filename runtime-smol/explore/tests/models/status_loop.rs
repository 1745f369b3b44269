//! A pool writes its status again and again, because each write of it wakes the pool.

use super::{Model, Step, deletions, ensure, is_stored, living, object, serving};
use listwatch::controller::{ActError, Context, Controller, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, InformerHandle, World};
use serde_json::{Value, json};

const POOLS: &str = "example.com/v1/pools";
const PODS: &str = "example.com/v1/poolpods";
/// More than a run without a loop needs.
const MOST: usize = 60;

pub(super) const MODEL: Model = Model {
    name: "status loop",
    source: "opensandbox-group/OpenSandbox 1423: a field of the status is never as before, so each reconcile writes the \
             status, and each write wakes the same pool. Here the loop begins with a failed creation",
    buggy,
    fixed,
    cluster,
    steps: &[Step {
        what: "the user asks for three pods",
        take: |cluster| cluster.patch(POOLS, "web/pool", json!({ "spec": { "size": 3 } })).map(drop),
    }],
    always: |cluster| {
        let requests = cluster.requests();
        let is_status = |path: &str| path.ends_with("/pools/pool/status");
        let written = requests.iter().filter(|request| is_stored(request, "PATCH") && is_status(&request.path)).count();
        ensure(written <= MOST, || format!("the status was written {written} times"))
    },
    in_the_end: |cluster| {
        let (pools, pods) = (living(cluster, POOLS), living(cluster, PODS).len());
        let is_told = pools.iter().all(|pool| pool["status"]["available"] == 3);
        ensure(pods == 3 && is_told && deletions(cluster, "poolpods") == 0, || format!("{pods} pods, {pools:?}"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("pool", world);
    let pools = controller.informer_of::<Value>(POOLS).with_kind("Pool");
    let pods = controller.informer_of::<Value>(PODS).with_kind("PoolPod");
    controller.reconciles(&pools).owns(&pods).run(async |cx, key| {
        let Some(pool) = pools.get(&key) else { return Ok(Outcome::Done) };
        let failed = keep_pods(&cx, &pods, &pool).await.err();
        cx.change_status(&pool, |pool| {
            let (available, was_failing) = (pool["spec"]["size"].clone(), !pool["status"]["failed"].is_null());
            pool["status"]["available"] = available;
            if was_failing || failed.is_some() {
                // What is never as before, and the own write is the next try.
                pool["status"]["failed"] = json!(pool["status"]["failed"].as_u64().unwrap_or_default() + 1);
            }
        })
        .await?;
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("pool", world);
    let pools = controller.informer_of::<Value>(POOLS).with_kind("Pool");
    let pods = controller.informer_of::<Value>(PODS).with_kind("PoolPod");
    controller.reconciles(&pools).owns(&pods).run(async |cx, key| {
        let Some(pool) = pools.get(&key) else { return Ok(Outcome::Done) };
        // A failure is retried by the queue, and the status has what follows from the objects alone.
        keep_pods(&cx, &pods, &pool).await?;
        cx.change_status(&pool, |pool| pool["status"]["available"] = pool["spec"]["size"].clone()).await?;
        Ok(Outcome::Done)
    })
}

async fn keep_pods(cx: &Context, pods: &InformerHandle<Value>, pool: &Found<Value>) -> Result<(), ActError> {
    for number in 0..pool["spec"]["size"].as_u64().unwrap_or_default() {
        let key = pool.key().sibling(&format!("pool-{number}"));
        cx.ensure(pods, key, &json!({ "spec": { "image": "sandbox" } })).owned_by(pool).await?;
    }
    Ok(())
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Pool", "pools"), ("PoolPod", "poolpods")]);
    cluster.create(object("Pool", "pool", &json!({ "size": 2 }))).unwrap();
    cluster
}
