//! A pod gets a second claim, because a small memory has forgotten the first one before the cache shows it.

use super::{Model, Step, count_owned, ensure, living, object, owner_reference, serving};
use listwatch::World;
use listwatch::api::Patch;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;

const PODS: &str = "example.com/v1/devicepods";
const CLAIMS: &str = "example.com/v1/claims";
/// How many of its own creations the program remembers.
const REMEMBERED: usize = 2;

pub(super) const MODEL: Model = Model {
    name: "duplicate claims",
    source: "kubernetes/kubernetes 140221, for its issue 140217: the informer of claims is behind, and the cache of own \
             creations has evicted the claim, so the pod's next event creates another one",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step { what: "the user starts four pods", take: |cluster| start(cluster, ["a", "b", "c", "d"]) },
        Step { what: "the user starts four more", take: |cluster| start(cluster, ["e", "f", "g", "h"]) },
    ],
    always: |cluster| {
        let claims = living(cluster, CLAIMS);
        let has_one = |pod: &Value| count_owned(&claims, pod) <= 1;
        let pods = living(cluster, PODS);
        ensure(pods.iter().all(has_one), || format!("{} pods have {} claims", pods.len(), claims.len()))
    },
    in_the_end: |cluster| {
        let (pods, claims) = (living(cluster, PODS), living(cluster, CLAIMS));
        let is_bound = |pod: &Value| claims.iter().any(|claim| claim["metadata"]["name"] == pod["status"]["claim"]);
        ensure(pods.len() == 8 && pods.iter().all(is_bound), || format!("pods are {pods:?}"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let (controller, made) = (Controller::new("claims", world), Mutex::new(VecDeque::new()));
    let pods = controller.informer_of::<Value>(PODS).with_kind("DevicePod");
    let claims = controller.informer_of::<Value>(CLAIMS).with_kind("Claim");
    controller.reconciles(&pods).owns(&claims).run(async |cx, key| {
        let Some(pod) = pods.get(&key) else { return Ok(Outcome::Done) };
        let is_cached = claims.list_in("web").iter().any(|claim| claim.is_controlled_by(&pod));
        if is_cached || made.lock().unwrap().contains(&key) {
            return Ok(Outcome::Done);
        }
        let mut claim = object("Claim", "", &json!({ "device": "gpu" }));
        let (name, owners) = (format!("{}-gpu-", key.name()), owner_reference(&pod));
        claim["metadata"] = json!({ "generateName": name, "namespace": "web", "ownerReferences": owners });
        let claim = cx.call(claims.api_for::<Value>(&key).create(&claim)).await?;
        {
            let mut made = made.lock().unwrap();
            made.push_front(key);
            made.truncate(REMEMBERED);
        }
        cx.patch_status(&pod, &Patch::Merge(&json!({ "status": { "claim": claim["metadata"]["name"] } }))).await?;
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("claims", world);
    let pods = controller.informer_of::<Value>(PODS).with_kind("DevicePod");
    let claims = controller.informer_of::<Value>(CLAIMS).with_kind("Claim");
    controller.reconciles(&pods).owns(&claims).run(async |cx, key| {
        let Some(pod) = pods.get(&key) else { return Ok(Outcome::Done) };
        // The server refuses a second claim of this name, whatever the cache and the program know.
        let name = key.sibling(&format!("{}-gpu", key.name()));
        let claim = cx.ensure(&claims, &name, &json!({ "spec": { "device": "gpu" } })).owned_by(&pod).await?;
        cx.change_status(&pod, |pod| pod["status"]["claim"] = json!(claim.key().name())).await?;
        Ok(Outcome::Done)
    })
}

pub(crate) fn cluster() -> SimulatedCluster {
    serving(&[("DevicePod", "devicepods"), ("Claim", "claims")])
}

fn start(cluster: &SimulatedCluster, names: [&str; 4]) -> Result<(), listwatch::api::ApiError> {
    names.iter().try_for_each(|name| cluster.create(object("DevicePod", name, &json!({}))).map(drop))
}
