//! One owner gets several sets, because each reconcile creates one that the cache does not show yet.

use super::{Model, Step, count_owned, ensure, living, object, owner_reference, serving};
use core::time::Duration;
use listwatch::World;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use serde_json::{Value, json};

const DEPLOYMENTS: &str = "example.com/v1/machinedeployments";
const SETS: &str = "example.com/v1/machinesets";

pub(super) const MODEL: Model = Model {
    name: "duplicate sets",
    source: "kubernetes-sigs/cluster-api 13649: the wait for the cache ends before the new MachineSet is in it, so the \
             next reconcile creates another one, under another generated name",
    buggy,
    fixed,
    cluster,
    steps: &[Step {
        what: "the user asks for three machines",
        take: |cluster| cluster.patch(DEPLOYMENTS, "web/workers", json!({ "spec": { "replicas": 3 } })).map(drop),
    }],
    always: |cluster| {
        let sets = living(cluster, SETS);
        let has_one = |deployment: &Value| count_owned(&sets, deployment) <= 1;
        ensure(living(cluster, DEPLOYMENTS).iter().all(has_one), || format!("one owner has {} sets", sets.len()))
    },
    in_the_end: |cluster| {
        let sets = living(cluster, SETS);
        ensure(sets.len() == 1 && sets[0]["spec"]["replicas"] == 3, || format!("sets are {sets:?}"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("machines", world);
    let deployments = controller.informer_of::<Value>(DEPLOYMENTS).with_kind("MachineDeployment");
    let sets = controller.informer_of::<Value>(SETS).with_kind("MachineSet");
    let reconciler = controller.reconciles(&deployments).owns(&sets).await_writes(Duration::from_secs(1));
    reconciler.run(async |cx, key| {
        let Some(deployment) = deployments.get(&key) else { return Ok(Outcome::Done) };
        let replicas = &deployment["spec"]["replicas"];
        // What the cache does not show does not exist.
        if let Some(set) = sets.list_in("web").iter().find(|set| set.is_controlled_by(&deployment)) {
            cx.change(set, |set| set["spec"]["replicas"] = replicas.clone()).await?;
        } else {
            let mut set = object("MachineSet", "", &json!({ "replicas": replicas }));
            let (name, owners) = (format!("{}-", key.name()), owner_reference(&deployment));
            set["metadata"] = json!({ "generateName": name, "namespace": "web", "ownerReferences": owners });
            cx.write(&sets, sets.api_for::<Value>(&key).create(&set)).await?;
        }
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("machines", world);
    let deployments = controller.informer_of::<Value>(DEPLOYMENTS).with_kind("MachineDeployment");
    let sets = controller.informer_of::<Value>(SETS).with_kind("MachineSet");
    let reconciler = controller.reconciles(&deployments).owns(&sets).await_writes(Duration::from_secs(1));
    reconciler.run(async |cx, key| {
        let Some(deployment) = deployments.get(&key) else { return Ok(Outcome::Done) };
        // The template gives the name, so the server refuses a second set of it.
        let template = deployment["spec"]["template"].as_str().unwrap_or_default();
        let name = key.sibling(&format!("{}-{template}", key.name()));
        let wanted = json!({ "spec": { "replicas": deployment["spec"]["replicas"] } });
        cx.ensure(&sets, name, &wanted).owned_by(&deployment).await?;
        Ok(Outcome::Done)
    })
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("MachineDeployment", "machinedeployments"), ("MachineSet", "machinesets")]);
    cluster.create(object("MachineDeployment", "workers", &json!({ "replicas": 2, "template": "v1" }))).unwrap();
    cluster
}
