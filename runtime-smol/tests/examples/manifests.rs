//! What the sample controller is deployed with.

use crate::examples::sample_controller;
use crate::examples::stage::Asked;
use crate::sample_controller::Foo;
use listwatch::Kind;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/deploy")
}

/// The objects of a manifest.
pub(crate) fn objects(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    Yaml::load_from_str(&text).unwrap().iter().map(json).collect()
}

fn json(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => (*value).into(),
        Yaml::Value(Scalar::Integer(value)) => (*value).into(),
        Yaml::Value(Scalar::String(value)) => value.to_string().into(),
        Yaml::Sequence(items) => items.iter().map(json).collect(),
        Yaml::Mapping(entries) => {
            let entries = entries.iter().map(|(name, value)| (name.as_str().unwrap().to_owned(), json(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        other => panic!("{other:?}"),
    }
}

/// The one object of this kind.
fn object(file: &str, kind: &str) -> Value {
    let mut objects = objects(file).into_iter().filter(|object| object["kind"] == kind);
    let object = objects.next().unwrap_or_else(|| panic!("no {kind} in {file}"));
    assert!(objects.next().is_none(), "two {kind}s in {file}");
    object
}

/// A permission: API group, resource with its subresource, verb.
type Permission = (String, String, String);

/// What a role allows.
fn allowed(role: &Value) -> BTreeSet<Permission> {
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut allowed = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                let of_verb = |verb| (group.clone(), resource.clone(), verb);
                allowed.extend(texts(&rule["verbs"]).into_iter().map(of_verb));
            }
        }
    }
    allowed
}

/// What a request needs, as the server's authorizer reads it.
fn needed(method: &str, target: &str) -> Permission {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut parts = path.split('/').skip(1);
    let group = if parts.next() == Some("api") { "" } else { parts.next().unwrap() };
    let mut parts = parts.skip(1).peekable();
    let mut resource = parts.next().unwrap();
    if resource == "namespaces" && parts.peek().is_some() {
        resource = parts.nth(1).unwrap_or(resource);
    }
    let (name, subresource) = (parts.next(), parts.next());
    let verb = match (method, name) {
        ("GET", _) if query.split('&').any(|parameter| parameter == "watch=1") => "watch",
        ("GET", None) => "list",
        ("GET", Some(_)) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", Some(_)) => "delete",
        _ => panic!("{method} {target}"),
    };
    let resource = subresource.map_or_else(|| resource.to_owned(), |part| format!("{resource}/{part}"));
    (group.to_owned(), resource, verb.to_owned())
}

/// The permissions that requests need.
fn needed_by(requests: &[Asked]) -> BTreeSet<Permission> {
    let mut needed: BTreeSet<_> = requests.iter().map(|asked| needed(&asked.method, &asked.target)).collect();
    for owner in requests.iter().filter_map(|asked| asked.body["metadata"]["ownerReferences"].as_array()).flatten() {
        // The admission plugin OwnerReferencesPermissionEnforcement asks for it.
        if owner["blockOwnerDeletion"] == true {
            let (group, _version) = owner["apiVersion"].as_str().unwrap().split_once('/').unwrap();
            let plural = format!("{}s/finalizers", owner["kind"].as_str().unwrap().to_lowercase());
            needed.insert((group.to_owned(), plural, "update".to_owned()));
        }
    }
    needed
}

#[test]
fn the_role_allows_what_the_controller_asks_for_and_nothing_else() {
    let requests = sample_controller::requests_of_a_life();
    assert_eq!(allowed(&object("controller.yaml", "ClusterRole")), needed_by(&requests));
}

#[test]
fn the_definition_and_the_example_are_of_the_controllers_kind() {
    let [definition] = &objects("crd.yaml")[..] else { panic!("not one definition") };
    let names = &definition["spec"]["names"];
    assert_eq!((&names["kind"], &names["plural"]), (&Foo::KIND.into(), &Foo::PLURAL.into()));
    let [version] = &definition["spec"]["versions"].as_array().unwrap()[..] else { panic!("{definition}") };
    let group = definition["spec"]["group"].as_str().unwrap();
    assert_eq!(format!("{group}/{}", version["name"].as_str().unwrap()), Foo::API_VERSION);
    assert_eq!(definition["metadata"]["name"], format!("{}.{group}", Foo::PLURAL));
    assert!(version["subresources"]["status"].is_object() && definition["spec"]["scope"] == "Namespaced");

    let [example] = &objects("foo.yaml")[..] else { panic!("not one Foo") };
    assert_eq!((&example["apiVersion"], &example["kind"]), (&Foo::API_VERSION.into(), &Foo::KIND.into()));
    let known = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let fields = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(fields(&example["spec"]), fields(&known["properties"]));
    let foo: Foo = serde_json::from_value(example.clone()).unwrap();
    let written = serde_json::to_value(foo).unwrap();
    assert_eq!(written["spec"], example["spec"], "the type has the fields of the definition");
}

#[test]
fn a_request_needs_the_permission_that_the_server_asks_for() {
    let needed = |method, target| {
        let (group, resource, verb) = needed(method, target);
        format!("{verb} {resource} {group}")
    };
    assert_eq!(needed("GET", "/api/v1/pods?limit=500"), "list pods ");
    assert_eq!(needed("GET", "/apis/apps/v1/deployments?watch=1&timeoutSeconds=5"), "watch deployments apps");
    assert_eq!(needed("GET", "/apis/apps/v1/namespaces/web/deployments/a"), "get deployments apps");
    assert_eq!(needed("POST", "/apis/apps/v1/namespaces/web/deployments"), "create deployments apps");
    assert_eq!(needed("DELETE", "/apis/example.com/v1/widgets/a"), "delete widgets example.com");
    assert_eq!(needed("PATCH", "/apis/example.com/v1/namespaces/web/foos/a/status"), "patch foos/status example.com");
}

#[test]
fn the_manifests_name_each_other() {
    let (deployment, role) = (object("controller.yaml", "Deployment"), object("controller.yaml", "ClusterRole"));
    let (account, binding) =
        (object("controller.yaml", "ServiceAccount"), object("controller.yaml", "ClusterRoleBinding"));
    let namespace = object("controller.yaml", "Namespace");
    let pod = &deployment["spec"]["template"];
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"]);
    assert_eq!(pod["spec"]["serviceAccountName"], account["metadata"]["name"]);
    assert_eq!(account["metadata"]["namespace"], namespace["metadata"]["name"]);
    assert_eq!(deployment["metadata"]["namespace"], namespace["metadata"]["name"]);
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    let [subject] = &binding["subjects"].as_array().unwrap()[..] else { panic!("{binding}") };
    assert_eq!(subject["name"], account["metadata"]["name"]);
    assert_eq!(subject["namespace"], account["metadata"]["namespace"]);
}

#[test]
fn the_pod_has_the_time_to_drain_and_no_rights_on_its_node() {
    let deployment = object("controller.yaml", "Deployment");
    let pod = &deployment["spec"]["template"]["spec"];
    assert!(pod["terminationGracePeriodSeconds"].as_u64().unwrap() > 25, "of the drain");
    assert_eq!(
        (&deployment["spec"]["replicas"], &deployment["spec"]["strategy"]["type"]),
        (&1.into(), &"Recreate".into())
    );
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let [container] = &pod["containers"].as_array().unwrap()[..] else { panic!("{pod}") };
    let security = &container["securityContext"];
    assert_eq!(
        (&security["allowPrivilegeEscalation"], &security["readOnlyRootFilesystem"]),
        (&false.into(), &true.into())
    );
    assert_eq!(security["capabilities"]["drop"][0], "ALL");
    assert!(
        container["resources"]["requests"]["memory"].is_string()
            && container["resources"]["limits"]["memory"].is_string()
    );
}

#[test]
fn the_image_is_that_of_the_pod_and_is_built_from_pinned_ones_for_a_user_without_rights() {
    let dockerfile = fs::read_to_string(folder().join("Dockerfile")).unwrap();
    let of = |word: &str| dockerfile.lines().filter_map(|line| line.strip_prefix(word)).collect::<Vec<_>>();
    let [build, "scratch"] = of("FROM ")[..] else { panic!("{dockerfile}") };
    let rust = build.strip_prefix("rust:").and_then(|tag| tag.split('-').next()).unwrap();
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    assert!(rust.starts_with(oldest) && rust.split('.').count() == 3, "{build} is not our oldest Rust, {oldest}");
    assert_eq!(of("USER "), ["65532:65532"]);
    assert!(dockerfile.contains(concat!("--package ", env!("CARGO_PKG_NAME"), " --example sample-controller ")));

    let deployment = object("controller.yaml", "Deployment");
    let image = deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap();
    assert!(dockerfile.contains(&format!("docker build -f runtime-smol/examples/deploy/Dockerfile -t {image} .")));
    assert!(image.ends_with(concat!(":", env!("CARGO_PKG_VERSION"))), "{image}");
}
