//! A volume never grows, because a crash comes between the deletion of its set and its own change.

use super::{Model, Step, ensure, holds, living, object, serving};
use listwatch::controller::{Context, Controller, Error, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, InformerHandle, World};
use serde_json::{Value, json};

const RABBITS: &str = "example.com/v1/rabbits";
const SETS: &str = "example.com/v1/sets";
const VOLUMES: &str = "example.com/v1/volumes";

pub(super) const MODEL: Model = Model {
    name: "lost resize",
    source: "rabbitmq/cluster-operator 782, of Sieve's: the size of the set tells whether the volume has to grow. A set \
             that was deleted before a crash comes back with the new size, and the volume keeps the old one",
    buggy,
    fixed,
    cluster,
    steps: &[Step {
        what: "the user asks for larger volumes",
        take: |cluster| cluster.patch(RABBITS, "web/rabbit", json!({ "spec": { "storage": 15 } })).map(drop),
    }],
    always: holds,
    in_the_end: |cluster| {
        let sizes = [RABBITS, SETS, VOLUMES].map(|resource| living(cluster, resource).iter().map(storage).collect());
        ensure(sizes.iter().all(|sizes: &Vec<_>| sizes == &[15]), || format!("sizes are {sizes:?}"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("rabbit", world);
    let rabbits = controller.informer_of::<Value>(RABBITS).with_kind("Rabbit");
    let sets = controller.informer_of::<Value>(SETS).with_kind("Set");
    let volumes = controller.informer_of::<Value>(VOLUMES).with_kind("Volume");
    controller.reconciles(&rabbits).owns(&sets).owns(&volumes).run(async |cx, key| {
        let Some(rabbit) = rabbits.get(&key) else { return Ok(Outcome::Done) };
        let volume = keep_volume(&cx, &volumes, &rabbit).await?;
        match sets.get(&key) {
            Some(set) if storage(&set) == storage(&rabbit) => return Ok(Outcome::Done),
            Some(set) => {
                cx.delete(&set).await?;
                cx.change(&volume, |volume| volume["spec"] = rabbit["spec"].clone()).await?;
            }
            None => {}
        }
        create_set(&cx, &sets, &rabbit).await?;
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("rabbit", world);
    let rabbits = controller.informer_of::<Value>(RABBITS).with_kind("Rabbit");
    let sets = controller.informer_of::<Value>(SETS).with_kind("Set");
    let volumes = controller.informer_of::<Value>(VOLUMES).with_kind("Volume");
    controller.reconciles(&rabbits).owns(&sets).owns(&volumes).run(async |cx, key| {
        let Some(rabbit) = rabbits.get(&key) else { return Ok(Outcome::Done) };
        let volume = keep_volume(&cx, &volumes, &rabbit).await?;
        // The volume's own size tells whether it has to grow, and it grows first. It never shrinks.
        let grown = |volume: &mut Value| {
            volume["spec"]["storage"] = json!(storage(volume).max(storage(&rabbit)));
        };
        cx.change(&volume, grown).await?;
        match sets.get(&key) {
            Some(set) if storage(&set) >= storage(&rabbit) => return Ok(Outcome::Done),
            Some(set) => cx.delete(&set).await?,
            None => {}
        }
        create_set(&cx, &sets, &rabbit).await?;
        Ok(Outcome::Done)
    })
}

/// The volume; a new one has the size that is wanted.
async fn keep_volume(
    cx: &Context,
    volumes: &InformerHandle<Value>,
    rabbit: &Found<Value>,
) -> Result<Found<Value>, Error> {
    match volumes.get(rabbit.key()) {
        Some(volume) => Ok(volume),
        None => Ok(cx.create(volumes, rabbit.key(), &json!({ "spec": rabbit["spec"] })).owned_by(rabbit).await?),
    }
}

async fn create_set(cx: &Context, sets: &InformerHandle<Value>, rabbit: &Found<Value>) -> Result<(), Error> {
    cx.create(sets, rabbit.key(), &json!({ "spec": rabbit["spec"] })).owned_by(rabbit).await?;
    Ok(())
}

fn storage(object: &Value) -> u64 {
    object["spec"]["storage"].as_u64().unwrap_or_default()
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Rabbit", "rabbits"), ("Set", "sets"), ("Volume", "volumes")]);
    cluster.create(object("Rabbit", "rabbit", &json!({ "storage": 10 }))).unwrap();
    cluster
}
