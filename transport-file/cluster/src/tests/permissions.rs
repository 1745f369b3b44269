//! Which requests of a user are refused.

use super::*;

const GROUP: &str = "rbac.authorization.k8s.io/v1";

fn role(kind: &str, name: &str, rules: &Value) -> Value {
    json!({ "apiVersion": GROUP, "kind": kind, "metadata": { "name": name, "namespace": "web" }, "rules": rules })
}

fn binding(kind: &str, role: &str, subject: &Value) -> Value {
    let role_kind = kind.strip_suffix("Binding").expect("a binding");
    let role_ref = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role });
    json!({ "apiVersion": GROUP, "kind": kind, "metadata": { "name": role, "namespace": "web" }, "roleRef": role_ref,
        "subjects": [subject] })
}

#[test]
fn a_user_does_what_a_role_allows_and_is_told_what_none_does() {
    let cluster = SimulatedCluster::new();
    let user = cluster.as_user("system:serviceaccount:web:robot", &[]);
    let message = |line: &str| {
        let (code, answer) = send(&user, line, &named("a"));
        (code, answer["message"].as_str().unwrap_or_default().to_owned())
    };
    let refused = "pods is forbidden: User \"system:serviceaccount:web:robot\" cannot create resource \"pods\" in API group \"\" \
                   in the namespace \"web\"";
    assert_eq!(message(&format!("POST {PODS}")), (403, refused.to_owned()));
    let account = json!({ "kind": "ServiceAccount", "name": "robot" });
    cluster.create(binding("RoleBinding", "pods", &account)).expect("created");
    let missing = format!("{refused}: RBAC: role.rbac.authorization.k8s.io \"pods\" not found");
    assert_eq!(message(&format!("POST {PODS}")), (403, missing));
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "watch"] }]);
    cluster.create(role("Role", "pods", &rules)).expect("created");
    assert_eq!(message(&format!("POST {PODS}")).0, 201);
    assert_eq!(message(&format!("GET {PODS}?watch=1")).0, 200);
    let status = "pods \"a\" is forbidden: User \"system:serviceaccount:web:robot\" cannot patch resource \"pods/status\" in API \
                  group \"\" in the namespace \"web\"";
    assert_eq!(message(&format!("PATCH {PODS}/a/status")), (403, status.to_owned()));
    let nodes = "nodes is forbidden: User \"system:serviceaccount:web:robot\" cannot list resource \"nodes\" in API group \"\" at \
                 the cluster scope";
    assert_eq!(message("GET /api/v1/nodes"), (403, nodes.to_owned()));
    assert_eq!(send(&cluster, "GET /api/v1/nodes", &Value::Null).0, 200, "without a user, all is allowed");
}

#[test]
fn a_group_may_do_what_aggregated_roles_allow() {
    let cluster = SimulatedCluster::new();
    let user = cluster.as_user("ann", &["admins"]);
    let mut part = role(
        "ClusterRole",
        "part",
        &json!([{ "apiGroups": ["*"], "resources": ["*/scale", "deployments"],
        "verbs": ["get"], "resourceNames": ["a"] }]),
    );
    part["metadata"]["labels"] = json!({ "to": "whole" });
    let mut whole = role("ClusterRole", "whole", &json!([]));
    whole["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { "to": "whole" } }] });
    let bound = binding("ClusterRoleBinding", "whole", &json!({ "kind": "Group", "name": "admins" }));
    for mut object in [part, whole, bound] {
        object["metadata"]["namespace"] = Value::Null;
        cluster.create(object).expect("created");
    }
    let code =
        |path: &str| send(&user, &format!("GET /apis/apps/v1/namespaces/web/deployments/{path}"), &Value::Null).0;
    assert_eq!([code("a"), code("a/scale"), code("b"), code("a/status")], [404, 404, 403, 403]);
    assert_eq!(send(&cluster.as_user("root", &["system:masters"]), "GET /api/v1/nodes", &Value::Null).0, 200);
}

#[test]
fn a_rule_for_a_name_allows_the_watch_that_selects_it() {
    let cluster = SimulatedCluster::new();
    let user = cluster.as_user("eve", &[]);
    let rules = json!([{ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["watch"] }]);
    cluster.create(role("Role", "one", &rules)).expect("created");
    cluster.create(binding("RoleBinding", "one", &json!({ "kind": "User", "name": "eve" }))).expect("created");
    let code = |query: &str| send(&user, &format!("GET /api/v1/namespaces/web/secrets?watch=1{query}"), &Value::Null).0;
    let codes = [
        "&fieldSelector=metadata.name%3Da",
        "&fieldSelector=metadata.name%3D%3Da",
        "&fieldSelector=metadata.name%3Db",
        "",
    ];
    assert_eq!(codes.map(code), [200, 200, 403, 403]);
}

#[test]
fn a_request_that_creates_by_another_verb_needs_that_of_a_creation_too() {
    let cluster = SimulatedCluster::new();
    let user = cluster.as_user("eve", &[]);
    let allow = |verbs: &[&str]| {
        let rules =
            json!([{ "apiGroups": ["", "coordination.k8s.io"], "resources": ["pods", "leases"], "verbs": verbs }]);
        cluster.create(role("Role", "some", &rules)).or_else(|_| cluster.replace(role("Role", "some", &rules)))
    };
    allow(&["patch", "update"]).expect("a role");
    cluster.create(binding("RoleBinding", "some", &json!({ "kind": "User", "name": "eve" }))).expect("a binding");
    let body = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" } }).to_string();
    let apply = |body: &str| {
        let target = &format!("{PODS}/a?fieldManager=me")[..];
        let content_type = "application/apply-patch+yaml";
        let call = Call { method: "PATCH", target, accept: "", content_type, body: body.as_bytes() };
        let answer = user.handle(Instant::ZERO, &call);
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        (answer.head.status, body["message"].as_str().unwrap_or_default().to_owned())
    };
    let refused = "pods \"a\" is forbidden: User \"eve\" cannot create resource \"pods\" in API group \"\" in the namespace \"web\"";
    assert_eq!(apply(&body), (403, refused.to_owned()));
    assert_eq!(apply(&body.replace("\"a\"", "\"a\",\"labels\":{\"-\":\"-\"}")).0, 422, "the object is checked first");
    let leases = "PUT /apis/coordination.k8s.io/v1/namespaces/web/leases/a";
    assert_eq!(send(&user, leases, &named("a")).0, 403);
    allow(&["patch", "update", "create"]).expect("a role");
    assert_eq!((apply(&body).0, send(&user, leases, &named("a")).0), (201, 201));
    allow(&["patch", "update"]).expect("a role");
    assert_eq!((apply(&body).0, send(&user, leases, &named("a")).0), (200, 422), "they are there");
}

#[test]
fn an_aggregated_role_has_the_rules_of_those_it_selects_and_none_of_its_own() {
    let cluster = SimulatedCluster::new();
    let user = cluster.as_user("ann", &[]);
    let wide = |name: &str, group: &str, label: &str, of: Option<Value>| {
        let rules = json!([{ "apiGroups": [""], "resources": [group], "verbs": ["list"] }]);
        let labels = json!({ "to": label });
        json!({ "apiVersion": GROUP, "kind": "ClusterRole", "metadata": { "name": name, "labels": labels }, "rules": rules,
            "aggregationRule": of.map(|of| json!({ "clusterRoleSelectors": [of] })) })
    };
    let in_middle = json!({ "matchExpressions": [{ "key": "to", "operator": "In", "values": ["top"] }] });
    let in_end = json!({ "matchExpressions": [{ "key": "to", "operator": "NotIn", "values": ["top", "none"] }] });
    for role in [
        wide("top", "pods", "none", Some(in_middle)),
        wide("middle", "nodes", "top", Some(in_end)),
        wide("end", "secrets", "middle", None),
        wide("other", "services", "none", None),
    ] {
        cluster.create(role).expect("a role");
    }
    let mut bound = binding("ClusterRoleBinding", "top", &json!({ "kind": "Group", "name": "system:authenticated" }));
    bound["metadata"]["namespace"] = Value::Null;
    cluster.create(bound).expect("a binding");
    let code = |plural: &str| send(&user, &format!("GET /api/v1/{plural}"), &Value::Null).0;
    assert_eq!(["secrets", "pods", "nodes", "services"].map(code), [200, 403, 403, 403]);
    let nameless = cluster.as_user("system:anonymous", &[]);
    assert_eq!(send(&nameless, "GET /api/v1/secrets", &Value::Null).0, 403, "it has no group of those with a name");
}

#[test]
fn a_path_that_is_no_resource_needs_a_rule_for_it() {
    let cluster = SimulatedCluster::new();
    let user = cluster.as_user("ann", &[]);
    let (code, refused) = send(&user, "GET /metrics?x=1", &Value::Null);
    assert_eq!((code, &refused["message"]), (403, &json!("forbidden: User \"ann\" cannot get path \"/metrics\"")));
    let rules = json!([{ "nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get"] }]);
    for mut object in [
        role("ClusterRole", "paths", &rules),
        binding("ClusterRoleBinding", "paths", &json!({ "kind": "User", "name": "ann" })),
    ] {
        object["metadata"]["namespace"] = Value::Null;
        cluster.create(object).expect("created");
    }
    let code = |line: &str| send(&user, line, &Value::Null).0;
    assert_eq!(["GET /metrics", "GET /logs/a", "POST /logs/a", "GET /logs"].map(code), [404, 404, 403, 403]);
    let nameless = cluster.as_user("system:anonymous", &[]);
    let codes = ["GET /version", "GET /apis"].map(|line| send(&nameless, line, &Value::Null).0);
    assert_eq!((codes, code("GET /apis")), ([404, 403], 404), "every cluster shows its versions");
}
