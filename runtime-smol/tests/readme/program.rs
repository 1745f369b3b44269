use listwatch::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is kept of an object. A change leaves the rest of it as it is.
#[derive(Clone, Serialize, Deserialize)]
struct Object<S> {
    spec: S,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    deployment_name: String,
    replicas: i32,
}

#[derive(Clone, Serialize, Deserialize)]
struct DeploymentSpec {
    replicas: Option<i32>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    available_replicas: Option<i32>,
}

type Foo = Object<FooSpec>;
type Deployment = Object<DeploymentSpec>;

kind!(Foo, "samplecontroller.k8s.io/v1alpha1", "foos");
kind!(Deployment, "apps/v1", "deployments");

fn sample(world: impl Into<World>) -> Result<(), RunError> {
    let controller = Controller::new("sample-controller", world);
    let foos = controller.informer::<Foo>();
    let deployments = controller.informer::<Deployment>();
    controller.reconciles(&foos).owns(&deployments).workers(8).run(async |cx, key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        let name = key.sibling(&foo.spec.deployment_name);
        let ensured = cx.ensure(&deployments, name, &deployment_of(&foo)).owned_by(&foo).await;
        if let Err(ActError::NotControlled { key, .. }) = &ensured {
            let note = format!("Resource {:?} already exists and is not managed by Foo", key.name());
            cx.warning_event(&foo, "ErrResourceExists", &note);
        }
        let deployment = ensured?;
        cx.change_status(&foo, |foo| foo.status = deployment.status.clone()).await?;
        cx.event(&foo, "Synced", "Foo synced successfully");
        Ok(Outcome::Done)
    })
}

fn deployment_of(foo: &Found<Foo>) -> Value {
    let app = json!({ "app": foo.meta().name() });
    let pod = json!({ "metadata": { "labels": app }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } });
    json!({ "spec": { "replicas": foo.spec.replicas, "selector": { "matchLabels": app }, "template": pod } })
}

fn main() -> Result<(), RunError> {
    match std::env::args().nth(1) {
        None => sample(Cluster::infer()?),
        Some(tape) => sample(Playback::from_file(tape)?),
    }
}

#[test]
fn a_foo_gets_a_deployment() -> Result<(), Box<dyn std::error::Error>> {
    use listwatch::testing::SimulatedCluster;

    let cluster = SimulatedCluster::new();
    cluster.create(json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": { "deploymentName": "b", "replicas": 2 } }))?;
    let world = World::from(cluster.clone()).lasting(std::time::Duration::from_secs(60));
    sample(world.on_report_line(|line| println!("{line}")))?;
    assert_eq!(cluster.requests()[0], "POST /apis/apps/v1/namespaces/web/deployments 201");
    assert_eq!(cluster.object::<Deployment>("web/b")?.spec.replicas, Some(2));
    assert_eq!(cluster.list("events.k8s.io/v1/events")?[0]["reason"], "Synced");
    Ok(())
}

#[test]
fn a_deployment_follows_its_foo() -> Result<(), Box<dyn std::error::Error>> {
    use listwatch::testing::{Fault, SimulatedCluster};

    const FOOS: &str = "samplecontroller.k8s.io/v1alpha1/foos";
    const DEPLOYMENTS: &str = "apps/v1/deployments";
    let cluster = SimulatedCluster::new();
    cluster.create(json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": { "deploymentName": "b", "replicas": 2 } }))?;
    let world = World::from(cluster.clone());
    let (it, clock) = (cluster.clone(), world.clock().clone());
    sample(world.try_until(async move {
        let replicas = || it.object::<Deployment>("web/b").map(|deployment| deployment.spec.replicas);
        let settled = || clock.sleep(std::time::Duration::from_secs(1));
        settled().await;
        it.fail_next("PATCH /apis/apps/v1/namespaces/web/deployments/b", Fault::Refused(409))?;
        it.patch(FOOS, "web/a", json!({ "spec": { "replicas": 3 } }))?;
        settled().await;
        assert_eq!((replicas()?, it.faults_left().len()), (Some(3), 0));
        it.patch(DEPLOYMENTS, "web/b", json!({ "spec": { "replicas": 9 } }))?;
        settled().await;
        assert_eq!(replicas()?, Some(3));
        it.delete(FOOS, "web/a")?;
        settled().await;
        Ok(())
    }))?;
    assert!(cluster.list(DEPLOYMENTS)?.is_empty(), "the garbage collector deletes what a Foo owns");
    Ok(())
}

#[test]
fn a_change_of_the_program_shows_in_the_replay() -> Result<(), Box<dyn std::error::Error>> {
    use listwatch::testing::SimulatedCluster;

    let tape = std::env::temp_dir().join(format!("tonight-{}.jsonl.zst", std::process::id()));
    let cluster = SimulatedCluster::new();
    cluster.create(json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": { "deploymentName": "b", "replicas": 2 } }))?;
    sample(World::from(cluster).lasting(std::time::Duration::from_secs(60)).recorded_to(&tape)?)?;
    sample(Playback::from_file(&tape)?)?;

    let controller = Controller::new("sample-controller", Playback::from_file(&tape)?);
    let (foos, deployments) = (controller.informer::<Foo>(), controller.informer::<Deployment>());
    let changed = controller.reconciles(&foos).owns(&deployments).run(async |cx, key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        let mut three = deployment_of(&foo);
        three["spec"]["replicas"] = 3.into();
        let name = key.sibling(&foo.spec.deployment_name);
        cx.ensure(&deployments, name, &three).owned_by(&foo).await?;
        Ok(Outcome::Done)
    });
    let Err(RunError::Diverged(found)) = changed else { panic!("{changed:?}") };
    let first = found.divergences[0].to_string();
    assert!(first.starts_with("reconcile 1 of sample-controller, web/a"), "{first}");
    assert!(first.ends_with("spec.replicas 2 → 3"), "{first}");
    std::fs::remove_file(tape)?;
    Ok(())
}
