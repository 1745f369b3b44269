//! Kubernetes' sample controller with kube-rs: a Foo owns a Deployment. `tests/peers/lines` counts its lines.

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "samplecontroller.k8s.io", version = "v1alpha1", kind = "Foo", namespaced, status = "FooStatus")]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    deployment_name: String,
    replicas: i32,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct FooStatus {
    available_replicas: i32,
}

struct Context {
    client: Client,
    recorder: Recorder,
}

async fn reconcile(foo: Arc<Foo>, cx: Arc<Context>) -> Result<Action, kube::Error> {
    let namespace = foo.namespace().unwrap_or_default();
    let deployments = Api::<Deployment>::namespaced(cx.client.clone(), &namespace);
    let name = &foo.spec.deployment_name;
    let deployment = match deployments.get_opt(name).await? {
        None => deployments.create(&PostParams::default(), &deployment_of(&foo)).await?,
        Some(other) if !is_controlled_by(&other, &foo) => {
            let warning = Event {
                type_: EventType::Warning,
                reason: "ErrResourceExists".into(),
                note: Some(format!("the Deployment {name} is not managed by this Foo")),
                action: "Sync".into(),
                secondary: None,
            };
            cx.recorder.publish(&warning, &foo.object_ref(&())).await?;
            return Ok(Action::requeue(Duration::from_secs(5)));
        }
        Some(own) if own.spec.replicas != Some(foo.spec.replicas) => {
            let scaled = json!({ "spec": { "replicas": foo.spec.replicas } });
            deployments.patch(name, &PatchParams::default(), &Patch::Merge(scaled)).await?
        }
        Some(own) => own,
    };
    let available = deployment.status.and_then(|status| status.available_replicas).unwrap_or_default();
    let status = FooStatus { available_replicas: available };
    if foo.status.as_ref() != Some(&status) {
        let foos = Api::<Foo>::namespaced(cx.client.clone(), &namespace);
        let patch = Patch::Merge(json!({ "status": status }));
        foos.patch_status(&foo.name_any(), &PatchParams::default(), &patch).await?;
    }
    Ok(Action::requeue(Duration::from_secs(3600)))
}

fn is_controlled_by(deployment: &Deployment, foo: &Foo) -> bool {
    let mut owners = deployment.owner_references().iter();
    owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == foo.metadata.uid.as_ref())
}

fn deployment_of(foo: &Foo) -> Deployment {
    let app = json!({ "app": foo.name_any() });
    let pod = json!({ "metadata": { "labels": app }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } });
    let spec = json!({ "replicas": foo.spec.replicas, "selector": { "matchLabels": app }, "template": pod });
    let metadata = json!({ "name": foo.spec.deployment_name, "ownerReferences": [foo.controller_owner_ref(&())] });
    serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).expect("it is a valid Deployment")
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    let client = Client::try_default().await?;
    let context =
        Context { client: client.clone(), recorder: Recorder::new(client.clone(), "sample-controller".into()) };
    Controller::new(Api::<Foo>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client), watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(context))
        .for_each(async |done| done.map_or_else(|error| eprintln!("{error}"), drop))
        .await;
    Ok(())
}
