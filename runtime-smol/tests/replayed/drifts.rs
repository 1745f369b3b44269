//! A changed program whose wish the recorded caches undo again and again.

use super::Tape;
use core::time::Duration;
use listwatch::api::{Api, Patch};
use listwatch::controller::{Controller, DivergenceKind, Findings, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{Resource, World, kind};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::{Arc, Mutex};

#[derive(Clone, Deserialize, Serialize)]
struct Foo {
    #[serde(default)]
    status: Status,
}

/// Its spec has to be there.
#[derive(Clone, Deserialize, Serialize)]
struct Deployment {
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Deserialize, Serialize)]
struct Spec {
    replicas: i32,
}

#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    available_replicas: Option<i32>,
}

kind!(Foo, "samplecontroller.k8s.io/v1alpha1", "foos");
kind!(Deployment, "apps/v1", "deployments");

/// Owns a Deployment of so many replicas, and shows how many are available.
fn sample(world: World, replicas: i32) -> Result<(), RunError> {
    told_sample(world, replicas, |_| {})
}

/// The same, whose reports are told.
fn told_sample(world: World, replicas: i32, tell: impl Fn(String) + Send + Sync + 'static) -> Result<(), RunError> {
    let controller = Controller::new("sample", world);
    let (foos, deployments) = (controller.informer::<Foo>(), controller.informer::<Deployment>());
    controller.reconciles(&foos).owns(&deployments).on_report(move |_, report| tell(report.to_string())).run(
        async |cx, key| {
            let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
            let app = json!({ "app": "web" });
            let spec = json!({ "replicas": replicas, "selector": { "matchLabels": app } });
            let deployment = cx.ensure(&deployments, key.sibling("b"), &json!({ "spec": spec })).owned_by(&foo).await?;
            cx.change_status(&foo, |foo| foo.status = deployment.status.clone()).await?;
            Ok(Outcome::Done)
        },
    )
}

/// Records the controller with two replicas: the Deployment's status changes three times, and its spec drifts once.
fn record(tape: &Tape) -> SimulatedCluster {
    let cluster = SimulatedCluster::new().with_kind_of::<Foo>().with_kind_of::<Deployment>();
    let foo = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": {} });
    cluster.create(foo).unwrap();
    let world = World::from(cluster.clone()).recorded_to(&tape.0).unwrap();
    let (clock, it) = (world.clock().clone(), cluster.clone());
    let life = async move {
        for change in [
            json!({ "status": { "availableReplicas": 1 } }),
            json!({ "status": { "availableReplicas": 2 } }),
            json!({ "spec": { "replicas": 7 } }),
            json!({ "status": { "availableReplicas": 3 } }),
        ] {
            clock.sleep(Duration::from_secs(1)).await;
            it.patch("apps/v1/deployments", "web/b", change).unwrap();
        }
        clock.sleep(Duration::from_secs(10)).await;
    };
    sample(world.until(life), 2).unwrap();
    cluster
}

#[test]
fn repeats_of_a_wish_that_the_tape_undoes_count_as_following() {
    let tape = Tape::named("undone");
    record(&tape);
    let found = diverged(sample(tape.world(), 3));
    let own = (found.missing, found.additional, found.different, found.outcomes);
    assert_eq!(own, (0, 0, 2, 0), "{found}");
    let following = found.divergences.iter().filter(|it| it.follows);
    let count = following.inspect(|it| assert!(matches!(it.kind, DivergenceKind::Additional { .. }), "{it}")).count();
    assert!(count > 2 && found.follows == count as u64, "{found}");
    let told = found.to_string();
    assert!(told.contains(&format!("2 different; 0 other outcomes; {count} more follow from them\n")), "{told}");
}

#[test]
fn a_divergence_is_summed_up_by_the_error_alone() {
    let (tape, told) = (Tape::named("summed-up"), Arc::<Mutex<Vec<String>>>::default());
    record(&tape);
    let lines = Arc::clone(&told);
    diverged(told_sample(tape.world(), 3, move |line| lines.lock().unwrap().push(line)));
    let told = told.lock().unwrap().join("\n");
    assert!(told.contains("reconciles, which differ") && !told.contains("writes are the same"), "{told}");
}

/// Neither an answer nor a cache has a state of the Deployment.
#[test]
fn what_follows_an_answer_made_up_without_a_state_is_no_finding() {
    let (tape, cluster) =
        (Tape::named("unknown"), SimulatedCluster::new().with_kind_of::<Foo>().with_kind_of::<Deployment>());
    cluster
        .create(json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": {} }))
        .unwrap();
    let run = |world: World, patches: bool| {
        let controller = Controller::new("patches", world);
        let foos = controller.informer::<Foo>();
        controller.reconciles(&foos).on_report(|_, _| {}).run(async |cx, _| {
            if patches {
                let api = Api::<Deployment>::new(&Resource::of::<Deployment>().in_namespace("web"));
                let patch = json!({ "metadata": { "labels": { "a": "b" } } });
                cx.call(api.patch("unseen", &Patch::Merge(&patch))).await?;
            }
            Ok(Outcome::Done)
        })
    };
    run(World::from(cluster).recorded_to(&tape.0).unwrap().lasting(Duration::from_secs(5)), false).unwrap();
    let found = diverged(run(tape.world(), true));
    assert_eq!((found.additional, found.outcomes, found.follows), (1, 0, 1), "{found:#?}");
}

fn diverged(ended: Result<(), RunError>) -> Findings {
    let Err(RunError::Diverged(found)) = ended else { panic!("{ended:?}") };
    *found
}

#[test]
fn the_answer_to_a_write_that_the_tape_lacks_keeps_the_status() {
    let tape = Tape::named("drift");
    let cluster = record(&tape);
    assert_eq!(cluster.requests().len(), 5, "{:?}", cluster.requests());
    let found = diverged(sample(tape.world(), 3));
    let of_the_foo = found.divergences.iter().filter(|it| !format!("{}", it.kind).contains("/deployments"));
    assert_eq!(of_the_foo.map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    let different = found.divergences.iter().filter_map(|it| match &it.kind {
        DivergenceKind::Different { fields, .. } => Some(fields.join(", ")),
        _ => None,
    });
    assert_eq!(different.collect::<Vec<_>>(), ["spec.replicas 2 → 3", "spec.replicas 2 → 3"]);
}
