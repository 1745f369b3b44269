//! A volume is deleted after a restart onto a server that still has the deletion of an earlier namesake.

use super::{Model, Step, as_client_go, delete_by_name, ensure, is_owned, is_stored, living, object, serving};
use listwatch::api::Patch;
use listwatch::controller::{Context, Controller, Error, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, InformerHandle, World};
use serde_json::{Value, json};

const CENTERS: &str = "example.com/v1/datacenters";
const VOLUMES: &str = "example.com/v1/volumes";
const FINALIZER: &str = "example.com/volumes";

pub(super) const MODEL: Model = Model {
    name: "stale deletion",
    source: "instaclustr/cassandra-operator 402 and 407, also datastax/cass-operator 412: a restarted operator reads the \
             deletion of a datacenter from a stale server, and deletes the volumes of its namesake by their names",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step { what: "the user deletes the datacenter", take: |cluster| cluster.delete(CENTERS, "web/dc") },
        Step { what: "the user creates it again", take: |cluster| cluster.create(center()).map(drop) },
    ],
    always: |cluster| living(cluster, CENTERS).iter().try_for_each(|center| keeps_its_volume(cluster, center)),
    in_the_end,
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("cassandra", world);
    let centers = as_client_go(&controller, CENTERS, "Datacenter");
    let volumes = as_client_go(&controller, VOLUMES, "Volume");
    controller.reconciles(&centers).owns(&volumes).run(async |cx, key| {
        let Some(center) = centers.get(&key) else { return Ok(Outcome::Done) };
        if center.is_terminating() {
            // The cache says that it is deleted, and the name says which volume is its own.
            delete_by_name(&cx, &volumes, &key.sibling(&format!("{}-data", key.name()))).await?;
            let metadata = json!({ "finalizers": null, "resourceVersion": center.meta().resource_version() });
            cx.patch(&center, &Patch::Merge(&json!({ "metadata": metadata }))).await?;
        } else {
            keep_volume(&cx, &volumes, &center).await?;
        }
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("cassandra", world);
    let centers = as_client_go(&controller, CENTERS, "Datacenter");
    let volumes = as_client_go(&controller, VOLUMES, "Volume");
    controller.reconciles(&centers).owns(&volumes).run(async |cx, key| {
        let Some(center) = centers.get(&key) else { return Ok(Outcome::Done) };
        // The server says that this very datacenter is deleted, and the owner says which volumes are its own.
        let clean_up = async |center: &Found<Value>| {
            for volume in volumes.list_in("web").iter().filter(|volume| volume.is_controlled_by(center)) {
                cx.delete(volume).await?;
            }
            Ok(())
        };
        let Some(center) = cx.finalizer(&center, FINALIZER, clean_up).await? else { return Ok(Outcome::Done) };
        keep_volume(&cx, &volumes, &center).await?;
        Ok(Outcome::Done)
    })
}

async fn keep_volume(cx: &Context, volumes: &InformerHandle<Value>, center: &Found<Value>) -> Result<(), Error> {
    let key = center.key().sibling(&format!("{}-data", center.key().name()));
    let wanted = json!({ "spec": { "size": center["spec"]["size"] } });
    cx.ensure(volumes, key, &wanted).owned_by(center).await?;
    Ok(())
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Datacenter", "datacenters"), ("Volume", "volumes")]);
    cluster.create(center()).unwrap();
    cluster
}

/// A datacenter, which admission has given its finalizer.
fn center() -> Value {
    let mut center = object("Datacenter", "dc", &json!({ "size": 10 }));
    center["metadata"]["finalizers"] = json!([FINALIZER]);
    center
}

/// The program deletes no volume that it has created for a datacenter that lives.
fn keeps_its_volume(cluster: &SimulatedCluster, center: &Value) -> Result<(), String> {
    let requests = cluster.requests();
    let created = requests.iter().position(|request| is_stored(request, "POST") && is_owned(&request.body, center));
    let after = requests.iter().skip(created.unwrap_or(requests.len()));
    let is_deletion = |path: &str| path.ends_with("/volumes/dc-data");
    let deleted = after.into_iter().any(|request| is_stored(request, "DELETE") && is_deletion(&request.path));
    ensure(!deleted, || "the volume of a datacenter that lives was deleted".to_owned())
}

fn in_the_end(cluster: &SimulatedCluster) -> Result<(), String> {
    let volumes = living(cluster, VOLUMES);
    let of = |center: &Value| volumes.iter().any(|volume| is_owned(volume, center) && volume["spec"]["size"] == 10);
    ensure(volumes.len() == 1 && living(cluster, CENTERS).iter().all(of), || format!("volumes are {volumes:?}"))
}
