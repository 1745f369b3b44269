//! The columns of each kind (`AddHandlers` of kubernetes' `pkg/printers/internalversion`).

use super::pod::PodSummary;
use crate::output::age::{age, human};
use listwatch::time::WallTime;
use serde_json::{Value, json};

/// One column of a table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    /// Zero, or one for a column of `-o wide`.
    pub(super) priority: u8,
    pub(super) cell: fn(&Value, WallTime) -> Value,
}

const fn column(name: &'static str, cell: fn(&Value, WallTime) -> Value) -> Column {
    Column { name, priority: 0, cell }
}

const fn wide(name: &'static str, cell: fn(&Value, WallTime) -> Value) -> Column {
    Column { name, priority: 1, cell }
}

const NAME: Column = column("Name", |it, _| it["metadata"]["name"].clone());
const AGE: Column = column("Age", |it, now| age(&it["metadata"]["creationTimestamp"], now).into());
const CONTAINERS: Column = wide("Containers", |it, _| of_containers(it, "name"));
const IMAGES: Column = wide("Images", |it, _| of_containers(it, "image"));
const SELECTOR: Column = wide("Selector", |it, _| selector(&it["spec"]["selector"]));

/// The columns of a kind, by the name of its collection.
pub(super) fn columns(collection: &str) -> &'static [Column] {
    let known = TABLES.iter().find(|(name, _)| *name == collection);
    known.map_or(&[NAME, AGE], |(_, columns)| columns)
}

/// The columns of the kinds that have more than a name and an age.
const TABLES: &[(&str, &[Column])] = &[
    (
        "v1/pods",
        &[
            NAME,
            column("Ready", |it, now| PodSummary::of(it, now).ready.into()),
            column("Status", |it, now| PodSummary::of(it, now).status.into()),
            column("Restarts", |it, now| PodSummary::of(it, now).restarts.into()),
            AGE,
            wide("IP", |it, _| or_none(&it["status"]["podIP"])),
            wide("Node", |it, _| or_none(&it["spec"]["nodeName"])),
            wide("Nominated Node", |it, _| or_none(&it["status"]["nominatedNodeName"])),
            wide("Readiness Gates", |_, _| NONE.into()),
        ],
    ),
    (
        "apps/v1/deployments",
        &[
            NAME,
            column("Ready", |it, _| of_wanted(it, "readyReplicas")),
            column("Up-to-date", |it, _| count(&it["status"]["updatedReplicas"])),
            column("Available", |it, _| count(&it["status"]["availableReplicas"])),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "apps/v1/replicasets",
        &[
            NAME,
            column("Desired", |it, _| count(&it["spec"]["replicas"])),
            column("Current", |it, _| count(&it["status"]["replicas"])),
            column("Ready", |it, _| count(&it["status"]["readyReplicas"])),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    ("apps/v1/statefulsets", &[NAME, column("Ready", |it, _| of_wanted(it, "readyReplicas")), AGE, CONTAINERS, IMAGES]),
    (
        "apps/v1/daemonsets",
        &[
            NAME,
            column("Desired", |it, _| count(&it["status"]["desiredNumberScheduled"])),
            column("Current", |it, _| count(&it["status"]["currentNumberScheduled"])),
            column("Ready", |it, _| count(&it["status"]["numberReady"])),
            column("Up-to-date", |it, _| count(&it["status"]["updatedNumberScheduled"])),
            column("Available", |it, _| count(&it["status"]["numberAvailable"])),
            column("Node Selector", |it, _| labels(&it["spec"]["template"]["spec"]["nodeSelector"])),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "batch/v1/jobs",
        &[
            NAME,
            column("Status", |it, _| job_status(it).into()),
            column("Completions", |it, _| job_completions(it)),
            column("Duration", job_duration),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "batch/v1/cronjobs",
        &[
            NAME,
            column("Schedule", |it, _| it["spec"]["schedule"].clone()),
            column("Timezone", |it, _| or_none(&it["spec"]["timeZone"])),
            column("Suspend", |it, _| if it["spec"]["suspend"] == true { "True" } else { "False" }.into()),
            column("Active", |it, _| length(&it["status"]["active"])),
            column("Last Schedule", |it, now| age_or_none(&it["status"]["lastScheduleTime"], now)),
            AGE,
        ],
    ),
    (
        "v1/services",
        &[
            NAME,
            column("Type", |it, _| it["spec"]["type"].clone()),
            column("Cluster-IP", |it, _| or_none(&it["spec"]["clusterIP"])),
            column("External-IP", |it, _| external_ip(it)),
            column("Port(s)", |it, _| ports(it)),
            AGE,
            wide("Selector", |it, _| labels(&it["spec"]["selector"])),
        ],
    ),
    (
        "v1/nodes",
        &[
            NAME,
            column("Status", |it, _| node_status(it).into()),
            column("Roles", |it, _| node_roles(it)),
            AGE,
            column("Version", |it, _| it["status"]["nodeInfo"]["kubeletVersion"].clone()),
        ],
    ),
    ("v1/namespaces", &[NAME, column("Status", |it, _| it["status"]["phase"].clone()), AGE]),
    ("v1/configmaps", &[NAME, column("Data", |it, _| data(it)), AGE]),
    ("v1/secrets", &[NAME, column("Type", |it, _| it["type"].clone()), column("Data", |it, _| data(it)), AGE]),
    (
        "v1/events",
        &[
            column("Last Seen", last_seen),
            column("Type", |it, _| it["type"].clone()),
            column("Reason", |it, _| it["reason"].clone()),
            column("Object", |it, _| involved(it)),
            column("Message", |it, _| it["message"].as_str().unwrap_or_default().trim().into()),
        ],
    ),
    (
        "v1/persistentvolumeclaims",
        &[
            NAME,
            column("Status", |it, _| it["status"]["phase"].clone()),
            column("Volume", |it, _| it["spec"]["volumeName"].clone()),
            column("Capacity", |it, _| it["status"]["capacity"]["storage"].clone()),
            column("Access Modes", |it, _| access_modes(&it["status"]["accessModes"])),
            column("StorageClass", |it, _| it["spec"]["storageClassName"].clone()),
            AGE,
        ],
    ),
    (
        "networking.k8s.io/v1/ingresses",
        &[
            NAME,
            column("Class", |it, _| or_none(&it["spec"]["ingressClassName"])),
            column("Hosts", |it, _| hosts(it)),
            column("Address", |it, _| joined(&it["status"]["loadBalancer"]["ingress"], "ip")),
            column("Ports", |it, _| if it["spec"]["tls"].is_array() { "80, 443" } else { "80" }.into()),
            AGE,
        ],
    ),
    ("coordination.k8s.io/v1/leases", &[NAME, column("Holder", |it, _| it["spec"]["holderIdentity"].clone()), AGE]),
];

const NONE: &str = "<none>";

fn or_none(value: &Value) -> Value {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(NONE).into()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn count(value: &Value) -> Value {
    value.as_i64().unwrap_or(0).into()
}

fn length(value: &Value) -> Value {
    list(value).count().into()
}

fn joined(items: &Value, field: &str) -> Value {
    list(items).map(|item| text(&item[field])).collect::<Vec<_>>().join(",").into()
}

fn of_containers(object: &Value, field: &str) -> Value {
    joined(&object["spec"]["template"]["spec"]["containers"], field)
}

/// How many of the wanted replicas are so far.
fn of_wanted(object: &Value, field: &str) -> Value {
    let replicas = |value: &Value| value.as_i64().unwrap_or(0);
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    format!("{}/{wanted}", replicas(&object["status"][field])).into()
}

fn labels(labels: &Value) -> Value {
    let Some(labels) = labels.as_object().filter(|labels| !labels.is_empty()) else { return NONE.into() };
    labels.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(",").into()
}

fn selector(selector: &Value) -> Value {
    let terms = list(&selector["matchExpressions"]).map(|term| {
        let values: Vec<&str> = list(&term["values"]).map(text).collect();
        match text(&term["operator"]) {
            "In" => format!("{} in ({})", text(&term["key"]), values.join(",")),
            "NotIn" => format!("{} notin ({})", text(&term["key"]), values.join(",")),
            "DoesNotExist" => format!("!{}", text(&term["key"])),
            _ => text(&term["key"]).to_owned(),
        }
    });
    let equal = selector["matchLabels"].as_object().filter(|labels| !labels.is_empty());
    let equal = equal.map(|_| text(&labels(&selector["matchLabels"])).to_owned());
    let terms: Vec<String> = equal.into_iter().chain(terms).collect();
    if terms.is_empty() { NONE.into() } else { terms.join(",").into() }
}

fn data(object: &Value) -> Value {
    let entries = |field: &str| object[field].as_object().map_or(0, serde_json::Map::len);
    (entries("data") + entries("binaryData")).into()
}

fn age_or_none(since: &Value, now: WallTime) -> Value {
    if since.is_string() { age(since, now).into() } else { NONE.into() }
}

fn is_true(object: &Value, condition: &str) -> bool {
    list(&object["status"]["conditions"]).any(|it| it["type"] == condition && it["status"] == "True")
}

fn job_status(job: &Value) -> &'static str {
    let conditions = [("Complete", "Complete"), ("Failed", "Failed"), ("SuccessCriteriaMet", "SuccessCriteriaMet")];
    let found = conditions.into_iter().find(|(condition, _)| is_true(job, condition)).map(|(_, shown)| shown);
    let open = || match () {
        () if job["metadata"]["deletionTimestamp"].is_string() => "Terminating",
        () if is_true(job, "Suspended") => "Suspended",
        () if is_true(job, "FailureTarget") => "FailureTarget",
        () => "Running",
    };
    found.unwrap_or_else(open)
}

fn job_completions(job: &Value) -> Value {
    let succeeded = job["status"]["succeeded"].as_i64().unwrap_or(0);
    match (job["spec"]["completions"].as_i64(), job["spec"]["parallelism"].as_i64().unwrap_or(1)) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
    .into()
}

fn job_duration(job: &Value, now: WallTime) -> Value {
    let date = |field: &str| job["status"][field].as_str().and_then(|date| date.parse::<WallTime>().ok());
    let Some(begun) = date("startTime") else { return "".into() };
    human(date("completionTime").unwrap_or(now).saturating_since(begun)).into()
}

fn external_ip(service: &Value) -> Value {
    let external = list(&service["spec"]["externalIPs"]).map(text);
    let ingress = list(&service["status"]["loadBalancer"]["ingress"]);
    let ingress = ingress.map(|it| it["ip"].as_str().or_else(|| it["hostname"].as_str()).unwrap_or_default());
    let addresses: Vec<&str> = match text(&service["spec"]["type"]) {
        "ExternalName" => vec![text(&service["spec"]["externalName"])],
        "LoadBalancer" => ingress.chain(external).collect(),
        _ => external.collect(),
    };
    match (addresses.is_empty(), text(&service["spec"]["type"])) {
        (true, "LoadBalancer") => "<pending>".into(),
        (true, _) => NONE.into(),
        (false, _) => addresses.join(",").into(),
    }
}

fn ports(service: &Value) -> Value {
    let ports = list(&service["spec"]["ports"]).map(|port| match port["nodePort"].as_u64() {
        Some(node) if node > 0 => format!("{}:{node}/{}", port["port"], text(&port["protocol"])),
        _ => format!("{}/{}", port["port"], text(&port["protocol"])),
    });
    let ports: Vec<String> = ports.collect();
    if ports.is_empty() { NONE.into() } else { ports.join(",").into() }
}

fn node_status(node: &Value) -> String {
    let ready = list(&node["status"]["conditions"]).find(|it| it["type"] == "Ready");
    let ready = ready.map_or("Unknown", |it| if it["status"] == "True" { "Ready" } else { "NotReady" });
    let cordoned = if node["spec"]["unschedulable"] == true { ",SchedulingDisabled" } else { "" };
    format!("{ready}{cordoned}")
}

fn node_roles(node: &Value) -> Value {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: Vec<&str> = labels.filter_map(|(name, _)| name.strip_prefix("node-role.kubernetes.io/")).collect();
    if roles.is_empty() { NONE.into() } else { roles.join(",").into() }
}

fn last_seen(event: &Value, now: WallTime) -> Value {
    let dates = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
    let seen = dates.into_iter().find(|date| date.is_string());
    age(seen.unwrap_or_else(|| &event["metadata"]["creationTimestamp"]), now).into()
}

fn involved(event: &Value) -> Value {
    let object = &event["involvedObject"];
    format!("{}/{}", text(&object["kind"]).to_lowercase(), text(&object["name"])).into()
}

fn access_modes(modes: &Value) -> Value {
    let short = |mode: &Value| match text(mode) {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    list(modes).map(short).collect::<Vec<_>>().join(",").into()
}

fn hosts(ingress: &Value) -> Value {
    let hosts: Vec<&str> = list(&ingress["spec"]["rules"]).map(|rule| text(&rule["host"])).collect();
    let hosts: Vec<&str> = hosts.into_iter().filter(|host| !host.is_empty()).collect();
    if hosts.is_empty() { json!("*") } else { hosts.join(",").into() }
}
