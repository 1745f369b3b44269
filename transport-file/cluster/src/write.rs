//! Changes of single objects, by the rules of a server for metadata, status, versions and finalizers.

use super::config_data::ConfigKind;
use super::decoding::remove_nulls;
use super::definition::{self, is_definition};
use super::events;
use super::limits;
use super::metadata::{
    FOREGROUND, ORPHAN, Part, SERVER_FIELDS, finalizers, generation, is_deleting, metadata_of, protection,
    remove_empty, set_finalizers, set_inside,
};
use super::names;
use super::place::Place;
use super::refusal::{Cause, FieldError, Refusal};
use super::rules::{self, remove_double_owners};
use super::store::Store;
use crate::kinds::{ServedKind, Trait};
use listwatch_core::Instant;
use listwatch_core::change::apply_merge_patch;
use listwatch_core::time::WallTime;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The time of a change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: Instant,
    pub(super) wall: WallTime,
}

/// The origin of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    /// A client, which changes a status by its subresource alone.
    Client,
    /// The author of a test, whose objects are taken with status and uid.
    Author,
}

/// What became of an object that was to be deleted.
#[derive(Clone, Debug)]
pub(super) enum Deleted {
    /// It is gone.
    Gone(Arc<Value>),
    /// It is marked, and goes with its last finalizer.
    Marked(Arc<Value>),
}

/// Says whether a valid object may be stored.
pub(super) type Admit<'a> = dyn Fn(&Value) -> Result<(), Refusal> + 'a;

/// Takes every object.
pub(super) fn any(_: &Value) -> Result<(), Refusal> {
    Ok(())
}

/// Stores a new object.
pub(super) fn create(
    store: &mut Store,
    moment: Moment,
    place: &Place,
    mut object: Value,
    actor: Actor,
    uid: &str,
    admit: &Admit<'_>,
) -> Result<Arc<Value>, Refusal> {
    let Place { kind, name, .. } = place;
    remove_double_owners(&mut object);
    let metadata = metadata_of(&mut object);
    let prefix = metadata.get("generateName").and_then(Value::as_str).unwrap_or_default();
    let has_prefix = !prefix.is_empty();
    let mut errors = names::prefix_faults(kind, prefix);
    errors.extend(names::faults(kind, name));
    // A server ignores what is no version.
    let version = metadata.get("resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let has_version = actor == Actor::Client && version.parse::<u64>().is_ok_and(|version| version > 0);
    let given = metadata.get("uid").filter(|uid| actor == Actor::Author && uid.is_string()).cloned();
    // A server keeps the generation that it does not count.
    let is_server_field = |field: &&&str| **field != "generation" || kind.has_generation;
    SERVER_FIELDS.iter().filter(is_server_field).for_each(|field| drop(metadata.remove(*field)));
    remove_empty(metadata);
    metadata.insert("name".into(), json!(name));
    if kind.namespaced {
        metadata.insert("namespace".into(), json!(place.namespace));
    } else {
        metadata.remove("namespace");
    }
    metadata.insert("uid".into(), given.unwrap_or_else(|| json!(uid)));
    metadata.insert("creationTimestamp".into(), json!(moment.wall.to_string()));
    if kind.has_generation {
        metadata.insert("generation".into(), json!(1));
    }
    if actor == Actor::Client {
        complete(kind, &mut object);
    }
    if is_namespace(kind) {
        set_inside(&mut object["metadata"], ["labels", "kubernetes.io/metadata.name"], json!(name))?;
        set_inside(&mut object, ["spec", "finalizers"], json!(["kubernetes"]))?;
        set_inside(&mut object, ["status", "phase"], json!("Active"))?;
    }
    if is_definition(kind) {
        definition::complete(&mut object);
    }
    check(place, errors, &object, None, Part::Whole)?;
    admit(&object)?;
    if has_version && !store.is_dry_run() {
        return Err(Refusal::without_reason(500, "resourceVersion should not be set on objects to be created"));
    }
    if let Some(stored) = store.object(&kind.name(), &place.key()) {
        return Err(Refusal::already_exists(kind, name, is_deleting(stored), has_prefix));
    }
    let object = place.to_stored(object)?;
    limits::check_stored(&object)?;
    Ok(store.put(moment.now, kind, &place.key(), object))
}

/// Gives a new object of a client what a server adds: its first status, and the finalizers that protect volumes.
fn complete(kind: &ServedKind, object: &mut Value) {
    if let Some(config) = ConfigKind::of(kind) {
        config.complete(object);
    }
    complete_defaults(kind, object);
    if let Some(finalizer) = protection(kind) {
        let mut names: Vec<String> = finalizers(object).into_iter().map(str::to_owned).collect();
        if !names.iter().any(|name| name == finalizer) {
            names.push(finalizer.to_owned());
        }
        set_finalizers(object, names);
    }
    if !kind.has_status {
        return;
    }
    let given = object["status"].take();
    let mut status = kind.new_status().and_then(|status| serde_json::from_str(status).ok()).unwrap_or_default();
    if kind.name() == "v1/nodes" {
        // A kubelet creates its Node with a status.
        if given.is_object() {
            apply_merge_patch(&mut status, &given);
        }
    }
    if kind.name() == "v1/pods" && has_resources(object) {
        status["qosClass"] = json!("Burstable");
    }
    set(object, "status", status);
}

/// Gives an object what it has by default, as far as others look at it.
fn complete_defaults(kind: &ServedKind, object: &mut Value) {
    match kind.name().as_str() {
        "batch/v1/jobs" | "v1/replicationcontrollers" => complete_labels(object),
        "rbac.authorization.k8s.io/v1/rolebindings" | "rbac.authorization.k8s.io/v1/clusterrolebindings" => {
            complete_binding(object);
        }
        "networking.k8s.io/v1/networkpolicies" => complete_policy(object),
        _ => {}
    }
}

/// Gives an object without labels those of its pods.
fn complete_labels(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    let is_some = |labels: &Value| labels.as_object().is_some_and(|labels| !labels.is_empty());
    if is_some(&labels) && !is_some(&object["metadata"]["labels"]) {
        metadata_of(object).insert("labels".into(), labels);
    }
}

/// Gives the role of a binding its group, and its users and groups theirs.
fn complete_binding(object: &mut Value) {
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten();
    let subjects = subjects.filter(|subject| subject["kind"] == "User" || subject["kind"] == "Group");
    subjects.filter_map(Value::as_object_mut).for_each(complete_group);
    object.get_mut("roleRef").and_then(Value::as_object_mut).into_iter().for_each(complete_group);
}

fn complete_group(of: &mut Map<String, Value>) {
    if of.get("apiGroup").is_none_or(|group| group.is_null() || group == "") {
        of.insert("apiGroup".into(), json!("rbac.authorization.k8s.io"));
    }
}

/// Gives a NetworkPolicy without types those of its rules.
fn complete_policy(object: &mut Value) {
    let has_some = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    let spec = &object["spec"];
    if !has_some(&spec["policyTypes"]) && (spec.is_null() || spec.is_object()) {
        let types: &[&str] = if has_some(&spec["egress"]) { &["Ingress", "Egress"] } else { &["Ingress"] };
        object["spec"]["policyTypes"] = json!(types);
    }
}

/// Whether a container of a pod requests resources, or has limits of them.
fn has_resources(pod: &Value) -> bool {
    let containers = ["containers", "initContainers"].into_iter().filter_map(|field| pod["spec"][field].as_array());
    let resources = |container: &Value| ["requests", "limits"].map(|field| container["resources"][field].clone());
    let is_some = |value: &Value| value.as_object().is_some_and(|amounts| !amounts.is_empty());
    containers.flatten().flat_map(resources).any(|amounts| is_some(&amounts))
}

/// Checks whether a server takes an object, which replaces the stored one.
fn check(
    place: &Place,
    mut errors: Vec<FieldError>,
    object: &Value,
    stored: Option<&Value>,
    part: Part,
) -> Result<(), Refusal> {
    let mistyped = type_faults(place, object);
    let is_typed = mistyped.is_empty();
    if is_typed || stored.is_some() {
        errors.extend(rules::faults(&place.kind, object, part));
    } else {
        errors.clear();
    }
    if let Some(version) = &place.version {
        if is_typed {
            version.check_fields(object, stored, part, &mut errors);
        }
        version.check_lists(object, stored, part, &mut errors);
    }
    if is_definition(&place.kind) {
        errors.extend(definition::faults(object, stored));
    }
    if let Some(config) = ConfigKind::of(&place.kind) {
        errors.extend(config.faults(object, stored));
    }
    if mistyped.is_empty() && errors.is_empty() {
        return Ok(());
    }
    let mut named = (*place.kind).clone();
    if !mistyped.is_empty() {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        (named.kind, named.api_version) = (text("kind"), text("apiVersion"));
    }
    errors.extend(mistyped);
    Err(Refusal::invalid_fields(&named, &place.name, &errors))
}

/// What is wrong with the type of a custom resource.
fn type_faults(place: &Place, object: &Value) -> Vec<FieldError> {
    let version = place.version.as_ref().map_or(&place.kind.api_version, |version| &version.api_version);
    let expected = [("kind", &place.kind.kind), ("apiVersion", version)];
    let differs = |field: &str, expected: &str| object[field].as_str().is_some_and(|given| given != expected);
    let faults = expected.into_iter().filter(|(field, expected)| place.kind.is_custom() && differs(field, expected));
    let fault = |(field, expected): (&str, &String)| {
        FieldError::with_value(Cause::Invalid, field, &object[field], &format!("must be {expected}"))
    };
    faults.map(fault).collect()
}

/// Stores what becomes of an object by a replacement or a patch. It is checked in the version of the request.
pub(super) fn update(
    store: &mut Store,
    moment: Moment,
    place: &Place,
    mut wanted: Value,
    part: Part,
    actor: Actor,
    admit: &Admit<'_>,
) -> Result<Arc<Value>, Refusal> {
    let (kind, stored) = (&place.kind, Arc::clone(place.stored(store)?));
    let before = place.shown(&stored);
    let is_client = actor == Actor::Client;
    metadata_of(&mut wanted);
    check_name(place, &wanted)?;
    check_version(place, &wanted, &before, is_client)?;
    let has_fixed = part == Part::Whole || !kind.is_custom();
    let mut errors = if has_fixed { fixed_fields(kind, &wanted, &before, part, is_client) } else { Vec::new() };
    if part == Part::Status {
        if is_client {
            complete_defaults(kind, &mut wanted);
        }
        wanted = with_status(kind, wanted, &before);
    } else if kind.has_status && actor == Actor::Client {
        set(&mut wanted, "status", before["status"].clone());
    }
    keep_server_fields(metadata_of(&mut wanted), &before);
    remove_double_owners(&mut wanted);
    remove_empty(metadata_of(&mut wanted));
    errors.extend(finalizer_fault(&wanted, &before));
    if is_client && part == Part::Whole && kind.has(Trait::PrefixChecked) {
        errors.extend(names::prefix_faults(kind, wanted["metadata"]["generateName"].as_str().unwrap_or_default()));
    }
    if is_client {
        ConfigKind::of(kind).into_iter().for_each(|config| config.complete(&mut wanted));
        complete_defaults(kind, &mut wanted);
    }
    if is_client && is_namespace(kind) {
        set(&mut wanted, "spec", before["spec"].clone());
        set_inside(&mut wanted["metadata"], ["labels", "kubernetes.io/metadata.name"], json!(place.name))?;
    }
    if is_definition(kind) {
        definition::complete(&mut wanted);
    }
    if is_client || is_definition(kind) || place.version.is_some() || !errors.is_empty() {
        check(place, errors, &wanted, Some(&before), part)?;
        admit(&wanted)?;
        limits::check_stored(&wanted)?;
    }
    // A server counts the annotations of a Deployment, too.
    let has_noted = part == Part::Whole
        && kind.name() == "apps/v1/deployments"
        && wanted["metadata"]["annotations"] != before["metadata"]["annotations"];
    if kind.has_generation && (has_noted || differs(kind, &wanted, &before)) {
        metadata_of(&mut wanted).insert("generation".into(), json!(generation(&before).saturating_add(1)));
    }
    let wanted = place.to_stored(wanted)?;
    if wanted == *stored {
        return Ok(stored);
    }
    if is_deleting(&stored) && finalizers(&wanted).is_empty() && !is_namespace(kind) {
        // Watches are told of the object that was stored, with its last finalizer.
        store.remove(moment.now, kind, &place.key(), (*stored).clone());
        return Ok(Arc::new(wanted));
    }
    Ok(store.put(moment.now, kind, &place.key(), wanted))
}

/// Deletes an object, or marks one that has finalizers.
pub(super) fn delete(
    store: &mut Store,
    moment: Moment,
    place: &Place,
    options: &Value,
    actor: Actor,
) -> Result<Deleted, Refusal> {
    let (kind, stored) = (&place.kind, Arc::clone(place.stored(store)?));
    check_preconditions(place, &options["preconditions"], &stored)?;
    if is_namespace(kind) && is_deleting(&stored) {
        return Ok(Deleted::Marked(stored));
    }
    let mut object = (*stored).clone();
    set_finalizers(&mut object, deletion_finalizers(kind, &stored, options, actor));
    if is_definition(kind) && !is_deleting(&stored) {
        definition::end(&mut object, moment.wall);
    }
    if finalizers(&object).is_empty() && !is_namespace(kind) {
        if options["preconditions"]["resourceVersion"].is_string() && !finalizers(&stored).is_empty() {
            return Err(lost_version(place, &stored));
        }
        return Ok(Deleted::Gone(store.remove(moment.now, kind, &place.key(), (*stored).clone())));
    }
    if !is_deleting(&stored) {
        let metadata = metadata_of(&mut object);
        metadata.insert("deletionTimestamp".into(), json!(moment.wall.to_string()));
        if is_namespace(kind) {
            // A status of another shape does not keep it.
            if !object["status"].is_object() {
                set(&mut object, "status", json!({}));
            }
            set_inside(&mut object, ["status", "phase"], json!("Terminating"))?;
        } else if !is_definition(kind) {
            metadata.insert("deletionGracePeriodSeconds".into(), json!(0));
            if generation(&stored) > 0 {
                metadata.insert("generation".into(), json!(generation(&stored).saturating_add(1)));
            }
        }
    }
    if object == *stored {
        return Ok(Deleted::Marked(stored));
    }
    Ok(Deleted::Marked(store.put(moment.now, kind, &place.key(), object)))
}

/// The refusal of a deletion that names a version and takes the last finalizer away: a server then compares with the version
/// of an update that it did not make.
fn lost_version(place: &Place, stored: &Value) -> Refusal {
    let known = stored["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let field = "ResourceVersion";
    let why = format!("Precondition failed: {field} in precondition: , {field} in object meta: {known}");
    Refusal::conflict(&place.kind, &place.name, &why)
}

/// The finalizers of an object that is deleted. Without a policy it waits as it did; the dependents of some kinds stay.
fn deletion_finalizers(kind: &ServedKind, stored: &Value, options: &Value, actor: Actor) -> Vec<String> {
    let before = finalizers(stored);
    let waits = || [ORPHAN, FOREGROUND].into_iter().find(|name| before.contains(name));
    let wanted = match (options["orphanDependents"].as_bool(), options["propagationPolicy"].as_str()) {
        // The garbage collector does not follow Events.
        _ if kind.name() == events::STORED => None,
        (Some(true), _) | (None, Some("Orphan")) => Some(ORPHAN),
        (Some(false), _) if is_namespace(kind) => Some(FOREGROUND),
        (None, Some("Foreground")) => Some(FOREGROUND),
        (Some(false), _) | (None, Some(_)) => None,
        (None, None) => {
            waits().or_else(|| (actor == Actor::Client && kind.has(Trait::OrphansDependents)).then_some(ORPHAN))
        }
    };
    let others = before.iter().filter(|name| ![ORPHAN, FOREGROUND].contains(name)).copied();
    let after: Vec<&str> = others.chain(wanted).collect();
    let is_same = after.len() == before.len() && before.iter().all(|name| after.contains(name));
    (if is_same { before } else { after }).into_iter().map(str::to_owned).collect()
}

/// A stored object with another status, and with the metadata that a request for the status may change.
fn with_status(kind: &ServedKind, mut wanted: Value, stored: &Value) -> Value {
    let mut object = stored.clone();
    set(&mut object, "status", wanted["status"].take());
    let changed: Vec<&str> = kind.changed_with_status().collect();
    let prefix = (!changed.is_empty()).then_some("generateName");
    for field in changed.into_iter().chain(prefix) {
        let value = wanted["metadata"][field].take();
        metadata_of(&mut object).insert(field.to_owned(), value);
    }
    object
}

/// Checks that an object has the name and the namespace of the request.
pub(super) fn check_name(place: &Place, object: &Value) -> Result<(), Refusal> {
    check_namespace(place, object)?;
    if object["metadata"]["name"].as_str().unwrap_or_default().is_empty() {
        let name = &place.name;
        return Err(Refusal::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    check_given_name(place, object)
}

/// As [`check_name`], for an object that may have none.
pub(super) fn check_given_name(place: &Place, object: &Value) -> Result<(), Refusal> {
    check_namespace(place, object)?;
    let name = &place.name;
    let given = |field: &str| object["metadata"][field].as_str().filter(|value| !value.is_empty());
    if let Some(other) = given("name").filter(|other| other != name) {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({other}) does not match the name on the URL ({name})"
        )));
    }
    Ok(())
}

/// Checks that an object has the namespace of the request, if it has one.
pub(super) fn check_namespace(place: &Place, object: &Value) -> Result<(), Refusal> {
    let given = object["metadata"]["namespace"].as_str().unwrap_or_default();
    if place.kind.namespaced && !given.is_empty() && given != place.namespace {
        return Err(Refusal::bad_request(OTHER_NAMESPACE));
    }
    Ok(())
}

/// Checks that a replacement has the uid of the object that it replaces, if it has one.
pub(super) fn check_uid(place: &Place, object: &Value, stored: &Value) -> Result<(), Refusal> {
    let (given, known) = (object["metadata"]["uid"].as_str().unwrap_or_default(), stored["metadata"]["uid"].as_str());
    let known = known.unwrap_or_default();
    if given.is_empty() || given == known {
        return Ok(());
    }
    let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {known}");
    Err(Refusal::conflict(&place.kind, &place.name, &why))
}

/// Checks the version that is replaced. A client has to name it for some kinds.
fn check_version(place: &Place, object: &Value, stored: &Value, is_client: bool) -> Result<(), Refusal> {
    let given = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if given.is_empty() || given == "0" {
        if !is_client || !place.kind.has(Trait::VersionRequired) {
            return Ok(());
        }
        let why = "0: must be specified for an update";
        let field = "metadata.resourceVersion";
        return Err(Refusal::invalid_resource(&place.kind, &place.name, Cause::Invalid, field, why));
    }
    parse_version(object)?;
    if stored["metadata"]["resourceVersion"] == given {
        return Ok(());
    }
    Err(Refusal::conflict(&place.kind, &place.name, MODIFIED))
}

/// Checks that the version of an object is a number, if it has one.
pub(super) fn parse_version(object: &Value) -> Result<(), Refusal> {
    let given = object["metadata"]["resourceVersion"].as_str().filter(|given| !given.is_empty());
    let Some(given) = given.filter(|given| given.parse::<u64>().is_err()) else { return Ok(()) };
    let why = format!("strconv.ParseUint: parsing {given:?}: invalid syntax");
    Err(Refusal::without_reason(500, &why))
}

/// The fields that a change cannot change. A server names those of a custom resource twice.
fn fixed_fields(kind: &ServedKind, wanted: &Value, stored: &Value, part: Part, is_client: bool) -> Vec<FieldError> {
    let field_error = |field: &str| {
        let (given, known) = (&wanted["metadata"][field], &stored["metadata"][field]);
        let is_changed = given.as_str().is_some_and(|text| !text.is_empty()) && given != known;
        let why = || format!("{given}: field is immutable");
        is_changed.then(|| FieldError::new(Cause::Invalid, &format!("metadata.{field}"), why()))
    };
    // That of an object that is being deleted stays as it is, and requests for the status of some kinds do not change it.
    let has_reset = kind.changed_with_status().next().is_none() && kind.kind != "APIService";
    let is_kept = part == Part::Status && (has_reset || kind.name() == "v1/pods");
    let is_deletion_fixed = is_client && !is_kept && !is_deleting(stored);
    let grace = &wanted["metadata"]["deletionGracePeriodSeconds"];
    let is_grace_fixed = is_client && !grace.is_null() && *grace != stored["metadata"]["deletionGracePeriodSeconds"];
    let field = "metadata.deletionGracePeriodSeconds";
    let grace = FieldError::new(Cause::Invalid, field, format!("{grace}: field is immutable"));
    let errors = [
        field_error("uid"),
        field_error("deletionTimestamp").filter(|_| is_deletion_fixed),
        is_grace_fixed.then_some(grace),
    ];
    let times = 1 + usize::from(kind.is_custom());
    errors.into_iter().flatten().flat_map(|error| std::iter::repeat_n(error, times)).collect()
}

pub(super) const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";
const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

/// Checks the preconditions of a deletion. Namespaces have words of their own.
fn check_preconditions(place: &Place, preconditions: &Value, stored: &Value) -> Result<(), Refusal> {
    let fields = [("uid", "UID", "deleted and then recreated"), ("resourceVersion", "ResourceVersion", "modified")];
    for (field, name, happened) in fields {
        let known = stored["metadata"][field].as_str().unwrap_or_default();
        let Some(given) = preconditions[field].as_str().filter(|given| *given != known) else { continue };
        if is_namespace(&place.kind) {
            let why = format!("Precondition failed: {name} in precondition: {given}, {name} in object meta: {known}");
            return Err(Refusal::conflict(&place.kind, &place.name, &why));
        }
        let why = format!(
            "the {name} in the precondition ({given}) does not match the {name} in record ({known}). The object might have \
             been {happened}"
        );
        return Err(Refusal::precondition(&place.kind, &place.name, &why));
    }
    Ok(())
}

/// An object that is being deleted gets no finalizers.
fn finalizer_fault(wanted: &Value, stored: &Value) -> Option<FieldError> {
    let before = finalizers(stored);
    let new = finalizers(wanted).into_iter().filter(|finalizer| !before.contains(finalizer));
    let new: BTreeSet<&str> = new.collect();
    if new.is_empty() || !is_deleting(stored) {
        return None;
    }
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        new.iter().map(|finalizer| format!("\"{finalizer}\"")).collect::<Vec<_>>().join(", ")
    );
    Some(FieldError::new(Cause::Forbidden, "metadata.finalizers", why))
}

/// Gives metadata the fields that the server sets as they are stored.
fn keep_server_fields(metadata: &mut Map<String, Value>, stored: &Value) {
    for field in SERVER_FIELDS.iter().chain(&["name", "namespace"]) {
        match &stored["metadata"][field] {
            Value::Null => metadata.remove(*field),
            value => metadata.insert((*field).to_owned(), value.clone()),
        };
    }
}

/// Whether it is the kind of namespaces, which go when nothing is left in them.
fn is_namespace(kind: &ServedKind) -> bool {
    kind.kind == "Namespace" && kind.api_version == "v1"
}

/// Whether anything but the metadata differs, and but the status where that is a subresource.
fn differs(kind: &ServedKind, one: &Value, other: &Value) -> bool {
    let spec = |object: &Value| {
        let mut object = object.clone();
        remove(&mut object, "metadata");
        if kind.has_status {
            remove(&mut object, "status");
        }
        // A recorded object of Kubernetes' own kinds may have nulls, and a written one has none.
        object.as_object_mut().filter(|_| !kind.is_custom()).into_iter().for_each(remove_nulls);
        object
    };
    spec(one) != spec(other)
}

fn set(object: &mut Value, field: &str, value: Value) {
    if value.is_null() {
        remove(object, field);
    } else {
        object[field] = value;
    }
}

fn remove(object: &mut Value, field: &str) {
    object.as_object_mut().into_iter().for_each(|fields| drop(fields.remove(field)));
}
