//! The sample controller: it keeps a Deployment for each Foo.

use listwatch_core::{Resource, kind};
use listwatch_runtime_smol::api::{Api, ConflictRetry, Patch};
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
        let namespace = key.namespace().unwrap_or_default();
        let api = Api::<Deployment>::new(&Resource::of::<Deployment>().in_namespace(namespace));
        let status = match deployments.get(&name) {
            None => cx.write(&deployments, api.create(&deployment_of(&foo))).await?.status,
            Some(other) if !other.is_controlled_by(&foo) => {
                cx.warn(&foo, "ErrResourceExists", "the Deployment is not managed by this Foo");
                return Ok(Outcome::Retry);
            }
            Some(mut own) => {
                let mut retry = ConflictRetry::new(1);
                loop {
                    if own.spec.replicas == Some(foo.spec.replicas) {
                        break own.status.clone();
                    }
                    let metadata = json!({ "resourceVersion": own.meta().resource_version() });
                    let change = json!({ "metadata": metadata, "spec": { "replicas": foo.spec.replicas } });
                    match cx.write(&deployments, api.patch(name.name(), &Patch::Merge(&change))).await {
                        Ok(changed) => break changed.status,
                        Err(error) => cx.clock().sleep(retry.again(&error).ok_or(error)?).await,
                    }
                    let Some(newest) = cx.live().get(&deployments, &name).await? else { return Ok(Outcome::Retry) };
                    own = newest;
                }
            }
        };
        if status != foo.status {
            let api = Api::<Value>::new(&Resource::of::<Foo>().in_namespace(namespace));
            let change = json!({ "metadata": { "resourceVersion": foo.meta().resource_version() }, "status": status });
            cx.write(&foos, api.status().patch(key.name(), &Patch::Merge(&change))).await?;
        }
        Ok(Outcome::Done)
    })
}

fn deployment_of(foo: &Found<Foo>) -> Value {
    let app = json!({ "app": foo.meta().name() });
    let pod = json!({ "metadata": { "labels": app }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } });
    let owner = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "name": foo.meta().name(),
        "uid": foo.meta().uid().unwrap().to_string(), "controller": true, "blockOwnerDeletion": true });
    json!({ "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": foo.spec.deployment_name, "namespace": foo.meta().namespace(), "ownerReferences": [owner] },
        "spec": { "replicas": foo.spec.replicas, "selector": { "matchLabels": app }, "template": pod } })
}
