//! Public bugs of operators: each a small controller with the mechanism of the report, beside one without the bug.
//!
//! Undisturbed, both versions come to the same right end. A crash, a stale cache, a lost answer or a second replica brings
//! the first one to another, and must not bring the second one there.

mod duplicate_claims;
mod duplicate_sets;
mod evicted_master;
mod filtered_deletion;
mod interrupted_decommission;
mod lost_resize;
mod missing_certificate;
mod old_leader;
mod second_disruption;
mod stale_deletion;
mod stale_resize;
mod stale_scale;
mod status_loop;

use core::time::Duration;
use listwatch::api::{ApiError, DeleteOptions};
use listwatch::controller::{Context, Controller, RunError};
use listwatch::reflector::Consistency;
use listwatch::testing::{ClientOutcome, ClientRequest, SimulatedCluster};
use listwatch::{Found, InformerConfig, InformerHandle, Key, Resource, World};
use serde_json::{Value, json};

/// A bug, and what shows it.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    /// The report, and its mechanism.
    pub(crate) source: &'static str,
    pub(crate) buggy: Program,
    pub(crate) fixed: Program,
    /// The cluster before the program starts.
    pub(crate) cluster: fn() -> SimulatedCluster,
    /// What users and nodes do, each step once the program has settled.
    pub(crate) steps: &'static [Step],
    /// What is true after each write.
    pub(crate) always: Invariant,
    /// What is true once the program has settled after the last step.
    pub(crate) in_the_end: Invariant,
}

pub(crate) type Program = fn(World) -> Result<(), RunError>;
pub(crate) type Invariant = fn(&SimulatedCluster) -> Result<(), String>;

/// What a user or a node does.
pub(crate) struct Step {
    pub(crate) what: &'static str,
    /// It fails if the cluster is not ready for it.
    pub(crate) take: fn(&SimulatedCluster) -> Result<(), ApiError>,
}

pub(crate) const MODELS: [Model; 13] = [
    stale_deletion::MODEL,
    duplicate_sets::MODEL,
    second_disruption::MODEL,
    old_leader::MODEL,
    evicted_master::MODEL,
    status_loop::MODEL,
    filtered_deletion::MODEL,
    duplicate_claims::MODEL,
    lost_resize::MODEL,
    stale_resize::MODEL,
    stale_scale::MODEL,
    interrupted_decommission::MODEL,
    missing_certificate::MODEL,
];

/// A cluster that serves these kinds of `example.com/v1`, each with its plural.
fn serving(kinds: &[(&str, &str)]) -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    kinds.iter().fold(cluster, |cluster, (kind, plural)| cluster.with_kind("example.com/v1", kind, plural, true))
}

/// An object of a user, in the namespace `web`.
fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": kind, "metadata": { "name": name, "namespace": "web" }, "spec": spec })
}

/// An informer that begins as one of client-go does: with any state that its server has.
fn as_client_go(controller: &Controller, resource: &str, kind: &str) -> InformerHandle<Value> {
    let mut config = InformerConfig::default();
    config.reflector.consistency = Consistency::Any;
    controller.informers().informer_with(Resource::named(resource).unwrap(), [""; 0], config).with_kind(kind)
}

/// Fails in the first 40 s of a run: what follows comes when a pause of the program is over.
fn after_forty_seconds(cluster: &SimulatedCluster) -> Result<(), ApiError> {
    let is_over = cluster.date().saturating_since(SimulatedCluster::ORIGIN) >= Duration::from_secs(40);
    if is_over { Ok(()) } else { Err(ApiError::Unreadable("it is too early".to_owned())) }
}

/// The objects of a resource that are not being deleted.
fn living(cluster: &SimulatedCluster, resource: &str) -> Vec<Value> {
    let mut objects = cluster.list(resource).unwrap_or_default();
    objects.retain(|object| object["metadata"]["deletionTimestamp"].is_null());
    objects
}

/// Whether the controller of an object is this owner.
fn is_owned(object: &Value, owner: &Value) -> bool {
    let references = object["metadata"]["ownerReferences"].as_array();
    references.into_iter().flatten().any(|reference| reference["uid"] == owner["metadata"]["uid"])
}

/// How many of these objects an owner controls.
fn count_owned(objects: &[Value], owner: &Value) -> usize {
    objects.iter().filter(|object| is_owned(object, owner)).count()
}

/// The invariant that a condition holds.
fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// An invariant of a model that has none.
fn holds(_cluster: &SimulatedCluster) -> Result<(), String> {
    Ok(())
}

/// How many objects of a kind the program has deleted.
fn deletions(cluster: &SimulatedCluster, plural: &str) -> usize {
    let part = format!("/{plural}/");
    let is_one = |request: &&ClientRequest| is_stored(request, "DELETE") && request.path.contains(&part);
    cluster.requests().iter().filter(is_one).count()
}

/// Whether a request has this method, and the server did as it says.
fn is_stored(request: &ClientRequest, method: &str) -> bool {
    let (ClientOutcome::Answered(status) | ClientOutcome::Lost(status)) = request.outcome else { return false };
    request.method.name() == method && (200..300).contains(&status)
}

/// The entry of the metadata that names the owner of a new object.
fn owner_reference(owner: &Found<Value>) -> Value {
    let informer = owner.informer();
    json!([{ "apiVersion": informer.api_version(), "kind": informer.kind(), "name": owner.meta().name(),
        "uid": owner.meta().uid().map(|uid| uid.to_string()), "controller": true, "blockOwnerDeletion": true }])
}

/// Deletes whatever object has a name, as clients do that name no uid.
async fn delete_by_name(cx: &Context, kind: &InformerHandle<Value>, key: &Key) -> Result<(), ApiError> {
    match cx.write(kind, kind.api_for::<Value>(key).delete(key.name(), &DeleteOptions::default())).await {
        Err(error) if error.is_not_found() => Ok(()),
        deleted => deleted,
    }
}
