//! A replica of the sample controller.
//!
//! It is the example with an election, and its informers can be asked. The example has no election, and keeps its informers
//! to itself.

use super::process::{answer, state_of};
use listwatch::controller::{ActError, Controller, Outcome, RunError};
use listwatch::election::{Election, WhenLost};
use listwatch::{Found, World, kind};
use listwatch_transport_http::ClusterOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

pub(super) const TEST: &str = "real_server::hard_day::replica::the_process_of_a_replica";
/// Says in a child which replica it is: its identity, and whether it is a candidate again after a loss.
pub(super) const REPLICA: &str = "LISTWATCH_REPLICA";
pub(super) const LEASE: &str = "sample-controller";
/// For how long a leader that cannot renew leads.
pub(super) const DEADLINE: Duration = Duration::from_secs(4);

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

fn sample(world: World, election: Election) -> Result<(), RunError> {
    let (end, ended) = smol::channel::bounded::<()>(1);
    let world = world.until(async move { _ = ended.recv().await });
    let controller = Controller::new("sample-controller", world);
    let foos = controller.informer::<Foo>();
    let deployments = controller.informer::<Deployment>();
    let caches = (foos.clone(), deployments.clone());
    thread::spawn(move || {
        answer(|| {
            [("foos", state_of(caches.0.store())), ("deployments", state_of(caches.1.store()))]
                .map(|(name, state)| (name.to_owned(), state))
                .into()
        });
        drop(end);
    });
    controller.reconciles(&foos).owns(&deployments).workers(8).lead_by(election).run(async |cx, key| {
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

/// In a child, this is a replica.
#[test]
fn the_process_of_a_replica() {
    let Ok(replica) = std::env::var(REPLICA) else { return };
    let (identity, is_steady) = replica.strip_suffix(" steady").map_or((&*replica, false), |identity| (identity, true));
    let cluster = ClusterOptions::new().impersonate(identity).kubeconfig(std::env::var("KUBECONFIG").unwrap()).unwrap();
    let election = Election::new(LEASE).namespace(super::NAMESPACE).identity(identity);
    let election = election.lease_duration(Duration::from_secs(6)).renew_deadline(DEADLINE);
    let election = election.retry_period(Duration::from_millis(500)).request_timeout(Duration::from_secs(1));
    let election = election.when_lost(if is_steady { WhenLost::Rejoin } else { WhenLost::End });
    std::process::exit(match sample(World::from(cluster), election) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("Error of {identity}: {error}");
            1
        }
    });
}
