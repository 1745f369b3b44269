//! The Job that applies a plan to a node.

use crate::go;
use crate::objectset;
use crate::plan::{
    ANNOTATION_TTL, ContainerSpec, DrainSpec, HOSTNAME, LABEL_CONTROLLER, LABEL_EXCLUSIVE, LABEL_NODE, LABEL_PLAN,
    LABEL_VERSION, Metadata, Node, Plan, SecretSpec, Timeout, VolumeSpec, hostname, label_of,
};
use listwatch::object::{Condition, Conditions};
use listwatch::{Found, kind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::str::FromStr;

#[derive(Clone, Serialize, Deserialize)]
pub struct Job {
    #[serde(default)]
    pub metadata: Metadata,
    pub spec: JobSpec,
    #[serde(default)]
    pub status: JobStatus,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSpec {
    pub ttl_seconds_after_finished: Option<i32>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct JobStatus {
    #[serde(default)]
    pub conditions: Conditions,
}

kind!(Job, "batch/v1", "jobs");

impl Job {
    /// The condition of this type that holds.
    pub fn holds(&self, type_: &str) -> Option<&Condition> {
        self.status.conditions.find(type_).filter(|it| it.is_true())
    }

    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }
}

/// The settings of all Jobs, by the variables of the original.
pub struct Settings {
    backoff_limit: i32,
    active_deadline: i64,
    longest_deadline: i64,
    kubectl_image: String,
    kubectl_image_windows: String,
    pull_policy: String,
    is_privileged: bool,
    ttl: i32,
    replacement: String,
}

impl Settings {
    pub fn from_env() -> Self {
        Self {
            backoff_limit: parsed("BACKOFF_LIMIT", 2),
            active_deadline: parsed("ACTIVE_DEADLINE_SECONDS", 600),
            longest_deadline: parsed("ACTIVE_DEADLINE_SECONDS_MAX", 0),
            kubectl_image: text("KUBECTL_IMAGE", "rancher/kubectl:v1.30.3"),
            kubectl_image_windows: text("KUBECTL_IMAGE_WINDOWS", ""),
            pull_policy: text("IMAGE_PULL_POLICY", "IfNotPresent"),
            is_privileged: parsed("PRIVILEGED", true),
            ttl: parsed("TTL_SECONDS_AFTER_FINISH", 900),
            replacement: text("POD_REPLACEMENT_POLICY", "TerminatingOrFailed"),
        }
    }

    /// Whether a Job can be made for the node.
    pub fn check(&self, node: &Found<Node>) -> Result<(), &'static str> {
        if is_windows(node) && self.kubectl_image_windows.is_empty() {
            return Err("SYSTEM_UPGRADE_JOB_KUBECTL_IMAGE_WINDOWS is required when targeting Windows nodes");
        }
        Ok(())
    }
}

fn text(name: &str, default: &str) -> String {
    let value = env::var(format!("SYSTEM_UPGRADE_JOB_{name}")).unwrap_or_default();
    if value.is_empty() { default.to_owned() } else { value }
}

/// The value of a variable. One that cannot be read is told, and does not count.
fn parsed<T: FromStr>(name: &str, default: T) -> T {
    let Ok(text) = env::var(format!("SYSTEM_UPGRADE_JOB_{name}")) else { return default };
    text.parse().unwrap_or_else(|_| {
        eprintln!("failed to parse $SYSTEM_UPGRADE_JOB_{name}: {text}");
        default
    })
}

fn is_windows(node: &Found<Node>) -> bool {
    node.meta().label("kubernetes.io/os") == Some("windows")
}

pub fn name_of(plan: &Found<Plan>, node: &Found<Node>) -> String {
    let short = node.meta().name().split('.').next().unwrap_or_default();
    go::safe_name(&["apply", plan.meta().name(), "on", short, "with", &plan.status.latest_hash])
}

/// The whole Job.
pub fn wanted(plan: &Found<Plan>, node: &Found<Node>, controller: &str, settings: &Settings) -> Value {
    let (spec, status, name) = (&plan.spec, &plan.status, plan.meta().name());
    let ttl = ttl_of(plan, settings);
    let exclusive = spec.exclusive.unwrap_or(false).to_string();
    let is_foreign = |key: &str| !key.contains("cattle.io/");
    let mut labels: BTreeMap<String, String> = plan
        .meta()
        .labels()
        .filter(|(key, _)| is_foreign(key))
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    let own = [
        (LABEL_CONTROLLER.to_owned(), controller),
        (LABEL_EXCLUSIVE.to_owned(), &exclusive),
        (LABEL_NODE.to_owned(), node.meta().name()),
        (LABEL_PLAN.to_owned(), name),
        (LABEL_VERSION.to_owned(), &status.latest_version),
        (label_of(name), &status.latest_hash),
    ];
    labels.extend(own.map(|(key, value)| (key, value.to_owned())));
    let is_copied = |key: &str| is_foreign(key) && !key.contains("kubectl.kubernetes.io/");
    let copied = plan.metadata.annotations.iter().flatten().filter(|(key, _)| is_copied(key));
    let pod_annotations: BTreeMap<String, String> = copied.map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut annotations = pod_annotations.clone();
    annotations.insert(ANNOTATION_TTL.to_owned(), ttl.to_string());

    let unschedulable =
        json!({ "key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule" });
    let tolerations: Vec<_> =
        std::iter::once(unschedulable).chain(spec.tolerations.iter().flatten().cloned()).collect();
    let apart = if spec.exclusive == Some(true) { (LABEL_EXCLUSIVE, &*exclusive) } else { (LABEL_PLAN, name) };
    let template = json!({
        "metadata": { "labels": labels, "annotations": some(&pod_annotations) },
        "spec": {
            "hostIPC": true,
            "hostPID": true,
            "hostNetwork": true,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "restartPolicy": "Never",
            "priorityClassName": spec.priority_class_name,
            "serviceAccountName": spec.service_account_name,
            "imagePullSecrets": spec.image_pull_secrets,
            "tolerations": tolerations,
            "affinity": {
                "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [
                    { "matchExpressions": [{ "key": HOSTNAME, "operator": "In", "values": [hostname(node)] }] },
                ] } },
                "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{
                    "labelSelector": {
                        "matchExpressions": [{ "key": apart.0, "operator": "In", "values": [apart.1] }],
                    },
                    "topologyKey": HOSTNAME,
                }] },
            },
            "volumes": volumes(plan),
            "initContainers": some(&init_containers(plan, node, settings)),
            "containers": [upgrade_container(plan, node, settings)],
        },
    });
    let mut job = without_nulls(json!({
        "metadata": {
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": plan.informer().api_version(),
                "kind": plan.informer().kind(),
                "name": name,
                "uid": plan.meta().uid().map(|uid| uid.to_string()),
                "controller": true,
                "blockOwnerDeletion": false,
            }],
        },
        "spec": {
            "podReplacementPolicy": settings.replacement,
            "backoffLimit": settings.backoff_limit,
            "ttlSecondsAfterFinished": ttl,
            "completions": 1,
            "parallelism": 1,
            "activeDeadlineSeconds": deadline(plan, settings),
            "template": template,
        },
    }));
    objectset::mark(&mut job, plan, &name_of(plan, node), controller);
    job
}

/// The value without the fields that are null.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(elements) => Value::Array(elements.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// None, if there is nothing.
fn some<T: Serialize + Default + PartialEq>(value: &T) -> Option<&T> {
    Some(value).filter(|value| **value != T::default())
}

/// It is a minute longer than the delay, so that the controller sees the Job for all of the delay.
fn ttl_of(plan: &Found<Plan>, settings: &Settings) -> i32 {
    let delay = plan.spec.post_complete_delay.as_deref().and_then(go::parse_duration);
    let least = delay.map_or(0, |delay| (delay + 60_000_000_000) / 1_000_000_000);
    settings.ttl.max(i32::try_from(least).unwrap_or(i32::MAX))
}

fn deadline(plan: &Found<Plan>, settings: &Settings) -> Option<i64> {
    let longest = Some(settings.longest_deadline).filter(|most| *most > 0);
    let own = match plan.spec.job_active_deadline_secs {
        Some(0) => None,
        Some(seconds) if seconds > 0 => Some(seconds),
        _ => Some(settings.active_deadline),
    };
    match (own, longest) {
        (Some(own), Some(longest)) => Some(own.min(longest)),
        (own, longest) => own.or(longest),
    }
}

fn volumes(plan: &Found<Plan>) -> Vec<Value> {
    let field = |name: &str| {
        let path = format!("metadata.{name}");
        json!({ "path": name, "fieldRef": { "apiVersion": "v1", "fieldPath": path } })
    };
    let items = [field("labels"), field("annotations")];
    let own = [
        json!({ "name": "host-root", "hostPath": { "path": "/", "type": "Directory" } }),
        json!({ "name": "pod-info", "downwardAPI": { "defaultMode": 420, "items": items } }),
    ];
    let secrets = plan.spec.secrets.iter().flatten().map(|secret| {
        let source = json!({
            "secretName": secret.name,
            "defaultMode": secret.default_mode,
            "optional": secret.ignore_updates.unwrap_or(false),
        });
        json!({ "name": go::safe_name(&["secret", &secret.name]), "secret": source })
    });
    let of_plan = plan.spec.upgrade.volumes.iter().flatten();
    let of_plan = of_plan.map(|it| json!({ "name": it.name, "hostPath": { "path": it.source } }));
    own.into_iter().chain(secrets).chain(of_plan).collect()
}

fn init_containers(plan: &Found<Plan>, node: &Found<Node>, settings: &Settings) -> Vec<Value> {
    let (spec, mut all) = (&plan.spec, Vec::new());
    let system = is_windows(node).then(windows_security);
    if let Some(prepare) = &spec.prepare {
        let security = system.clone().or_else(|| prepare.security_context.clone());
        let image = go::with_tag(&prepare.image, &plan.status.latest_version);
        let prepare = ContainerSpec { image, security_context: security, ..prepare.clone() };
        all.push(container("prepare", &prepare, plan, settings));
    }
    let args = match &spec.drain {
        Some(drain) => Some(("drain", drain_args(drain, node.meta().name()))),
        None if spec.cordon == Some(true) => Some(("cordon", ["cordon", node.meta().name()].map(str::to_owned).into())),
        None => None,
    };
    if let Some((name, args)) = args {
        let image = if system.is_some() { &settings.kubectl_image_windows } else { &settings.kubectl_image };
        let kubectl = ContainerSpec {
            image: image.clone(),
            args: Some(args),
            volumes: spec.upgrade.volumes.clone(),
            security_context: system,
            ..ContainerSpec::default()
        };
        all.push(container(name, &kubectl, plan, settings));
    }
    all
}

fn upgrade_container(plan: &Found<Plan>, node: &Found<Node>, settings: &Settings) -> Value {
    let upgrade = &plan.spec.upgrade;
    let security = upgrade.security_context.clone().unwrap_or_else(|| {
        if is_windows(node) {
            windows_security()
        } else {
            json!({ "privileged": settings.is_privileged, "capabilities": { "add": ["CAP_SYS_BOOT"] } })
        }
    });
    let image = go::with_tag(&upgrade.image, &plan.status.latest_version);
    let upgrade = ContainerSpec { image, security_context: Some(security), ..upgrade.clone() };
    container("upgrade", &upgrade, plan, settings)
}

fn windows_security() -> Value {
    json!({ "windowsOptions": { "hostProcess": true, "runAsUserName": "NT AUTHORITY\\SYSTEM" } })
}

fn container(name: &str, spec: &ContainerSpec, plan: &Found<Plan>, settings: &Settings) -> Value {
    let from_field = |name: &str, path: &str| {
        let source = json!({ "fieldRef": { "fieldPath": path } });
        json!({ "name": format!("SYSTEM_UPGRADE_{name}"), "valueFrom": source })
    };
    let of_plan = |name: &str, value: &str| json!({ "name": format!("SYSTEM_UPGRADE_PLAN_{name}"), "value": value });
    let of_pod = [
        from_field("NODE_NAME", "spec.nodeName"),
        from_field("POD_NAME", "metadata.name"),
        from_field("POD_UID", "metadata.uid"),
    ];
    let of_plan = [
        of_plan("NAME", plan.meta().name()),
        of_plan("LATEST_HASH", &plan.status.latest_hash),
        of_plan("LATEST_VERSION", &plan.status.latest_version),
    ];
    let env: Vec<_> = of_pod.into_iter().chain(spec.envs.iter().flatten().cloned()).chain(of_plan).collect();
    let own = [
        json!({ "name": "host-root", "mountPath": "/host" }),
        json!({ "name": "pod-info", "mountPath": "/run/system-upgrade/pod", "readOnly": true }),
    ];
    let secrets = plan.spec.secrets.iter().flatten().map(secret_mount);
    let volumes = spec.volumes.iter().flatten().map(volume_mount);
    let mounts: Vec<_> = own.into_iter().chain(secrets).chain(volumes).collect();
    json!({
        "name": name,
        "image": spec.image,
        "command": spec.command,
        "args": spec.args,
        "env": env,
        "envFrom": spec.env_from,
        "volumeMounts": mounts,
        "imagePullPolicy": settings.pull_policy,
        "securityContext": spec.security_context,
    })
}

fn secret_mount(secret: &SecretSpec) -> Value {
    let path = match &*secret.path {
        "" => format!("/run/system-upgrade/secrets/{}", secret.name),
        path if path.starts_with('/') => path.to_owned(),
        path => format!("/run/system-upgrade/secrets/{path}"),
    };
    json!({ "name": go::safe_name(&["secret", &secret.name]), "mountPath": path, "readOnly": true })
}

fn volume_mount(volume: &VolumeSpec) -> Value {
    json!({ "name": volume.name, "mountPath": volume.destination })
}

fn drain_args(drain: &DrainSpec, node: &str) -> Vec<String> {
    let mut requirements = vec![(LABEL_CONTROLLER.to_owned(), format!("!{LABEL_CONTROLLER}"))];
    requirements.extend(drain.pod_selector.iter().flat_map(requirements_of));
    requirements.sort();
    let requirements: Vec<_> = requirements.into_iter().map(|(_, text)| text).collect();
    let mut args = ["drain", node, "--pod-selector"].map(str::to_owned).to_vec();
    args.push(requirements.join(","));
    if drain.ignore_daemon_sets != Some(false) {
        args.push("--ignore-daemonsets".to_owned());
    }
    if drain.delete_local_data != Some(false) && drain.delete_emptydir_data != Some(false) {
        args.push("--delete-emptydir-data".to_owned());
    }
    if drain.force == Some(true) {
        args.push("--force".to_owned());
    }
    if let Some(timeout) = &drain.timeout {
        let text = match timeout {
            Timeout::Nanoseconds(nanos) => go::duration(*nanos),
            Timeout::Text(text) => text.clone(),
        };
        args.extend(["--timeout".to_owned(), text]);
    }
    if let Some(seconds) = drain.grace_period {
        args.extend(["--grace-period".to_owned(), seconds.to_string()]);
    }
    if drain.disable_eviction == Some(true) {
        args.push("--disable-eviction=true".to_owned());
    }
    if let Some(seconds) = drain.skip_wait_for_delete_timeout.filter(|it| *it > 0) {
        args.extend(["--skip-wait-for-delete-timeout".to_owned(), seconds.to_string()]);
    }
    args
}

/// The requirements of a selector in the form of apimachinery, with their labels.
fn requirements_of(selector: &Value) -> Vec<(String, String)> {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())));
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten().map(|it| {
        let key = it["key"].as_str().unwrap_or_default().to_owned();
        let mut values: Vec<_> = it["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match it["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.clone(),
        };
        (key, text)
    });
    labels.chain(expressions).collect()
}
