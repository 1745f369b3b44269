//! Changes of single objects, by the rules of a server for metadata, status, versions and finalizers.

use super::metadata::{
    FOREGROUND, ORPHAN, SERVER_FIELDS, finalizers, generation, is_deleting, metadata_of, remove_empty, set_finalizers,
    set_inside,
};
use super::place::Place;
use super::refusal::{Cause, Refusal};
use super::store::Store;
use listwatch_core::Instant;
use listwatch_core::time::WallTime;
use listwatch_transport_file::ServedKind;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
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

/// The part of an object that a request changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    Status,
}

/// What became of an object that was to be deleted.
#[derive(Clone, Debug)]
pub(super) enum Deleted {
    /// It is gone.
    Gone(Arc<Value>),
    /// It is marked, and goes with its last finalizer.
    Marked(Arc<Value>),
}

/// Stores a new object.
pub(super) fn create(
    store: &mut Store,
    moment: Moment,
    place: &Place,
    mut object: Value,
    actor: Actor,
    uid: &str,
) -> Result<Arc<Value>, Refusal> {
    let Place { kind, name, .. } = place;
    if store.object(&kind.name(), &place.key()).is_some() {
        return Err(Refusal::already_exists(kind, name));
    }
    let metadata = metadata_of(&mut object);
    let given = metadata.get("uid").filter(|uid| actor == Actor::Author && uid.is_string()).cloned();
    // A server keeps the generation that it does not count.
    let is_server_field = |field: &&&str| **field != "generation" || kind.has_generation;
    SERVER_FIELDS.iter().filter(is_server_field).for_each(|field| drop(metadata.remove(*field)));
    remove_empty(metadata);
    metadata.insert("name".into(), json!(name));
    if kind.namespaced {
        metadata.insert("namespace".into(), json!(place.namespace));
    }
    metadata.insert("uid".into(), given.unwrap_or_else(|| json!(uid)));
    metadata.insert("creationTimestamp".into(), json!(moment.wall.to_string()));
    if kind.has_generation {
        metadata.insert("generation".into(), json!(1));
    }
    if kind.has_status && actor == Actor::Client {
        remove(&mut object, "status");
    }
    if is_namespace(kind) {
        set_inside(&mut object["metadata"], ["labels", "kubernetes.io/metadata.name"], json!(name))?;
        set_inside(&mut object, ["spec", "finalizers"], json!(["kubernetes"]))?;
        set_inside(&mut object, ["status", "phase"], json!("Active"))?;
    }
    Ok(store.put(moment.now, kind, &place.key(), object))
}

/// Stores what becomes of an object by a replacement or a patch.
pub(super) fn update(
    store: &mut Store,
    moment: Moment,
    place: &Place,
    mut wanted: Value,
    part: Part,
    actor: Actor,
) -> Result<Arc<Value>, Refusal> {
    let (kind, stored) = (&place.kind, Arc::clone(place.stored(store)?));
    let metadata = metadata_of(&mut wanted);
    check_identity(place, metadata, &stored)?;
    if part == Part::Status {
        let status = wanted["status"].take();
        wanted = (*stored).clone();
        set(&mut wanted, "status", status);
    } else if kind.has_status && actor == Actor::Client {
        set(&mut wanted, "status", stored["status"].clone());
    }
    keep_server_fields(metadata_of(&mut wanted), &stored);
    remove_empty(metadata_of(&mut wanted));
    check_finalizers(place, &wanted, &stored)?;
    if wanted == *stored {
        return Ok(stored);
    }
    if kind.has_generation && differs(&wanted, &stored, kind.has_status) {
        metadata_of(&mut wanted).insert("generation".into(), json!(generation(&stored).saturating_add(1)));
    }
    if is_deleting(&stored) && finalizers(&wanted).is_empty() && !is_namespace(kind) {
        // Watches are told of the object that was stored, with its last finalizer.
        store.remove(moment.now, kind, &place.key(), (*stored).clone());
        return Ok(Arc::new(wanted));
    }
    Ok(store.put(moment.now, kind, &place.key(), wanted))
}

/// Deletes an object, or marks one that has finalizers.
pub(super) fn delete(store: &mut Store, moment: Moment, place: &Place, options: &Value) -> Result<Deleted, Refusal> {
    let (kind, stored) = (&place.kind, Arc::clone(place.stored(store)?));
    check_preconditions(place, &options["preconditions"], &stored)?;
    let mut object = (*stored).clone();
    set_finalizers(&mut object, deletion_finalizers(&stored, options["propagationPolicy"].as_str()));
    if finalizers(&object).is_empty() && !is_namespace(kind) {
        store.remove(moment.now, kind, &place.key(), (*stored).clone());
        return Ok(Deleted::Gone(stored));
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
        } else {
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

/// The finalizers of an object that is deleted, with those of its propagation policy.
fn deletion_finalizers(stored: &Value, policy: Option<&str>) -> Vec<String> {
    let wanted = match policy {
        Some("Orphan") => Some(ORPHAN),
        Some("Foreground") => Some(FOREGROUND),
        _ => None,
    };
    let mut finalizers: Vec<String> = finalizers(stored).into_iter().map(str::to_owned).collect();
    if policy.is_some() {
        finalizers.retain(|finalizer| ![ORPHAN, FOREGROUND].contains(&finalizer.as_str()));
    }
    finalizers.extend(wanted.map(str::to_owned));
    finalizers
}

fn check_identity(place: &Place, metadata: &Map<String, Value>, stored: &Value) -> Result<(), Refusal> {
    let Place { kind, name, .. } = place;
    let given = |field: &str| metadata.get(field).and_then(Value::as_str).filter(|value| !value.is_empty());
    if let Some(other) = given("name").filter(|other| other != name) {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({other}) does not match the name on the URL ({name})"
        )));
    }
    if given("namespace").is_some_and(|namespace| namespace != place.namespace) {
        return Err(Refusal::bad_request(OTHER_NAMESPACE));
    }
    let known = |field: &str| stored["metadata"][field].as_str().unwrap_or_default();
    if let Some(uid) = given("uid").filter(|uid| *uid != known("uid")) {
        let known = known("uid");
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {known}");
        return Err(Refusal::conflict(kind, name, &why));
    }
    if given("resourceVersion").is_some_and(|version| version != known("resourceVersion")) {
        return Err(Refusal::conflict(kind, name, MODIFIED));
    }
    Ok(())
}

pub(super) const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";
const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

fn check_preconditions(place: &Place, preconditions: &Value, stored: &Value) -> Result<(), Refusal> {
    let refused = |why: String| Err(Refusal::precondition(&place.kind, &place.name, &why));
    let known = |field: &str| stored["metadata"][field].as_str().unwrap_or_default();
    if let Some(uid) = preconditions["uid"].as_str().filter(|uid| *uid != known("uid")) {
        let known = known("uid");
        return refused(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({known}). The object might have been \
             deleted and then recreated"
        ));
    }
    if let Some(version) =
        preconditions["resourceVersion"].as_str().filter(|version| *version != known("resourceVersion"))
    {
        let known = known("resourceVersion");
        return refused(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({known}). \
             The object might have been modified"
        ));
    }
    Ok(())
}

/// An object that is being deleted gets no finalizers.
fn check_finalizers(place: &Place, wanted: &Value, stored: &Value) -> Result<(), Refusal> {
    let before: HashSet<&str> = finalizers(stored).into_iter().collect();
    let new: Vec<&str> = finalizers(wanted).into_iter().filter(|finalizer| !before.contains(finalizer)).collect();
    if new.is_empty() || !is_deleting(stored) {
        return Ok(());
    }
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        new.iter().map(|finalizer| format!("\"{finalizer}\"")).collect::<Vec<_>>().join(", ")
    );
    Err(Refusal::invalid(&place.kind, &place.name, Cause::Forbidden, "metadata.finalizers", &why))
}

/// Gives metadata the fields that the server sets as they are stored.
fn keep_server_fields(metadata: &mut Map<String, Value>, stored: &Value) {
    for field in SERVER_FIELDS.iter().chain(&["name", "namespace", "generateName"]) {
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
fn differs(one: &Value, other: &Value, has_status: bool) -> bool {
    let spec = |object: &Value| {
        let mut object = object.clone();
        remove(&mut object, "metadata");
        if has_status {
            remove(&mut object, "status");
        }
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
