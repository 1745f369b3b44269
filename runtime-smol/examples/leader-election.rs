//! A ConfigMap that counts seconds: of many replicas, the leader alone increments it.
//!
//! ```sh
//! kubectl create configmap counter
//! cargo run -p listwatch --example leader-election
//! kubectl get configmap counter --watch -o jsonpath='{.data}'
//! ```
//!
//! Started in two terminals, one replica counts. Killed, it is followed by the other one 15 s after its last renewal;
//! stopped by Ctrl-C, at once. A replica that may not watch the lease follows after up to 20 s.
//!
//! ```yaml
//! kind: Role
//! apiVersion: rbac.authorization.k8s.io/v1
//! metadata: { name: counter }
//! rules:
//! - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create] }
//! - apiGroups: [coordination.k8s.io]
//!   resources: [leases]
//!   resourceNames: [counter]
//!   verbs: [get, update, list, watch]
//! - { apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, patch] }
//! ```

use core::time::Duration;
use listwatch::controller::{Controller, Outcome, RunError, Source};
use listwatch::election::Election;
use listwatch::http::Cluster;
use listwatch::{Resource, World, kind};
use serde::{Deserialize, Serialize};

#[derive(Clone, Deserialize, Serialize)]
struct ConfigMap {
    #[serde(default)]
    data: Data,
}

#[derive(Clone, Default, Deserialize, Serialize)]
struct Data {
    count: Option<String>,
    /// The term of the leader that has written it.
    term: Option<String>,
}

kind!(ConfigMap, "v1", "configmaps");

pub(crate) fn count(
    world: impl Into<World>,
    namespace: &str,
    election: Election,
    every: Duration,
) -> Result<(), RunError> {
    let controller = Controller::new("counter", world);
    let counter = |all: Resource| all.in_namespace(namespace).with_field_selector("metadata.name=counter");
    let maps = controller.informer_where::<ConfigMap>(counter);
    // Its own counts wake nobody.
    let added = Source::from(&maps).when(|_, _| false);
    controller.reconciles(added).lead_by(election.namespace(namespace)).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        let term = cx.fencing_token().map(|token| token.to_string());
        // After a conflict this is called again, with the count that another has written.
        let count_on = |map: &mut ConfigMap| {
            let count = map.data.count.as_deref().unwrap_or_default().parse().unwrap_or(0_u64);
            map.data = Data { count: Some((count + 1).to_string()), term: term.clone() };
        };
        cx.change(&map, count_on).await?;
        Ok(Outcome::RequeueAfter(every))
    })
}

pub(crate) fn main() -> Result<(), RunError> {
    let cluster = Cluster::infer()?;
    let namespace = cluster.namespace().to_owned();
    count(cluster, &namespace, Election::new("counter"), Duration::from_secs(1))
}
