//! Discovery: the groups, versions and kinds that the server has.

use listwatch::testing::ServedKind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The version of Kubernetes whose answers are given.
const VERSION: (&str, &str) = ("1", "36");

/// Answers a path of discovery; `None` for any other path.
pub(super) fn answer<'k>(
    path: &str,
    kinds: impl Iterator<Item = &'k ServedKind> + Clone,
    writable: bool,
) -> Option<Value> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts[..] {
        ["version"] => Some(version()),
        ["api"] => Some(json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] })),
        ["apis"] => Some(groups(kinds)),
        ["apis", group] => groups(kinds)["groups"].as_array()?.iter().find(|it| it["name"] == group).cloned(),
        ["api", version] => resources(version, kinds, writable),
        ["apis", group, version] => resources(&format!("{group}/{version}"), kinds, writable),
        ["openapi", "v3"] => Some(json!({ "paths": {} })),
        _ => None,
    }
}

fn version() -> Value {
    let (major, minor) = VERSION;
    let built = concat!("listwatch-", env!("CARGO_PKG_VERSION"));
    json!({
        "major": major, "minor": minor, "gitVersion": format!("v{major}.{minor}.0+{built}"), "gitCommit": "",
        "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "",
    })
}

fn groups<'k>(kinds: impl Iterator<Item = &'k ServedKind>) -> Value {
    let mut groups = BTreeMap::<&str, BTreeSet<&str>>::new();
    for kind in kinds.filter(|kind| !kind.group().is_empty()) {
        groups.entry(kind.group()).or_default().insert(kind.version());
    }
    let groups = groups.into_iter().map(|(name, versions)| {
        let version = |version: &&str| json!({ "groupVersion": format!("{name}/{version}"), "version": version });
        // Of several versions the newest comes first.
        let versions: Vec<Value> = versions.iter().rev().map(version).collect();
        json!({ "name": name, "preferredVersion": versions[0], "versions": versions, "kind": "APIGroup", "apiVersion": "v1" })
    });
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups.collect::<Vec<_>>() })
}

fn resources<'k>(group_version: &str, kinds: impl Iterator<Item = &'k ServedKind>, writable: bool) -> Option<Value> {
    let kinds = kinds.filter(|kind| kind.api_version == group_version);
    let resources: Vec<Value> = kinds.flat_map(|kind| resource(kind, writable)).collect();
    // kubectl asks for the core group of any server.
    (!resources.is_empty() || group_version == "v1").then(|| {
        json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources })
    })
}

/// A resource, and its status if that changes by requests of its own.
fn resource(kind: &ServedKind, writable: bool) -> Vec<Value> {
    let reads = ["get", "list", "watch"].as_slice();
    let all = ["create", "delete", "get", "list", "patch", "update", "watch"].as_slice();
    let whole = json!({
        "name": kind.plural, "singularName": kind.kind.to_lowercase(), "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": if writable { all } else { reads }, "shortNames": kind.short_names(),
    });
    let status = json!({
        "name": format!("{}/status", kind.plural), "singularName": "", "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": ["patch", "update"],
    });
    [Some(whole), (writable && kind.has_status).then_some(status)].into_iter().flatten().collect()
}
