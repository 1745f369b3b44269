//! The volume of a member is deleted because a stale server has fewer members.

use super::{Model, Step, as_client_go, delete_by_name, deletions, ensure, living, object, serving};
use listwatch::controller::{Context, Controller, Error, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, InformerHandle, World};
use serde_json::{Value, json};

const KEEPERS: &str = "example.com/v1/zookeepers";
const VOLUMES: &str = "example.com/v1/volumes";

pub(super) const MODEL: Model = Model {
    name: "stale scale",
    source: "pravega/zookeeper-operator 314, of Sieve's, and as instaclustr/cassandra-operator 407: after a scale down and \
             up, a restarted operator reads the lower number from a stale server, and deletes a volume that is in use",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step {
            what: "the user scales down to one",
            take: |cluster| scale(cluster, &json!({ "replicas": 1, "downs": 1 })),
        },
        Step { what: "the user scales up to two", take: |cluster| scale(cluster, &json!({ "replicas": 2 })) },
        Step { what: "the user scales up to three", take: |cluster| scale(cluster, &json!({ "replicas": 3 })) },
    ],
    always: |cluster| {
        let downs = living(cluster, KEEPERS).iter().filter_map(|keeper| keeper["spec"]["downs"].as_u64()).sum::<u64>();
        let deleted = deletions(cluster, "volumes");
        ensure(deleted as u64 <= downs, || {
            format!("{deleted} volumes were deleted, and one member less was wanted {downs} times")
        })
    },
    in_the_end: |cluster| {
        let volumes = living(cluster, VOLUMES).len();
        ensure(volumes == 3, || format!("three members have {volumes} volumes"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("zookeeper", world);
    let keepers = as_client_go(&controller, KEEPERS, "Zookeeper");
    let volumes = as_client_go(&controller, VOLUMES, "Volume");
    controller.reconciles(&keepers).owns(&volumes).run(async |cx, key| {
        let Some(keeper) = keepers.get(&key) else { return Ok(Outcome::Done) };
        keep_volumes(&cx, &volumes, &keeper).await?;
        // The cache has the number of members, and a name tells which volume is too many.
        for volume in volumes.list_in("web").iter().filter(|volume| number(volume) >= replicas(&keeper)) {
            delete_by_name(&cx, &volumes, volume.key()).await?;
        }
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("zookeeper", world);
    let keepers = as_client_go(&controller, KEEPERS, "Zookeeper");
    let volumes = as_client_go(&controller, VOLUMES, "Volume");
    controller.reconciles(&keepers).owns(&volumes).run(async |cx, key| {
        // The volumes are not younger than the number of members, and each is deleted by its uid.
        let known = volumes.list_in("web");
        let Some(keeper) = cx.live().get(&keepers, &key).await? else { return Ok(Outcome::Done) };
        keep_volumes(&cx, &volumes, &keeper).await?;
        for volume in known.iter().filter(|volume| number(volume) >= replicas(&keeper)) {
            cx.delete(volume).await?;
        }
        Ok(Outcome::Done)
    })
}

async fn keep_volumes(cx: &Context, volumes: &InformerHandle<Value>, keeper: &Found<Value>) -> Result<(), Error> {
    for number in 0..replicas(keeper) {
        let key = keeper.key().sibling(&format!("zk-{number}"));
        cx.ensure(volumes, key, &json!({ "spec": { "number": number } })).owned_by(keeper).await?;
    }
    Ok(())
}

fn replicas(keeper: &Value) -> u64 {
    keeper["spec"]["replicas"].as_u64().unwrap_or_default()
}

fn number(volume: &Value) -> u64 {
    volume["spec"]["number"].as_u64().unwrap_or_default()
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Zookeeper", "zookeepers"), ("Volume", "volumes")]);
    cluster.create(object("Zookeeper", "zk", &json!({ "replicas": 2 }))).unwrap();
    cluster
}

fn scale(cluster: &SimulatedCluster, spec: &Value) -> Result<(), listwatch::api::ApiError> {
    cluster.patch(KEEPERS, "web/zk", json!({ "spec": spec })).map(drop)
}
