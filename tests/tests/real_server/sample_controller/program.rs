//! The sample controller: it keeps a Deployment for each Foo.

use listwatch_core::kind;
use listwatch_runtime_smol::controller::{Controller, Outcome, Reconciler, Running};
use listwatch_runtime_smol::{Found, World};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, Serialize, Clone)]
pub(crate) struct Foo {
    spec: FooSpec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Serialize, Clone)]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    deployment_name: String,
    replicas: i32,
}

#[derive(Deserialize, Serialize, Clone)]
struct Deployment {
    spec: DeploymentSpec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Serialize, Clone)]
struct DeploymentSpec {
    replicas: Option<i32>,
}

#[derive(Deserialize, Serialize, Clone, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    available_replicas: i32,
}

kind!(Foo, "samplecontroller.k8s.io/v1alpha1", "foos");
kind!(Deployment, "apps/v1", "deployments");

pub(crate) fn sample(
    world: impl Into<World>,
    configure: impl FnOnce(Reconciler<Foo>) -> Reconciler<Foo>,
) -> Running<'static> {
    let controller = Controller::new("sample-controller", world);
    let foos = controller.informer::<Foo>();
    let deployments = controller.informer::<Deployment>();
    configure(controller.reconciles(&foos).owns(&deployments)).calls(async move |cx, key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        let name = key.sibling(&foo.spec.deployment_name);
        let deployment = match deployments.get(&name) {
            None => cx.create(&deployments, &name, &deployment_of(&foo)).owned_by(&foo).await?,
            Some(other) if !other.is_controlled_by(&foo) => {
                cx.warn(&foo, "ErrResourceExists", "the Deployment is not managed by this Foo");
                return Ok(Outcome::Retry);
            }
            Some(own) => cx.change(&own, |it| it.spec.replicas = Some(foo.spec.replicas)).await?,
        };
        cx.change_status(&foo, |foo| foo.status = deployment.status.clone()).await?;
        Ok(Outcome::Done)
    })
}

fn deployment_of(foo: &Found<Foo>) -> Value {
    let app = json!({ "app": foo.meta().name() });
    let pod = json!({ "metadata": { "labels": app }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } });
    json!({ "spec": { "replicas": foo.spec.replicas, "selector": { "matchLabels": app }, "template": pod } })
}
