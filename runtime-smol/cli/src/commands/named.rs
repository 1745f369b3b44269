//! The names of resources, as far as they can be told without a server.

use listwatch::Resource;
use listwatch::testing::{ServedKind, SimulatedCluster};
use std::sync::Arc;

/// The resource that kubectl calls so: `v1/pods`, or a name or a short name of a kind of Kubernetes.
pub(super) fn resource_of(name: &str) -> Option<Resource> {
    let kinds = SimulatedCluster::new().kinds();
    let is_meant = |kind: &&Arc<ServedKind>| {
        let group = kind.group();
        let is_called = |plural: &str| name == plural || (!group.is_empty() && name == format!("{plural}.{group}"));
        is_called(&kind.plural) || is_called(&kind.kind.to_lowercase()) || kind.short_names().contains(&name)
    };
    let parsed = || Resource::named(name).ok();
    parsed().or_else(|| kinds.iter().find(is_meant).and_then(|kind| Resource::named(&kind.name()).ok()))
}
