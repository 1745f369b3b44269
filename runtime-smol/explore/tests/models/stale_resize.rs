//! A set is deleted because a stale server has the size that was wanted before.

use super::{Model, Step, as_client_go, ensure, is_stored, living, object, serving};
use listwatch::World;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use serde_json::{Value, json};

const RABBITS: &str = "example.com/v1/rabbits";
const SETS: &str = "example.com/v1/sets";

pub(super) const MODEL: Model = Model {
    name: "stale resize",
    source: "rabbitmq/cluster-operator 653, of Sieve's: a restarted operator reads the earlier size from a stale server, \
             takes any difference for a growth, and deletes the set",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step {
            what: "the user asks for larger volumes",
            take: |cluster| cluster.patch(RABBITS, "web/rabbit", json!({ "spec": { "storage": 15 } })).map(drop),
        },
        Step {
            what: "the user asks for another replica",
            take: |cluster| cluster.patch(RABBITS, "web/rabbit", json!({ "spec": { "replicas": 2 } })).map(drop),
        },
    ],
    always,
    in_the_end: |cluster| {
        let sets = living(cluster, SETS);
        let is_right = sets.len() == 1 && storage(&sets[0]) == 15 && sets[0]["spec"]["replicas"] == 2;
        ensure(is_right, || format!("sets are {sets:?}"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("rabbit", world);
    let rabbits = as_client_go(&controller, RABBITS, "Rabbit");
    let sets = as_client_go(&controller, SETS, "Set");
    controller.reconciles(&rabbits).owns(&sets).run(async |cx, key| {
        let Some(rabbit) = rabbits.get(&key) else { return Ok(Outcome::Done) };
        if let Some(set) = sets.get(&key)
            && storage(&set) != storage(&rabbit)
        {
            // Dependents that have this size need a new set.
            cx.delete(&set).await?;
        }
        cx.ensure(&sets, &key, &json!({ "spec": rabbit["spec"] })).owned_by(&rabbit).await?;
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("rabbit", world);
    let rabbits = as_client_go(&controller, RABBITS, "Rabbit");
    let sets = as_client_go(&controller, SETS, "Set");
    controller.reconciles(&rabbits).owns(&sets).run(async |cx, key| {
        // The server says what is wanted, and a set never shrinks.
        let Some(rabbit) = cx.live().get(&rabbits, &key).await? else { return Ok(Outcome::Done) };
        let set = match sets.get(&key) {
            Some(set) if storage(&set) < storage(&rabbit) => {
                cx.delete(&set).await?;
                return Ok(Outcome::Done);
            }
            Some(set) => set,
            None => cx.create(&sets, &key, &json!({ "spec": rabbit["spec"] })).owned_by(&rabbit).await?,
        };
        cx.change(&set, |set| set["spec"]["replicas"] = rabbit["spec"]["replicas"].clone()).await?;
        Ok(Outcome::Done)
    })
}

/// The program deletes no set that has the largest size that was ever wanted.
fn always(cluster: &SimulatedCluster) -> Result<(), String> {
    let mut size = 0;
    for request in cluster.requests().iter().filter(|request| request.path.contains("/sets")) {
        let deleted = is_stored(request, "DELETE");
        ensure(!deleted || size < 15, || "a set was deleted that had the size that is wanted".to_owned())?;
        if is_stored(request, "POST") || is_stored(request, "PATCH") && storage(&request.body) > 0 {
            size = storage(&request.body);
        }
    }
    Ok(())
}

fn storage(object: &Value) -> u64 {
    object["spec"]["storage"].as_u64().unwrap_or_default()
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Rabbit", "rabbits"), ("Set", "sets")]);
    cluster.create(object("Rabbit", "rabbit", &json!({ "storage": 10, "replicas": 1 }))).unwrap();
    cluster
}
