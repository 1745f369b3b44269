//! Kubernetes' sample-controller: each Foo owns a Deployment of its replicas, and shows in its status how many are
//! available. Its Events say what it did, or that another's Deployment has the name.
//!
//! Without an argument it runs on the cluster of `$KUBECONFIG`, `~/.kube/config` or its pod, until SIGTERM or Ctrl-C.
//! With the path of a recording, it plays that one. `deploy` has its CRD, its image and its manifests.
//!
//! ```sh
//! kubectl apply -f runtime-smol/examples/deploy/crd.yaml
//! kubectl wait --for=condition=Established crd/foos.samplecontroller.k8s.io
//! kubectl apply -f runtime-smol/examples/deploy/foo.yaml
//! cargo run -p listwatch --example sample-controller
//! ```

use listwatch::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is kept of an object. A change leaves the rest of it as it is.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Object<S> {
    spec: S,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FooSpec {
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

pub(crate) type Foo = Object<FooSpec>;
type Deployment = Object<DeploymentSpec>;

kind!(Foo, "samplecontroller.k8s.io/v1alpha1", "foos");
kind!(Deployment, "apps/v1", "deployments");

pub(crate) fn sample(world: impl Into<World>) -> Result<(), RunError> {
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
