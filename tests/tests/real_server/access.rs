//! Who may do what, and for how long.

use crate::follower::{Follower, config};
use crate::plane::{Plane, admin, cluster, namespace, plane};
use listwatch_core::{FailureClass, InformerStatus, Raw, Resource};
use listwatch_transport_http::Cluster;
use std::path::Path;
use std::time::Duration;

const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDING: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

fn failing(follower: &Follower) -> Option<FailureClass> {
    match follower.status() {
        InformerStatus::Failing { class, .. } => Some(class),
        _ => None,
    }
}

/// Lets a subject read ConfigMaps.
fn allow(plane: &mut Plane, name: &str, subject: &str) {
    let rules = r#"[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list","watch"]}]"#;
    plane.create(ROLE, &format!(r#"{{"metadata":{{"name":"{name}"}},"rules":{rules}}}"#));
    let role = format!(r#"{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{name}"}}"#);
    let subjects = format!("[{subject}]");
    plane.create(BINDING, &format!(r#"{{"metadata":{{"name":"{name}"}},"roleRef":{role},"subjects":{subjects}}}"#));
}

#[test]
fn who_is_denied_says_so_and_goes_on_when_allowed() {
    let Some(mut plane) = plane() else { return };
    namespace(&mut plane, "denied");
    plane.fill("denied", 3);
    let maps = Resource::named("v1/configmaps").unwrap().in_namespace("denied");
    let reader = cluster(&plane, "reader");
    let mut follower = Follower::<Raw>::start(&reader, maps.clone(), config(true));
    follower.follow_until(|follower| failing(follower) == Some(FailureClass::Forbidden));
    assert!(follower.status().to_string().contains("forbidden (status 403)"), "{}", follower.status());
    assert!(follower.cached().is_empty());
    allow(&mut plane, "readers", r#"{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"reader"}"#);
    follower.catch_up(&mut plane, maps.path());
    assert_eq!(plane.request("DELETE", &format!("{BINDING}/readers"), "").0, 200);
    let mut late = Follower::<Raw>::start(&reader, maps.clone(), config(false));
    late.follow_until(|follower| failing(follower) == Some(FailureClass::Forbidden));
}

/// A kubeconfig of somebody whose token is in a file.
fn with_token_file(plane: &Plane, token: &Path) -> Cluster {
    let admins = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let server = admins.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
    let text = format!(
        "current-context: c\nclusters: [{{name: c, cluster: {{server: '{server}', certificate-authority: ca.crt}}}}]\n\
         users: [{{name: u, user: {{tokenFile: '{}'}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n",
        token.display()
    );
    let file = plane.folder().join("with-token-file");
    std::fs::write(&file, text).unwrap();
    Cluster::from_kubeconfig(&file).unwrap()
}

#[test]
fn a_token_that_expires_is_read_again_when_it_was_renewed() {
    let Some(mut plane) = plane() else { return };
    namespace(&mut plane, "expiring");
    let account = plane.create("/api/v1/namespaces/expiring/serviceaccounts", r#"{"metadata":{"name":"agent"}}"#);
    let uid =
        serde_json::from_str::<serde_json::Value>(&account).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    allow(&mut plane, "agents", r#"{"kind":"ServiceAccount","namespace":"expiring","name":"agent"}"#);
    let file = plane.folder().join("token");
    std::fs::write(&file, plane.token("expiring", "agent", &uid, 3)).unwrap();
    let agent = with_token_file(&plane, &file);
    let maps = Resource::named("v1/configmaps").unwrap().in_namespace("expiring");
    let mut config = config(true);
    // Watches end soon, so that the token is needed again.
    config.reflector.watch_timeout = Some((Duration::from_secs(2), Duration::from_secs(3)));
    let mut follower = Follower::<Raw>::start(&agent, maps.clone(), config);
    follower.catch_up(&mut plane, maps.path());
    follower.follow_until(|follower| failing(follower) == Some(FailureClass::Unauthorized));
    plane.fill("expiring", 2);
    std::fs::write(&file, plane.token("expiring", "agent", &uid, 600)).unwrap();
    follower.catch_up(&mut plane, maps.path());
    // Nobody else was asked in the meantime.
    let mut other = Follower::<Raw>::start(&admin(&plane), maps.clone(), config);
    other.catch_up(&mut plane, maps.path());
    assert_eq!(follower.cached(), other.cached());
}
