//! The Plan: its type, its status, and the nodes that are next.

use crate::go;
use crate::window::Window;
use listwatch::object::LabelSelector;
use listwatch::time::WallTime;
use listwatch::{Found, InformerHandle, kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha224, Sha256};
use std::collections::BTreeMap;

pub const LABEL_CONTROLLER: &str = "upgrade.cattle.io/controller";
pub const LABEL_EXCLUSIVE: &str = "upgrade.cattle.io/exclusive";
pub const LABEL_NODE: &str = "upgrade.cattle.io/node";
pub const LABEL_PLAN: &str = "upgrade.cattle.io/plan";
pub const LABEL_VERSION: &str = "upgrade.cattle.io/version";
pub const ANNOTATION_TTL: &str = "upgrade.cattle.io/ttl-seconds-after-finished";
pub const HOSTNAME: &str = "kubernetes.io/hostname";
const ANNOTATION_DIGEST: &str = "upgrade.cattle.io/digest";

/// The label of a node, and of a Job, that has the hash of a plan.
pub fn label_of(plan: &str) -> String {
    format!("plan.upgrade.cattle.io/{plan}")
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    #[serde(default)]
    pub metadata: Metadata,
    pub spec: PlanSpec,
    #[serde(default)]
    pub status: PlanStatus,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_active_deadline_secs: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<SecretSpec>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prepare: Option<ContainerSpec>,
    pub upgrade: ContainerSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cordon: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<DrainSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_secrets: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_complete_delay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_complete_labels: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretSpec {
    pub name: String,
    #[serde(default)]
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_updates: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
}

impl SecretSpec {
    pub fn is_hashed(&self) -> bool {
        self.ignore_updates != Some(true)
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSpec {
    pub image: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envs: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_from: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<VolumeSpec>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<Value>,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct VolumeSpec {
    pub name: String,
    pub source: String,
    pub destination: String,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DrainSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_local_data: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_emptydir_data: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_daemon_sets: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_eviction: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_wait_for_delete_timeout: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<Value>,
}

/// Nanoseconds, or a text for kubectl.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Timeout {
    Nanoseconds(i64),
    Text(String),
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub latest_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub latest_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applying: Option<Vec<String>>,
}

/// Wrangler's condition: its time is that of the last change of status or message.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    last_update_time: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    last_transition_time: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
}

#[derive(Deserialize)]
pub struct Secret {
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
    #[serde(default, rename = "type")]
    type_: String,
    #[serde(default)]
    immutable: Option<bool>,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Node {
    #[serde(default)]
    pub metadata: Metadata,
    #[serde(default)]
    pub spec: NodeSpec,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct NodeSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unschedulable: Option<bool>,
}

kind!(Plan, "upgrade.cattle.io/v1", "plans");
kind!(Secret, "v1", "secrets");
kind!(cluster Node, "v1", "nodes");

pub const COMPLETE: &str = "Complete";
pub const VALIDATED: &str = "Validated";
pub const RESOLVED: &str = "LatestResolved";

impl PlanStatus {
    fn find(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().flatten().find(|it| it.type_ == type_)
    }

    pub fn is(&self, type_: &str, status: &str) -> bool {
        self.find(type_).is_some_and(|it| it.status == status)
    }

    pub fn reason(&self, type_: &str) -> &str {
        self.find(type_).map_or("", |it| &it.reason)
    }

    /// Adds a condition as unknown, if there is none of its type.
    pub fn know(&mut self, type_: &str) -> &mut Condition {
        let all = self.conditions.get_or_insert_default();
        let at = all.iter().position(|it| it.type_ == type_).unwrap_or_else(|| {
            let (type_, status) = (type_.to_owned(), "Unknown".to_owned());
            all.push(Condition { type_, status, ..Condition::default() });
            all.len() - 1
        });
        &mut all[at]
    }

    pub fn set(&mut self, type_: &str, status: bool, reason: &str, message: &str, now: WallTime) {
        let it = self.know(type_);
        let status = if status { "True" } else { "False" };
        if it.status != status || it.message != message {
            (it.status, it.message) = (status.to_owned(), message.to_owned());
            it.last_update_time = now.to_string();
        }
        it.reason = reason.to_owned();
    }

    pub fn is_applying(&self, hostname: &str) -> bool {
        self.applying.iter().flatten().any(|it| it == hostname)
    }
}

/// An Event about a plan.
pub struct Note {
    pub is_warning: bool,
    pub reason: &'static str,
    pub text: String,
}

impl Note {
    pub fn normal(reason: &'static str, text: impl Into<String>) -> Self {
        Self { is_warning: false, reason, text: text.into() }
    }

    pub fn warning(reason: &'static str, text: impl Into<String>) -> Self {
        Self { is_warning: true, reason, text: text.into() }
    }
}

/// What became of the first half of a reconcile.
pub struct Resolved {
    pub notes: Vec<Note>,
    /// The plan is to be tried again; its status is stored nevertheless by the second half.
    pub error: Option<String>,
}

/// Validates a plan, and gives its status the version and the hash.
pub fn resolve(plan: &mut Plan, secrets: &Secrets<'_>, now: WallTime) -> Resolved {
    let mut notes = Vec::new();
    plan.status.know(COMPLETE);
    plan.status.know(VALIDATED);
    if let Err(why) = validate(&plan.spec, secrets) {
        if !plan.status.is(VALIDATED, "False") {
            notes.push(Note::warning("ValidateFailed", format!("Failed to validate plan: {why}")));
        }
        plan.status.set(VALIDATED, false, "Error", &why, now);
        let error = set_hash(plan, secrets).err();
        return Resolved { notes, error };
    }
    if !plan.status.is(VALIDATED, "True") {
        notes.push(Note::normal("Validated", "Plan is valid"));
    }
    plan.status.set(VALIDATED, true, "PlanIsValid", "", now);
    plan.status.know(RESOLVED);
    let version = plan.spec.version.clone().unwrap_or_default();
    if version.is_empty() {
        let (why, text) = if plan.spec.channel.as_deref().is_none_or(str::is_empty) {
            let why = "cannot resolve plan: missing channel and version";
            (why, why.to_owned())
        } else {
            let why = "this program does not poll channels; set spec.version";
            (why, format!("Failed to resolve latest version from Spec.Channel: {why}"))
        };
        if !plan.status.is(RESOLVED, "False") {
            notes.push(Note::warning("ResolveFailed", text));
        }
        plan.status.set(RESOLVED, false, "Error", why, now);
        return Resolved { notes, error: None };
    }
    let latest = version.replace('+', "-");
    if !plan.status.is(RESOLVED, "True") || plan.status.latest_version != latest {
        notes.push(Note::normal("Resolved", format!("Resolved latest version from Spec.Version: {latest}")));
        plan.status.set(COMPLETE, false, "Resolved", "", now);
    }
    plan.status.latest_version = latest;
    plan.status.set(RESOLVED, true, "Version", "", now);
    let error = set_hash(plan, secrets).err();
    Resolved { notes, error }
}

fn validate(spec: &PlanSpec, secrets: &Secrets<'_>) -> Result<(), String> {
    if let Some(drain) = &spec.drain {
        if drain.delete_emptydir_data.is_some() && drain.delete_local_data.is_some() {
            return Err("spec.drain cannot specify both deleteEmptydirData and deleteLocalData".to_owned());
        }
        drain.pod_selector.as_ref().map(selector).transpose()?;
    }
    if let Some(window) = &spec.window {
        window.check().map_err(|why| format!("spec.window is invalid, {why}"))?;
    }
    if spec.post_complete_delay.as_deref().and_then(go::parse_duration).is_some_and(|delay| delay < 0) {
        return Err("spec.postCompleteDelay is negative".to_owned());
    }
    let hashed = spec.secrets.iter().flatten().filter(|it| it.is_hashed());
    let missing: Vec<_> = hashed.filter_map(|it| secrets(&it.name).err()).collect();
    if missing.is_empty() { Ok(()) } else { Err(missing.join(", ")) }
}

/// The hash of a Secret by its name, or why there is none.
pub type Secrets<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

fn set_hash(plan: &mut Plan, secrets: &Secrets<'_>) -> Result<(), String> {
    if plan.status.reason(RESOLVED) == "Error" {
        return Ok(());
    }
    let mut hash = Sha224::new();
    hash.update(&plan.status.latest_version);
    hash.update(plan.spec.service_account_name.as_deref().unwrap_or_default());
    let places = plan.metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION_DIGEST));
    for place in places.iter().filter(|all| !all.is_empty()).flat_map(|all| all.split(',')) {
        let whole = serde_json::to_value(&*plan).map_err(|error| error.to_string())?;
        hash.update(go::text_at(&whole, place));
    }
    for secret in plan.spec.secrets.iter().flatten().filter(|it| it.is_hashed()) {
        hash.update(secrets(&secret.name)?);
    }
    plan.status.latest_hash = go::hex(&hash.finalize());
    Ok(())
}

/// The hash of a Secret, as kubectl makes it.
pub fn secret_hash(name: &str, secret: &Secret) -> String {
    let mut whole = serde_json::json!({ "data": secret.data, "kind": "Secret", "name": name, "type": secret.type_ });
    if let Some(immutable) = secret.immutable {
        whole["immutable"] = immutable.into();
    }
    let hash = go::hex(&Sha256::digest(go::json(&whole)));
    hash.chars()
        .take(10)
        .map(|it| match it {
            '0' => 'g',
            '1' => 'h',
            '3' => 'k',
            'a' => 'm',
            'e' => 't',
            other => other,
        })
        .collect()
}

/// The selector of an object's field.
pub fn selector(field: &Value) -> Result<LabelSelector, String> {
    serde_json::from_value(field.clone()).map_err(|error| error.to_string())
}

/// The name of a node for the scheduler.
pub fn hostname(node: &Found<Node>) -> &str {
    node.meta().label(HOSTNAME).unwrap_or_else(|| node.meta().name())
}

/// The nodes to which the plan is to be applied now, in the order of their names.
pub fn select_nodes(plan: &Found<Plan>, nodes: &InformerHandle<Node>) -> Result<Vec<Found<Node>>, String> {
    // Without a selector, a plan selects nothing.
    let Some(selector) = plan.spec.node_selector.as_ref().map(selector).transpose()? else { return Ok(Vec::new()) };
    let (status, label) = (&plan.status, label_of(plan.meta().name()));
    let is_due = |node: &Found<Node>| {
        let done = node.meta().label(&label);
        selector.matches(|name| node.meta().label(name))
            && node.meta().label(HOSTNAME).is_some()
            && done.is_none_or(|done| done != "disabled" && done != status.latest_hash)
    };
    let due = nodes.list().into_iter().filter(|node| is_due(node));
    let (mut selected, mut others): (Vec<_>, Vec<_>) = due.partition(|node| status.is_applying(hostname(node)));
    let uid = |it: &listwatch::object::Meta| it.uid().map(|uid| uid.to_string()).unwrap_or_default();
    // An order that differs with plan and version, and that every call finds again.
    others.sort_by_key(|node| {
        Sha256::digest(format!("{}{}{}", uid(node.meta()), uid(plan.meta()), status.latest_hash)).to_vec()
    });
    let limit = usize::try_from(plan.spec.concurrency.unwrap_or(0)).unwrap_or(0);
    let free = limit.saturating_sub(selected.len());
    selected.extend(others.into_iter().take(free));
    selected.sort_by(|one, other| one.meta().name().cmp(other.meta().name()));
    Ok(selected)
}
