//! An object stays for ever, because a filter of events ignores the begin of its deletion.

use super::{Model, Step, ensure, holds, object, serving};
use core::time::Duration;
use listwatch::controller::{Controller, Outcome, RunError, Source, predicate};
use listwatch::object::Object;
use listwatch::testing::SimulatedCluster;
use listwatch::{Found, World};
use serde_json::{Value, json};

const SERVERS: &str = "example.com/v1/prometheuses";
const WORKLOADS: &str = "example.com/v1/workloads";
const FINALIZER: &str = "example.com/status-cleanup";

pub(super) const MODEL: Model = Model {
    name: "filtered deletion",
    source: "prometheus-operator/prometheus-operator 8727: an update counts if spec, labels or annotations change, so \
             nothing cleans up when the deletion begins, unless another event wakes the key afterwards",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step {
            what: "the user asks for another version",
            take: |cluster| cluster.patch(SERVERS, "web/main", json!({ "spec": { "version": 2 } })).map(drop),
        },
        Step {
            what: "the user deletes the Prometheus and its workload",
            take: |cluster| {
                let delete = |resource| match cluster.delete(resource, "web/main") {
                    Err(error) if error.is_not_found() => Ok(()),
                    deleted => deleted,
                };
                delete(SERVERS)?;
                delete(WORKLOADS)
            },
        },
    ],
    always: holds,
    in_the_end: |cluster| {
        let left = [SERVERS, WORKLOADS].map(|resource| cluster.list(resource).unwrap_or_default());
        ensure(left.iter().all(Vec::is_empty), || format!("still there: {left:?}"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    operate(world, is_changed)
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    operate(world, predicate::or(is_changed, is_deleted))
}

/// Whether the spec, the labels or the annotations change.
fn is_changed(old: &Object<Value>, new: &Object<Value>) -> bool {
    let watched = ["/spec", "/metadata/labels", "/metadata/annotations", "/metadata/uid"];
    watched.iter().any(|place| old.value.pointer(place) != new.value.pointer(place))
}

/// Whether the deletion begins.
fn is_deleted(old: &Object<Value>, new: &Object<Value>) -> bool {
    old.meta.deletion_timestamp().is_none() && new.meta.deletion_timestamp().is_some()
}

fn operate(
    world: World,
    counts: impl Fn(&Object<Value>, &Object<Value>) -> bool + Send + 'static,
) -> Result<(), RunError> {
    let controller = Controller::new("prometheus", world);
    let servers = controller.informer_of::<Value>(SERVERS).with_kind("Prometheus");
    let workloads = controller.informer_of::<Value>(WORKLOADS).with_kind("Workload");
    let reconciler = controller.reconciles(Source::from(&servers).when(counts)).owns(&workloads);
    let (quiet, longest) = (Duration::from_millis(20), Duration::from_secs(1));
    reconciler.debounce(quiet, longest).run(async |cx, key| {
        let Some(server) = servers.get(&key) else { return Ok(Outcome::Done) };
        let clean_up = async |server: &Found<Value>| {
            for workload in workloads.list_in("web").iter().filter(|workload| workload.is_controlled_by(server)) {
                cx.delete(workload).await?;
            }
            Ok(())
        };
        let Some(server) = cx.finalizer(&server, FINALIZER, clean_up).await? else { return Ok(Outcome::Done) };
        let wanted = json!({ "spec": { "version": server["spec"]["version"] } });
        cx.ensure(&workloads, &key, &wanted).owned_by(&server).await?;
        Ok(Outcome::Done)
    })
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Prometheus", "prometheuses"), ("Workload", "workloads")]);
    cluster.create(object("Prometheus", "main", &json!({ "version": 1 }))).unwrap();
    cluster
}
