//! kube-green: puts the Deployments, StatefulSets and CronJobs of a namespace to sleep, and wakes them up, by the
//! schedule of a SleepInfo. With the name of a recording, it plays that.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use core::time::Duration;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use json_patch::PatchOperation;
use json_patch::jsonptr::{Assign as _, Resolve as _};
use listwatch::api::{Api, ApiCall, ApiError, ApiRequest, ApiResource, ApiResponse, Discovery, Patch};
use listwatch::controller::{Context, Error, Reconciled, Source, predicate};
use listwatch::election::Election;
use listwatch::prelude::*;
use listwatch::time::WallTime;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const NAME: &str = "kube-green";
/// How far from its time an operation may still be done.
const DELTA: Duration = Duration::from_secs(60);
const SCHEDULED_AT: &str = "scheduled-at";
const OPERATION: &str = "operation-type";
const ORIGINAL: &str = "original-resource-info";
const SLEEP: &str = "SLEEP";
const WAKE_UP: &str = "WAKE_UP";
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// An hour that a change of the clocks skips comes a week later, or two.
const MOST_DAYS: i64 = 16;

#[derive(Clone, Serialize, Deserialize)]
struct SleepInfo {
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    weekdays: String,
    sleep_at: String,
    wake_up_at: Option<String>,
    time_zone: Option<String>,
    #[serde(default)]
    exclude_ref: Vec<FilterRef>,
    #[serde(default)]
    include_ref: Vec<FilterRef>,
    suspend_cron_jobs: Option<bool>,
    suspend_deployments: Option<bool>,
    suspend_stateful_sets: Option<bool>,
    #[serde(default)]
    patches: Vec<TargetPatch>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FilterRef {
    api_version: String,
    kind: String,
    name: String,
    match_labels: BTreeMap<String, String>,
}

#[derive(Clone, Serialize, Deserialize)]
struct TargetPatch {
    target: Target,
    patch: String,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Target {
    group: String,
    kind: String,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    last_schedule_time: Option<WallTime>,
    operation: Option<String>,
}

#[derive(Deserialize)]
struct Secret {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

kind!(SleepInfo, "kube-green.com/v1alpha1", "sleepinfos");
kind!(Secret, "v1", "secrets");

/// The merge patches that wake up objects, by target and name.
type Originals = BTreeMap<String, BTreeMap<String, String>>;

/// What the Secret of a SleepInfo tells of its last operation.
#[derive(Default)]
struct Last {
    at: Option<WallTime>,
    was_sleep: bool,
    originals: Originals,
}

/// The objects of one target, and what puts them to sleep.
struct Sleepers {
    target: Target,
    api: Api<Value>,
    patch: json_patch::Patch,
    objects: Vec<Value>,
}

fn kube_green(world: impl Into<World>, is_elected: bool) -> Result<(), RunError> {
    let controller = Controller::new(NAME, world);
    let infos = controller.informer::<SleepInfo>();
    let controller = controller.reconciles(Source::from(&infos).when(predicate::generation_changed)).workers(20);
    let controller = if is_elected { controller.lead_by(Election::new("2bd226ed.kube-green.com")) } else { controller };
    controller.run(async |cx, key| match infos.get(&key) {
        Some(info) => reconcile(&cx, &info).await,
        None => Ok(Outcome::Done),
    })
}

async fn reconcile(cx: &Context, info: &Found<SleepInfo>) -> Reconciled {
    let sleep = info.spec.schedule(&info.spec.sleep_at)?;
    let wake_up = info.spec.wake_up_at.as_deref().filter(|time| !time.is_empty());
    let wake_up = wake_up.map(|time| info.spec.schedule(time)).transpose()?;
    let secrets =
        Api::<Secret>::new(&Resource::of::<Secret>().in_namespace(info.meta().namespace().unwrap_or_default()));
    let secret = match cx.call(secrets.get(&secret_name(info))).await {
        Ok(secret) => Some(secret),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error.into()),
    };
    let mut last = secret.as_ref().map(Last::of).transpose()?.unwrap_or_default();
    let (operation, current, next) = match &wake_up {
        Some(wake_up) if last.was_sleep => (WAKE_UP, wake_up, &sleep),
        wake_up => (SLEEP, &sleep, wake_up.as_ref().unwrap_or(&sleep)),
    };

    let now = cx.clock().wall();
    let due = due_at(current, last.at, now);
    if !due.is_some_and(|due| is_near(due, now)) {
        return Ok(at(due, now));
    }
    let next = next.after(now + DELTA);
    let all = sleepers(cx, info).await?;
    cx.change_status(info, |info| {
        info.status.last_schedule_time = Some(now);
        info.status.operation = (!all.is_empty()).then(|| operation.to_owned());
    })
    .await?;
    for sleepers in &all {
        let originals = last.originals.entry(sleepers.target.name()).or_default();
        match operation {
            SLEEP => put_to_sleep(cx, info, sleepers, originals).await?,
            _ => wake(cx, info, sleepers, originals).await?,
        }
    }

    let mut data = json!({ SCHEDULED_AT: now.to_string() });
    if !all.is_empty() {
        data[OPERATION] = operation.into();
    }
    if !all.is_empty() && operation == SLEEP {
        last.originals.retain(|target, of| !of.is_empty() && all.iter().any(|it| it.target.name() == *target));
        data[ORIGINAL] = serde_json::to_string(&last.originals)?.into();
    }
    let wanted = secret_of(info, &data);
    let written = match secret {
        None => secrets.create(&wanted),
        Some(_) => secrets.replace(&secret_name(info), &wanted),
    };
    cx.call(written.with_query("fieldManager", NAME)).await?;
    // Nothing was put to sleep, so there is nothing to wake up.
    let next = if all.is_empty() && operation == SLEEP { next.and_then(|next| sleep.after(next)) } else { next };
    Ok(at(next, now))
}

/// When the operation is due that follows the last one.
fn due_at(schedule: &Schedule, last: Option<WallTime>, now: WallTime) -> Option<WallTime> {
    let due = schedule.after(last.unwrap_or(now - DELTA))?;
    let is_missed = last.is_some() && due < now && !is_near(due, now);
    if is_missed { schedule.after(now - DELTA) } else { Some(due) }
}

fn is_near(one: WallTime, other: WallTime) -> bool {
    one.saturating_since(other).max(other.saturating_since(one)) <= DELTA
}

/// Reconciles again at this time, if there is one.
fn at(time: Option<WallTime>, now: WallTime) -> Outcome {
    time.filter(|time| *time > now).map_or(Outcome::Done, |time| Outcome::RequeueAfter(time.saturating_since(now)))
}

async fn put_to_sleep(
    cx: &Context,
    info: &Found<SleepInfo>,
    sleepers: &Sleepers,
    originals: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    for object in &sleepers.objects {
        if is_controlled(object) {
            continue;
        }
        let asleep = match changed(object, &sleepers.patch) {
            Ok(asleep) => asleep,
            Err(error) => {
                cx.warn(info, "PatchFailed", &format!("{}: {error}", sleepers.title(object)));
                continue;
            }
        };
        let restore = merge_patch_of(&asleep, object);
        if restore == json!({}) {
            continue;
        }
        originals.insert(name_of(object).to_owned(), restore.to_string());
        send(cx, sleepers, object, &asleep).await?;
    }
    Ok(())
}

async fn wake(
    cx: &Context,
    info: &Found<SleepInfo>,
    sleepers: &Sleepers,
    originals: &BTreeMap<String, String>,
) -> Result<(), Error> {
    for object in &sleepers.objects {
        let Some(original) = originals.get(name_of(object)) else { continue };
        match changed(object, &sleepers.patch) {
            Ok(asleep) if asleep == *object => {
                let awake = merged(object, &serde_json::from_str(original)?);
                send(cx, sleepers, object, &awake).await?;
            }
            Ok(_) => cx.warn(info, "Modified", &format!("{} was changed in its sleep", sleepers.title(object))),
            Err(error) => cx.warn(info, "PatchFailed", &format!("{}: {error}", sleepers.title(object))),
        }
    }
    Ok(())
}

/// Sends what differs, unless the object is gone.
async fn send(cx: &Context, sleepers: &Sleepers, before: &Value, after: &Value) -> Result<(), ApiError> {
    let patch = merge_patch_of(before, after);
    let call = sleepers.api.patch(name_of(before), &Patch::Merge(&patch)).with_query("fieldManager", NAME);
    match cx.call(call).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// The objects that sleep by a SleepInfo, by their targets. Of several patches of a target, the last counts.
async fn sleepers(cx: &Context, info: &Found<SleepInfo>) -> Result<Vec<Sleepers>, Error> {
    let patches: BTreeMap<Target, String> =
        info.spec.all_patches().into_iter().map(|TargetPatch { target, patch }| (target, patch)).collect();
    let mut found = Vec::new();
    for (target, patch) in patches {
        let Some(resource) = resource_of(cx, &target).await? else { continue };
        let api = Api::<Value>::new(&resource.in_namespace(info.meta().namespace().unwrap_or_default()));
        let (fields, labels) = info.spec.selectors(&target);
        let list = api.list().with_query("fieldSelector", fields).with_query("labelSelector", labels);
        let objects = match cx.call(list).await {
            Ok(list) => list.items,
            Err(error) => {
                cx.warn(info, "ListFailed", &format!("{}: {error}", target.name()));
                continue;
            }
        };
        if !objects.is_empty() {
            let patch = operations(&patch).map_err(|error| Error::terminal(format!("{}: {error}", target.name())))?;
            found.push(Sleepers { target, api, patch, objects });
        }
    }
    Ok(found)
}

/// The resource of a target, if the server has it. The usual ones are known.
async fn resource_of(cx: &Context, target: &Target) -> Result<Option<Resource>, ApiError> {
    let usual = match (&*target.group, &*target.kind) {
        ("apps", "Deployment") => Some("/apis/apps/v1/deployments"),
        ("apps", "StatefulSet") => Some("/apis/apps/v1/statefulsets"),
        ("batch", "CronJob") => Some("/apis/batch/v1/cronjobs"),
        _ => None,
    };
    if let Some(path) = usual {
        return Ok(Some(Resource::new(path)));
    }
    let mut discovery = Discovery::new();
    while let Some(request) = discovery.poll_request() {
        let answer = cx.call(raw(request.clone())).await?;
        discovery.handle(&request, &ApiResponse::new(200, serde_json::to_vec(&answer).unwrap_or_default()))?;
    }
    let is_it = |it: &&ApiResource| {
        it.group == target.group && it.kind == target.kind && it.verbs.iter().any(|verb| verb == "list")
    };
    Ok(discovery.resources().iter().find(is_it).map(ApiResource::resource))
}

/// A call of any request.
fn raw(request: ApiRequest) -> ApiCall<Value> {
    Api::<Value>::new(&Resource::new("/")).get("any").map_request(|_| request)
}

impl Spec {
    fn schedule(&self, time: &str) -> Result<Schedule, Error> {
        Schedule::parse(time, &self.weekdays, self.time_zone.as_deref().unwrap_or_default()).map_err(Error::terminal)
    }

    /// The patches of the usual kinds that shall sleep, and those of the SleepInfo.
    fn all_patches(&self) -> Vec<TargetPatch> {
        let usual = [
            (self.suspend_deployments.unwrap_or(true), "apps", "Deployment", "/spec/replicas", json!(0)),
            (self.suspend_stateful_sets.unwrap_or(true), "apps", "StatefulSet", "/spec/replicas", json!(0)),
            (self.suspend_cron_jobs.unwrap_or(false), "batch", "CronJob", "/spec/suspend", json!(true)),
        ];
        let usual = usual.into_iter().filter(|(is_wanted, ..)| *is_wanted).map(|(_, group, kind, path, value)| {
            let target = Target { group: group.to_owned(), kind: kind.to_owned() };
            TargetPatch { target, patch: json!([{ "op": "add", "path": path, "value": value }]).to_string() }
        });
        usual.chain(self.patches.iter().cloned()).collect()
    }

    /// The field selector and the label selector of a target's objects.
    fn selectors(&self, target: &Target) -> (String, String) {
        let (mut fields, mut labels) = (Vec::new(), Vec::new());
        for (refs, sign) in [(&self.include_ref, "=="), (&self.exclude_ref, "!=")] {
            let of_target = refs.iter().filter(|it| it.names(target));
            fields.extend(of_target.map(|it| format!("metadata.name{sign}{}", it.name)));
            labels
                .extend(refs.iter().flat_map(|it| &it.match_labels).map(|(key, value)| format!("{key}{sign}{value}")));
        }
        (fields.join(","), labels.join(","))
    }
}

impl FilterRef {
    /// Whether it names an object of the target.
    fn names(&self, target: &Target) -> bool {
        let group = self.api_version.strip_prefix(&*target.group);
        group.is_some_and(|rest| rest.starts_with('/')) && self.kind == target.kind && !self.name.is_empty()
    }
}

impl Target {
    fn name(&self) -> String {
        format!("{}.{}", self.kind, self.group)
    }
}

impl Sleepers {
    fn title(&self, object: &Value) -> String {
        format!("{} {}", self.target.kind, name_of(object))
    }
}

impl Last {
    fn of(secret: &Secret) -> Result<Self, Error> {
        let text = |key: &str| -> Result<Option<String>, Error> {
            let Some(value) = secret.data.get(key) else { return Ok(None) };
            Ok(Some(String::from_utf8(BASE64.decode(value)?)?))
        };
        if secret.data.is_empty() {
            return Ok(Self::default());
        }
        let mut originals: Originals =
            text(ORIGINAL)?.map_or(Ok(BTreeMap::new()), |text| serde_json::from_str(&text))?;
        // The form of earlier versions.
        for (key, target, field) in
            [("deployment-replicas", "Deployment.apps", "replicas"), ("cronjobs-info", "CronJob.batch", "suspend")]
        {
            let Some(text) = text(key)? else { continue };
            let saved: Vec<Value> = serde_json::from_str(&text)?;
            let of_one = |it: &Value| {
                Some((it["name"].as_str()?.to_owned(), json!({ "spec": { field: it[field] } }).to_string()))
            };
            originals.insert(target.to_owned(), saved.iter().filter_map(of_one).collect());
        }
        let at = text(SCHEDULED_AT)?.unwrap_or_default().parse::<WallTime>()?;
        Ok(Self { at: Some(at), was_sleep: text(OPERATION)?.as_deref() == Some(SLEEP), originals })
    }
}

fn secret_name(info: &Found<SleepInfo>) -> String {
    format!("sleepinfo-{}", info.meta().name())
}

fn secret_of(info: &Found<SleepInfo>, data: &Value) -> Value {
    let (meta, uid) = (info.meta(), info.meta().uid().map(|uid| uid.to_string()));
    let (version, kind) = (SleepInfo::API_VERSION, SleepInfo::KIND);
    let owner = json!({ "apiVersion": version, "kind": kind, "name": meta.name(), "uid": uid });
    let labels = json!({ "app.kubernetes.io/managed-by": NAME });
    let metadata = json!({ "name": secret_name(info), "namespace": meta.namespace(), "labels": labels,
        "ownerReferences": [owner] });
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data })
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Whether another controller would undo a change of the object.
fn is_controlled(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| owner["controller"] == true)
}

/// The minutes, hours and weekdays are sets of bits.
struct Schedule {
    zone: TimeZone,
    minutes: u64,
    hours: u64,
    weekdays: u64,
}

impl Schedule {
    /// Parses `HH:mm` and weekdays. No time zone is UTC.
    fn parse(time: &str, weekdays: &str, zone: &str) -> Result<Self, String> {
        let (hours, minutes) = time.split_once(':').ok_or_else(|| format!("time should be HH:mm, actual: {time}"))?;
        let zone = if zone.is_empty() { Ok(TimeZone::UTC) } else { TimeZone::get(zone) };
        Ok(Self {
            zone: zone.map_err(|error| error.to_string())?,
            minutes: set(minutes, 59)?,
            hours: set(hours, 23)?,
            weekdays: set(weekdays, 6)?,
        })
    }

    /// The first time after another one.
    fn after(&self, time: WallTime) -> Option<WallTime> {
        let first = time.as_unix_seconds().div_euclid(60) + 1;
        let mut minute = first;
        while minute < first + MOST_DAYS * 24 * 60 {
            let at = Timestamp::from_second(minute * 60).ok()?.to_zoned(self.zone.clone());
            if !has(self.weekdays, at.weekday().to_sunday_zero_offset()) {
                minute = at.tomorrow().ok()?.start_of_day().ok()?.timestamp().as_second().div_euclid(60);
            } else if !has(self.hours, at.hour()) {
                minute += 60 - i64::from(at.minute());
            } else if !has(self.minutes, at.minute()) {
                minute += 1;
            } else {
                return Some(WallTime::from_unix_seconds(minute * 60));
            }
        }
        None
    }
}

fn has(set: u64, number: i8) -> bool {
    set >> number & 1 == 1
}

/// The numbers of a field, such as `1-5`, `*/15`, `mon,wed` or `8`.
fn set(field: &str, last: u32) -> Result<u64, String> {
    let wrong = || format!("`{field}` is no field of a schedule, from 0 to {last}");
    let number = |text: &str| match DAYS.iter().position(|day| last == 6 && text.eq_ignore_ascii_case(day)) {
        Some(day) => Ok(day as u32),
        None => text.parse().map_err(|_| wrong()),
    };
    let mut bits = 0;
    for part in field.split(',') {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let (from, to) = match (range, range.split_once('-')) {
            ("*" | "?", _) => (0, last),
            (_, Some((from, to))) => (number(from)?, number(to)?),
            (from, None) => (number(from)?, if step.is_some() { last } else { number(from)? }),
        };
        let step = step.map_or(Ok(1), number)?;
        if from > to || to > last || step == 0 {
            return Err(wrong());
        }
        (from..=to).step_by(step as usize).for_each(|number| bits |= 1 << number);
    }
    Ok(bits)
}

/// The operations of a patch in YAML.
fn operations(text: &str) -> Result<json_patch::Patch, String> {
    serde_yaml_ng::from_str(text).map_err(|error| error.to_string())
}

/// The object after the operations. An addition makes its parents, and what is missing counts as removed.
fn changed(object: &Value, patch: &json_patch::Patch) -> Result<Value, String> {
    let mut object = object.clone();
    for operation in &patch.0 {
        match operation {
            PatchOperation::Add(add) => {
                let parent = add.path.parent().filter(|parent| object.resolve(parent).is_err());
                let is_element = add.path.back().is_some_and(|last| matches!(last.encoded(), "-" | "0"));
                if let Some(parent) = parent {
                    let empty = if is_element { json!([]) } else { json!({}) };
                    object.assign(parent, empty).map_err(|error| error.to_string())?;
                }
            }
            PatchOperation::Remove(remove) if object.resolve(&remove.path).is_err() => continue,
            _ => {}
        }
        json_patch::patch(&mut object, core::slice::from_ref(operation)).map_err(|error| error.to_string())?;
    }
    Ok(object)
}

/// The object after a merge patch (RFC 7386).
fn merged(object: &Value, patch: &Value) -> Value {
    let mut object = object.clone();
    json_patch::merge(&mut object, patch);
    object
}

/// The merge patch that makes `after` of `before`.
fn merge_patch_of(before: &Value, after: &Value) -> Value {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else { return after.clone() };
    let mut patch: Map<String, Value> =
        old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new {
        match old.get(key) {
            Some(known) if known == value => {}
            Some(known) if known.is_object() => _ = patch.insert(key.clone(), merge_patch_of(known, value)),
            _ => _ = patch.insert(key.clone(), value.clone()),
        }
    }
    Value::Object(patch)
}

fn main() -> Result<(), RunError> {
    let (mut is_elected, mut tape) = (false, None);
    for argument in std::env::args().skip(1) {
        match &*argument {
            "--leader-elect" => is_elected = true,
            _ => tape = Some(argument),
        }
    }
    match tape {
        None => kube_green(Cluster::infer()?, is_elected),
        Some(tape) => kube_green(Playback::from_file(tape)?, is_elected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(time: &str, weekdays: &str, zone: &str, now: &str) -> String {
        let schedule = Schedule::parse(time, weekdays, zone).unwrap();
        schedule.after(now.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn times_follow_weekdays_and_zones() {
        // 2026-11-30 is a Monday.
        assert_eq!(after("20:00", "1-5", "", "2026-11-30T20:00:00Z"), "2026-12-01T20:00:00Z");
        assert_eq!(after("20:00", "fri", "Europe/Rome", "2026-11-30T20:00:00Z"), "2026-12-04T19:00:00Z");
        assert_eq!(after("*:*/20", "*", "", "2026-11-30T20:01:00Z"), "2026-11-30T20:20:00Z");
        assert_eq!(after("2:30", "0", "Europe/Rome", "2026-03-28T12:00:00Z"), "2026-04-05T00:30:00Z", "a skipped hour");
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for (time, weekdays, zone) in [("20", "*", ""), ("24:00", "*", ""), ("8:0", "7", ""), ("8:0", "*", "Mars")] {
            assert!(Schedule::parse(time, weekdays, zone).is_err(), "{time} {weekdays} {zone}");
        }
    }

    #[test]
    fn a_patch_is_undone_by_the_merge_patch_of_its_result() {
        let object = json!({ "spec": { "replicas": 3, "paused": true } });
        let patch = "
- { op: add, path: /spec/replicas, value: 0 }
- { op: add, path: /metadata/annotations/asleep, value: 'yes' }
- { op: remove, path: /spec/paused }
- { op: remove, path: /spec/missing }";
        let asleep = changed(&object, &operations(patch).unwrap()).unwrap();
        assert_eq!(asleep, json!({ "metadata": { "annotations": { "asleep": "yes" } }, "spec": { "replicas": 0 } }));
        assert_eq!(merged(&asleep, &merge_patch_of(&asleep, &object)), object);
    }

    #[test]
    fn a_namespace_sleeps_and_wakes_up() -> Result<(), Box<dyn std::error::Error>> {
        use listwatch::testing::SimulatedCluster;

        const DEPLOYMENTS: &str = "apps/v1/deployments";
        let cluster = SimulatedCluster::new();
        for (name, replicas) in [("web", 3), ("gateway", 2)] {
            let (meta, labels) = (json!({ "name": name, "namespace": "shop" }), json!({ "app": name }));
            let pod = json!({ "containers": [{ "name": "a", "image": "a" }] });
            let template = json!({ "metadata": { "labels": labels }, "spec": pod });
            let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": template });
            cluster.create(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec }))?;
        }
        // The clock begins at 2000-01-01T00:00:00Z.
        let excluded = json!([{ "apiVersion": "apps/v1", "kind": "Deployment", "name": "gateway" }]);
        let spec = json!({ "weekdays": "*", "sleepAt": "20:00", "wakeUpAt": "08:00", "excludeRef": excluded });
        let meta = json!({ "name": "nightly", "namespace": "shop" });
        let version = "kube-green.com/v1alpha1";
        cluster.create(json!({ "apiVersion": version, "kind": "SleepInfo", "metadata": meta, "spec": spec }))?;
        let world = World::from(cluster.clone());
        let (it, clock) = (cluster.clone(), world.clock().clone());
        kube_green(
            world.try_until(async move {
                let replicas = |name: &str| it.get(DEPLOYMENTS, name).map(|it| it["spec"]["replicas"].clone());
                clock.sleep(Duration::from_secs(20 * 3600 + 1)).await;
                assert_eq!((replicas("shop/web")?, replicas("shop/gateway")?), (json!(0), json!(2)));
                let secret = it.get("v1/secrets", "shop/sleepinfo-nightly")?;
                let original = BASE64.decode(secret["data"][ORIGINAL].as_str().unwrap_or_default())?;
                let expected = r#"{"Deployment.apps":{"web":"{\"spec\":{\"replicas\":3}}"}}"#;
                assert_eq!(String::from_utf8(original)?, expected);
                clock.sleep(Duration::from_secs(12 * 3600)).await;
                assert_eq!((replicas("shop/web")?, replicas("shop/gateway")?), (json!(3), json!(2)));
                Ok(())
            }),
            false,
        )?;
        Ok(())
    }
}
