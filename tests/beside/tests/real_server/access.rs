//! Who may do what, and for how long.

use crate::real_server::follower::{Follower, config};
use crate::real_server::plane::{BINDINGS, Plane, own_plane, plane};
use listwatch_core::Resource;
use listwatch_core::decode::Raw;
use listwatch_core::informer::InformerStatus;
use listwatch_core::reflector::FailureClass;
use listwatch_tests::control_plane::ControlPlane;
use listwatch_transport_http::{Cluster, ClusterOptions};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const ROLES: &str = "rbac.authorization.k8s.io/v1/clusterroles";

fn failing(follower: &Follower) -> Option<FailureClass> {
    match follower.status() {
        InformerStatus::Failing { class, .. } => Some(class),
        _ => None,
    }
}

/// Lets a subject read ConfigMaps.
fn allow(plane: &mut Plane, name: &str, subject: &Value) {
    let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"] }]);
    plane.create_global(ROLES, &json!({ "metadata": { "name": name }, "rules": rules }));
    plane.bind(name, name, subject);
}

#[test]
fn who_is_denied_says_so_and_goes_on_when_allowed() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("denied");
    let maps = plane.filled(&namespace, 3);
    let user = plane.name("reader");
    let reader = plane.cluster_of(&ClusterOptions::new().impersonate(&user));
    let mut follower = Follower::<Raw>::start(&reader, maps.clone(), config(true));
    follower.follow_until(|follower| failing(follower) == Some(FailureClass::Forbidden));
    assert!(follower.status().to_string().contains("forbidden (status 403)"), "{}", follower.status());
    assert!(follower.state().is_empty());
    let subject = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user });
    allow(&mut plane, &user, &subject);
    follower.catch_up(&plane);
    plane.delete(&Resource::named(BINDINGS).unwrap(), &user).unwrap();
    let mut late = Follower::<Raw>::start(&reader, maps, config(false));
    late.follow_until(|follower| failing(follower) == Some(FailureClass::Forbidden));
}

#[test]
fn whoever_a_kubeconfig_names_is_let_in_by_certificate_or_token_inside_or_in_files() {
    let Some(plane) = own_plane() else { return };
    let maps = Resource::named("v1/configmaps").unwrap().in_namespace("kube-system");
    for context in ["kubernetes-admin@kubernetes", "files", "token"] {
        let cluster = plane.cluster_of(&ClusterOptions::new().context(context));
        Follower::<Raw>::start(&cluster, maps.clone(), config(true)).catch_up(&plane);
    }
    let nobody = plane.cluster_of(&ClusterOptions::new().context("reader"));
    let mut follower = Follower::<Raw>::start(&nobody, maps, config(true));
    follower.follow_until(|follower| failing(follower) == Some(FailureClass::Forbidden));
}

/// A kubeconfig of somebody whose token is in a file.
pub(crate) fn with_token_file(control: &ControlPlane, token: &Path) -> Cluster {
    let admins = std::fs::read_to_string(control.kubeconfig()).unwrap();
    let server = admins.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
    let text = format!(
        "current-context: c\nclusters: [{{name: c, cluster: {{server: '{server}', certificate-authority: ca.crt}}}}]\n\
         users: [{{name: u, user: {{tokenFile: '{}'}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n",
        token.display()
    );
    let file = control.folder().join("with-token-file");
    std::fs::write(&file, text).unwrap();
    Cluster::from_kubeconfig(&file).unwrap()
}

#[test]
fn a_token_that_expires_is_read_again_when_it_was_renewed() {
    let Some(mut plane) = own_plane() else { return };
    let namespace = plane.namespace("expiring");
    let accounts = Resource::named("v1/serviceaccounts").unwrap().in_namespace(&namespace);
    let account = plane.create(&accounts, &json!({ "metadata": { "name": "agent" } }));
    let uid = account["metadata"]["uid"].as_str().unwrap();
    allow(&mut plane, "agents", &json!({ "kind": "ServiceAccount", "namespace": namespace, "name": "agent" }));
    let file = plane.control().folder().join("token");
    let renew = |plane: &mut Plane, seconds| {
        std::fs::write(&file, plane.control().token(&namespace, "agent", uid, seconds)).unwrap();
    };
    renew(&mut plane, 15);
    let agent = with_token_file(plane.control(), &file);
    let maps = Resource::named("v1/configmaps").unwrap().in_namespace(&namespace);
    let mut config = config(true);
    // Watches end soon, so that the token is needed again.
    config.reflector.watch_timeout = Some((Duration::from_secs(2), Duration::from_secs(3)));
    let mut follower = Follower::<Raw>::start(&agent, maps.clone(), config);
    follower.catch_up(&plane);
    follower.follow_until(|follower| failing(follower) == Some(FailureClass::Unauthorized));
    _ = plane.filled(&namespace, 2);
    renew(&mut plane, 600);
    follower.catch_up(&plane);
    // Nobody else was asked in the meantime.
    let mut other = Follower::<Raw>::start(&plane.cluster, maps, config);
    other.catch_up(&plane);
    assert_eq!(follower.state(), other.state());
}
