//! The requests of single objects.

use super::super::admission::{Admission, AdmissionRequest};
use super::super::applied::completed;
use super::super::apply::{FieldOwners, Manager};
use super::super::cache::{Cache, Reach};
use super::super::collector::NAMESPACES;
use super::super::config_data::ConfigKind;
use super::super::custom::write_whole_numbers;
use super::super::decoding::{TEXTS, fill_texts, remove_own_nulls};
use super::super::definition::{DEFINITIONS, establish, is_definition, is_established};
use super::super::events;
use super::super::field_path::Step;
use super::super::limits;
use super::super::list::{list, version as version_asked};
use super::super::metadata::{Part, finalizers, is_deleting, metadata_of, protection, set_finalizers};
use super::super::names;
use super::super::options::check_deletion;
use super::super::patch::{self, PatchType};
use super::super::place::{Id, Place};
use super::super::refusal::{Cause, FieldError, Refusal};
use super::super::selector::Selection;
use super::super::typed::mismatch;
use super::super::write::{self, Actor, Deleted, Moment};
use super::read::{self, body, decoded, object, version};
use super::{Asked, Reply, Server};
use crate::kinds::{ServedKind, Trait};
use listwatch_core::change::apply_merge_patch;
use listwatch_transport_file::kinds::group_of;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// The manager of fields that nobody owned before an apply.
const UNKNOWN_CLIENT: &str = "before-first-apply";

impl Server {
    pub(super) fn read(&self, asked: &Asked<'_>, place: &Place) -> Result<Reply, Refusal> {
        place.check_subresource(&asked.target.subresource)?;
        if asked.target.subresource == "scale" {
            return self.read_scale(asked, place);
        }
        let stored = match version_asked(asked.target) {
            Ok(Some(least)) => self.cached(asked, place, least)?,
            _ => place.stored(&self.store).cloned()?,
        };
        Ok(asked.done(200, &stored))
    }

    /// An object as a cache has it, which has to have this version.
    fn cached(&self, asked: &Asked<'_>, place: &Place, least: u64) -> Result<Arc<Value>, Refusal> {
        let name = place.kind.name();
        let cache = self.cache(asked.moment.now, &name, asked.reach);
        if !cache.has(least) {
            return Err(Refusal::too_large(least, cache.version()));
        }
        let found = cache.state().1.remove(place.key().as_str());
        found.cloned().ok_or_else(|| Refusal::not_found(&place.kind, &place.name))
    }

    pub(super) fn create(&mut self, asked: &Asked<'_>, mut place: Place) -> Result<Reply, Refusal> {
        if place.kind.namespaced && place.namespace.is_empty() {
            return Err(Refusal::no_method());
        }
        let mut object = object(asked, &place)?;
        let metadata = metadata_of(&mut object);
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        if place.kind.namespaced && !text("namespace").is_empty() && text("namespace") != place.namespace {
            return Err(Refusal::bad_request(write::OTHER_NAMESPACE));
        }
        place.name = match (text("name"), text("generateName")) {
            (name, prefix) if !name.is_empty() || prefix.is_empty() => name,
            (_, prefix) => names::generated(&prefix, self.uids + 1),
        };
        let given = object["metadata"].get("resourceVersion").cloned();
        let mut created = self.enter(asked, &place, object)?;
        self.keep_version(&mut created, given);
        Ok(asked.done(201, &created))
    }

    /// Gives the answer to a dry run the version of its object: nothing counts the versions of what is not stored.
    fn keep_version(&self, created: &mut Arc<Value>, given: Option<Value>) {
        if let Some(given) = given.filter(|given| self.store.is_dry_run() && *given != "") {
            metadata_of(Arc::make_mut(created)).insert("resourceVersion".into(), given);
        }
    }

    /// Stores a new object, by a request to create or to apply it.
    fn enter(&mut self, asked: &Asked<'_>, place: &Place, object: Value) -> Result<Arc<Value>, Refusal> {
        let resource = asked.resource();
        let (admission, write) = (asked.admission(&self.admission), asked.write("CREATE", &resource, place));
        let named = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let object = mutated(admission, asked, place, write, object)?;
        limits::check(&object)?;
        if asked.actor == Actor::Client && place.kind.namespaced && !names::is_label(&place.namespace) {
            let namespaces = self.kinds.known(NAMESPACES).ok_or_else(Refusal::no_resource)?;
            return Err(Refusal::not_found(&namespaces, &place.namespace));
        }
        self.check_namespace(place)?;
        self.check_definition(place)?;
        self.uids += 1;
        let uid = names::uid(self.uids);
        let may_create = asked.may_create();
        let added = protection(&place.kind).filter(|added| !finalizers(&object).contains(added));
        let admission = asked.admission(&self.admission);
        let admit = |object: &Value| {
            may_create.clone()?;
            admission.validate(&AdmissionRequest { object, ..write })
        };
        let created = write::create(&mut self.store, asked.moment, place, object, asked.actor, &uid, &admit)?;
        if !self.store.is_dry_run() && place.version.is_none() {
            self.kinds.keep(&place.kind);
        }
        let mut given = (*created).clone();
        // A server adds it after it has noted what the client gives.
        if let Some(added) = added {
            let others = finalizers(&created).into_iter().filter(|finalizer| *finalizer != added);
            set_finalizers(&mut given, others.map(str::to_owned).collect());
        }
        self.note_creation(asked, place, &named, &given);
        self.define(asked, place, &Value::Null, &created);
        Ok(created)
    }

    /// Adds the versions of a CustomResourceDefinition that changed, and says so in its status.
    fn define(&mut self, asked: &Asked<'_>, place: &Place, before: &Value, definition: &Value) {
        if !is_definition(&place.kind) || self.store.is_dry_run() || before["spec"] == definition["spec"] {
            return;
        }
        self.establish(asked.moment, place, definition);
    }

    /// Accepts the names of a definition, and serves its versions, unless another one has the names.
    pub(super) fn establish(&mut self, moment: Moment, place: &Place, definition: &Value) {
        let mut established = definition.clone();
        let others = self.store.collection(DEFINITIONS).objects().iter().filter(|(name, _)| **name != place.name);
        establish(&mut established, others.map(|(_, other)| &**other), moment.wall);
        if is_established(&established)
            && let Some(version) = self.versions.define(&mut self.kinds, definition)
        {
            self.store.reread(&version.kind, |object| version.conform_stored(object));
        } else {
            self.versions.forget(&mut self.kinds, definition);
        }
        let _is_there =
            write::update(&mut self.store, moment, place, established, Part::Status, Actor::Author, &write::any);
    }

    /// Nothing is created while its definition is being deleted.
    fn check_definition(&self, place: &Place) -> Result<(), Refusal> {
        let Some(version) = &place.version else { return Ok(()) };
        let definition = self.store.object(DEFINITIONS, &version.definition);
        if !definition.is_some_and(|definition| is_deleting(definition)) {
            return Ok(());
        }
        let why = "create not allowed while custom resource definition is terminating";
        Err(Refusal::forbidden(&place.kind, &place.name, why))
    }

    /// Nothing is created in a namespace that is being deleted.
    fn check_namespace(&self, place: &Place) -> Result<(), Refusal> {
        let Place { kind, namespace, name, .. } = place;
        let ends = self.store.object(NAMESPACES, namespace).is_some_and(|namespace| is_deleting(namespace));
        if !kind.namespaced || !ends {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = json!({ "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace" });
        let mut refusal = Refusal::forbidden(kind, name, &why);
        refusal.status.iter_mut().for_each(|status| status["details"]["causes"] = json!([cause]));
        Err(refusal)
    }

    /// A replacement of an object that is absent, which some kinds take for its creation.
    fn create_by_put(&mut self, asked: &Asked<'_>, place: &Place, mut object: Value) -> Result<Reply, Refusal> {
        write::check_uid(place, &object, &Value::Null)?;
        write::parse_version(&object)?;
        let given = metadata_of(&mut object).remove("resourceVersion");
        let mut created = self.enter(asked, place, object)?;
        self.keep_version(&mut created, given);
        Ok(asked.done(201, &created))
    }

    /// A replacement or a patch.
    pub(super) fn change(&mut self, asked: &Asked<'_>, place: &Place) -> Result<Reply, Refusal> {
        let part = match asked.target.subresource.as_str() {
            "status" => Part::Status,
            "scale" => return self.change_scale(asked, place),
            _ => Part::Whole,
        };
        if asked.call.method == "PATCH" && asked.patch.is_none() {
            return self.apply(asked, place, part);
        }
        let replacement = if asked.call.method == "PUT" { Some(object(asked, place)?) } else { None };
        replacement.as_ref().map_or(Ok(()), |object| write::check_name(place, object))?;
        let (stored, wanted) = match (place.stored(&self.store).cloned(), replacement) {
            (Err(_), Some(object)) if part == Part::Whole && place.kind.has(Trait::CreatedByPut) => {
                return self.create_by_put(asked, place, object);
            }
            (stored, Some(object)) => {
                let stored = stored?;
                write::check_uid(place, &object, &stored)?;
                (stored, object)
            }
            (stored, None) => {
                let stored = stored?;
                let wanted = patched(asked, place, &stored)?;
                (stored, wanted)
            }
        };
        limits::check(&stored)?;
        let named = wanted["metadata"]["managedFields"].as_array().filter(|_| part == Part::Whole).cloned();
        let object = self.update(asked, place, &stored, wanted, part)?;
        match named.as_deref().map(|named| (named, NamedManagers::of(&place.kind, named))) {
            Some((_, NamedManagers::Foreign)) => {}
            Some((named, NamedManagers::Known)) => {
                let managers = FieldOwners::named(named, version(asked, &place.kind));
                self.note_change(asked, place, managers, &stored, &object);
            }
            Some((_, NamedManagers::Empty)) => self.set_managers(place, FieldOwners::default()),
            None => self.note_update(asked, place, &stored, &object),
        }
        self.define(asked, place, &stored, &object);
        Ok(asked.done(200, &object))
    }

    /// Stores what becomes of an object by a request, as far as it is admitted.
    fn update(
        &mut self,
        asked: &Asked<'_>,
        place: &Place,
        stored: &Value,
        wanted: Value,
        part: Part,
    ) -> Result<Arc<Value>, Refusal> {
        let (resource, old_object) = (asked.resource(), &place.shown(stored));
        let admission = asked.admission(&self.admission);
        let write = AdmissionRequest { old_object, ..asked.write("UPDATE", &resource, place) };
        let wanted = mutated(admission, asked, place, write, wanted)?;
        limits::check(&wanted)?;
        let admit = |object: &Value| admission.validate(&AdmissionRequest { object, ..write });
        write::update(&mut self.store, asked.moment, place, wanted, part, asked.actor, &admit)
    }

    /// Whether an object may be deleted.
    fn admit_deletion(&self, asked: &Asked<'_>, place: &Place) -> Result<(), Refusal> {
        let Ok(stored) = place.stored(&self.store) else { return Ok(()) };
        let (resource, old_object) = (asked.resource(), &place.shown(stored));
        let admission = asked.admission(&self.admission);
        let write = AdmissionRequest { old_object, ..asked.write("DELETE", &resource, place) };
        admission.mutate(&write)?;
        admission.validate(&write)
    }

    /// A server-side apply.
    fn apply(&mut self, asked: &Asked<'_>, place: &Place, part: Part) -> Result<Reply, Refusal> {
        let Some(name) = asked.target.parameter("fieldManager") else {
            let fault = FieldError::new(Cause::Required, "fieldManager", "is required for apply patch");
            return Err(Refusal::invalid_options("PatchOptions", &[fault]));
        };
        let stored = place.stored(&self.store).cloned();
        if part == Part::Status {
            stored.as_ref().map_err(Clone::clone)?;
        }
        let stored = stored.ok();
        let (applied, read) = applied_part(asked, place, part)?;
        let subresource = asked.target.subresource.clone();
        let manager = Manager { name: name.to_owned(), subresource, update: None };
        stored.as_deref().map_or(Ok(()), limits::check)?;
        let shown = |stored: &Value| with_written(&place.kind, &place.shown(stored)).into_owned();
        let live = stored.as_deref().map_or_else(|| applied.clone(), shown);
        let mut owners = match self.owners.get(&place.id()) {
            Some(owners) if owners.is_empty() => Self::unmanaged(asked, place, &live, part),
            owners => owners.cloned().unwrap_or_default(),
        };
        let force = asked.target.flag("force");
        let mut wanted = owners.apply(&manager, place.layout(), &live, &applied, force)?;
        // A server reads what comes of it.
        read?;
        limits::check(&wanted)?;
        remove_own_nulls(&place.kind, &mut wanted);
        fill_texts(&mut wanted);
        ConfigKind::of(&place.kind).into_iter().for_each(|config| config.remove_empty(&mut wanted));
        check_applied_name(place, &applied)?;
        if let Some(version) = &place.version {
            version.conform_applied(&mut wanted).map_err(Refusal::bad_request)?;
        }
        let (code, object) = match stored {
            None if applied["metadata"]["uid"].is_string() => {
                let uid = applied["metadata"]["uid"].as_str().unwrap_or_default();
                let why =
                    format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
                return Err(Refusal::conflict(&place.kind, &place.name, &why));
            }
            None => {
                write::check_name(place, &applied)?;
                write::parse_version(&applied)?;
                let given = metadata_of(&mut wanted).remove("resourceVersion");
                let mut created = self.enter(asked, place, wanted)?;
                self.keep_version(&mut created, given);
                (201, created)
            }
            Some(stored) => {
                let mut object = self.update(asked, place, &stored, wanted, part)?;
                // A server stores the managers in the object.
                let is_known = self.owners.get(&place.id()).is_some_and(|known| *known == owners);
                if Arc::ptr_eq(&object, &stored) && !is_known {
                    object = self.store.put(asked.moment.now, &place.kind, &place.key(), (*object).clone());
                }
                self.define(asked, place, &stored, &object);
                (200, object)
            }
        };
        self.set_managers(place, owners);
        Ok(asked.done(code, &object))
    }

    /// Takes note of a new object, which may name managers.
    fn note_creation(&mut self, asked: &Asked<'_>, place: &Place, named: &[Value], created: &Value) {
        let managers = match NamedManagers::of(&place.kind, named) {
            NamedManagers::Foreign => return self.set_managers(place, FieldOwners::default()),
            NamedManagers::Known => FieldOwners::named(named, version(asked, &place.kind)),
            NamedManagers::Empty => FieldOwners::default(),
        };
        self.note_change(asked, place, managers, &Value::Null, created);
    }

    /// Takes note of a change by another request than an apply. A server follows nobody's fields of an object that has lost
    /// all of its managers.
    pub(super) fn note_update(&mut self, asked: &Asked<'_>, place: &Place, before: &Value, after: &Value) {
        let managers = self.owners.get(&place.id());
        if before.is_null() || managers.is_none_or(|managers| !managers.is_empty()) {
            self.note_change(asked, place, managers.cloned().unwrap_or_default(), before, after);
        }
    }

    /// Takes note of a change of an object that has these managers.
    fn note_change(
        &mut self,
        asked: &Asked<'_>,
        place: &Place,
        mut managers: FieldOwners,
        before: &Value,
        after: &Value,
    ) {
        let [before, after] = [before, after].map(|object| with_written(&place.kind, object));
        managers.on_update(&manager(asked, place, asked.manager()), place.layout(), &before, &after);
        if !place.kind.is_custom() {
            // A spec of Kubernetes' own kinds is always there, so an empty one is nobody's.
            managers.release(&vec![Step::Field("spec".to_owned())]);
        }
        self.set_managers(place, managers);
    }

    pub(super) fn set_managers(&mut self, place: &Place, managers: FieldOwners) {
        if !self.store.is_dry_run() {
            self.owners.insert(place.id(), managers);
        }
    }

    /// The manager of all fields that an apply finds without one.
    fn unmanaged(asked: &Asked<'_>, place: &Place, live: &Value, part: Part) -> FieldOwners {
        let mut live = live.clone();
        keep_part(&place.kind, &mut live, part);
        let mut managers = FieldOwners::default();
        let [none, live] = [&Value::Null, &live].map(|object| with_written(&place.kind, object));
        managers.on_update(&manager(asked, place, UNKNOWN_CLIENT), place.layout(), &none, &live);
        managers
    }

    pub(super) fn delete(&mut self, asked: &Asked<'_>, place: &Place) -> Result<Reply, Refusal> {
        let options = self.delete_options(asked, &place.kind)?;
        check_namespace_may_go(asked, place)?;
        self.admit_deletion(asked, place)?;
        let object = match write::delete(&mut self.store, asked.moment, place, &options, asked.actor)? {
            // Of all that goes on waiting, a server says it of this alone.
            Deleted::Marked(object) => {
                return Ok(asked.done(if options["orphanDependents"] == false { 202 } else { 200 }, &object));
            }
            Deleted::Gone(object) if place.kind.has(Trait::DeletedObjectReturned) => {
                return Ok(asked.done(200, &object));
            }
            Deleted::Gone(object) => object,
        };
        let mut details = json!({ "name": place.name, "kind": place.kind.plural, "uid": object["metadata"]["uid"] });
        let group = if asked.target.is_events { events::GROUP } else { place.kind.group() };
        if !group.is_empty() {
            details["group"] = json!(group);
        }
        let status =
            json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details });
        Ok(Reply::Whole { code: 200, body: status.to_string().into_bytes() })
    }

    /// Deletes the objects that are selected, and answers with them. The first refusal ends it, as on a server that has one
    /// worker.
    pub(super) fn delete_collection(&mut self, asked: &Asked<'_>, kind: &Arc<ServedKind>) -> Result<Reply, Refusal> {
        let (options, selection) = (self.delete_options(asked, kind)?, Selection::of(asked.target, kind)?);
        let (name, reach) = (kind.name(), Reach::default());
        let fresh = Cache::new(asked.moment.now, &self.store, &name, None, &reach);
        let deleted = list(&fresh, kind, asked.target, asked.form)?;
        let objects = self.store.collection(&kind.name()).objects().iter();
        let keys: Vec<String> =
            objects.filter(|(_, object)| selection.matches(object)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            let id = Id { collection: kind.name(), key };
            let place = Place { version: asked.version.cloned(), ..id.place(kind) };
            let deleted = self
                .admit_deletion(asked, &place)
                .and_then(|()| write::delete(&mut self.store, asked.moment, &place, &options, asked.actor));
            match deleted {
                Err(refusal) if refusal.code != 404 => return Err(refusal),
                _ => {}
            }
        }
        Ok(Reply::Whole { code: 200, body: deleted })
    }

    /// The options of a deletion, in the body or in the query.
    fn delete_options(&mut self, asked: &Asked<'_>, kind: &ServedKind) -> Result<Value, Refusal> {
        let mut options = if asked.call.body.is_empty() { json!({}) } else { body(asked, kind)? };
        if !options.is_object() {
            return Err(Refusal::bad_request(
                "the options of a deletion are no object (must be of type DeleteOptions)",
            ));
        }
        // A server reads the query only where there is no body.
        let parameter = |name: &str| asked.target.parameter(name).filter(|_| asked.call.body.is_empty());
        if let Some(policy) = parameter("propagationPolicy") {
            options["propagationPolicy"] = json!(policy);
        }
        if let Some(dry_run) = parameter("dryRun") {
            options["dryRun"] = json!([dry_run]);
        }
        check_deletion(&options)?;
        if options["dryRun"].as_array().is_some_and(|dry_run| !dry_run.is_empty()) {
            self.store.set_dry_run(true);
        }
        Ok(options)
    }
}

/// The managers that a replacement or a patch names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedManagers {
    /// There are to be none.
    Empty,
    Known,
    /// One of them has changed a custom resource in a version of another group: a server cannot compare, and leaves the
    /// managers as they are.
    Foreign,
}

impl NamedManagers {
    fn of(kind: &ServedKind, managers: &[Value]) -> Self {
        let is_nobody = |manager: &Value| manager.as_object().is_some_and(serde_json::Map::is_empty);
        let group = |manager: &Value| group_of(manager["apiVersion"].as_str().unwrap_or_default()).to_owned();
        match managers {
            [] => Self::Empty,
            [manager] if is_nobody(manager) => Self::Empty,
            managers if kind.is_custom() && managers.iter().any(|it| group(it) != kind.group()) => Self::Foreign,
            _ => Self::Known,
        }
    }
}

/// Who changes fields by a request, under this name.
pub(super) fn manager(asked: &Asked<'_>, place: &Place, name: &str) -> Manager {
    let update = Some(version(asked, &place.kind).to_owned());
    Manager { name: name.to_owned(), subresource: asked.target.subresource.clone(), update }
}

/// An object with the fields that a server writes with nothing in them, which somebody owns.
fn with_written<'v>(kind: &ServedKind, object: &'v Value) -> Cow<'v, Value> {
    let fields: &[&str] = match kind.name().as_str() {
        "rbac.authorization.k8s.io/v1/roles" | "rbac.authorization.k8s.io/v1/clusterroles" => &["rules"],
        "discovery.k8s.io/v1/endpointslices" => &["endpoints", "ports"],
        _ => &[],
    };
    let mut object = Cow::Borrowed(object);
    for field in fields {
        if object.get(field).is_none() {
            object.to_mut()[*field] = Value::Null;
        }
    }
    object
}

/// Checks that a client does not delete a namespace that every cluster has.
fn check_namespace_may_go(asked: &Asked<'_>, place: &Place) -> Result<(), Refusal> {
    let is_kept = ["default", "kube-public", "kube-system"].contains(&place.name.as_str());
    if !is_kept || place.kind.name() != NAMESPACES || asked.actor == Actor::Author {
        return Ok(());
    }
    Err(Refusal::forbidden(&place.kind, &place.name, "this namespace may not be deleted"))
}

/// The object of a write, as the functions of a test change it.
fn mutated(
    admission: &Admission,
    asked: &Asked<'_>,
    place: &Place,
    write: AdmissionRequest<'_>,
    object: Value,
) -> Result<Value, Refusal> {
    match admission.mutate(&AdmissionRequest { object: &object, ..write })? {
        None => Ok(object),
        Some(changed) => read::stored(asked, place, changed).map_err(Refusal::bad_request),
    }
}

/// What a manager applies, by a request for this part of the object, and whether a server can read it.
fn applied_part(asked: &Asked<'_>, place: &Place, part: Part) -> Result<(Value, Result<(), Refusal>), Refusal> {
    let kind = &*place.kind;
    let mut applied = body(asked, kind)?;
    if kind.is_custom() {
        // `1.0` is the same as `1` to an apply.
        write_whole_numbers(&mut applied);
    }
    if !applied.is_object() {
        let why = mismatch(&applied, "value", MAP);
        let before = "error decoding YAML: error unmarshaling JSON: while decoding JSON";
        return Err(Refusal::bad_request(format!("{before}: {why}")));
    }
    let expected = version(asked, kind);
    if applied["kind"] != kind.kind || applied["apiVersion"] != expected {
        let text = |field: &str| applied[field].as_str().unwrap_or_default();
        let group = if text("apiVersion").contains('/') { "" } else { "/" };
        let message = format!("invalid object type: {group}{}, Kind={}", text("apiVersion"), text("kind"));
        return Err(Refusal::bad_request(message));
    }
    if applied["metadata"]["managedFields"].is_array() {
        return Err(Refusal::bad_request("metadata.managedFields must be nil"));
    }
    // It is nobody's field, and the text of a custom resource is not read.
    if kind.is_custom() && applied["metadata"]["creationTimestamp"].is_string() {
        metadata_of(&mut applied).remove("creationTimestamp");
    }
    limits::check(&applied)?;
    let given = completed(place, applied)?;
    let (mut applied, read) = match decoded(asked, place, given.clone()) {
        Ok(applied) => (applied, Ok(())),
        Err(why) => (given.clone(), Err(why)),
    };
    keep_given(kind, &mut applied, &given);
    let read = read.map_err(|why| unreadable(asked, kind, &applied, &why));
    keep_part(kind, &mut applied, part);
    Ok((applied, read))
}

/// Gives an apply what was decoded, but has an owner: the nulls of labels and annotations, and data that are empty.
fn keep_given(kind: &ServedKind, applied: &mut Value, given: &Value) {
    for field in TEXTS {
        let texts = applied.get_mut("metadata").and_then(|metadata| metadata.get_mut(field)?.as_object_mut());
        let is_null = |name: &str| given["metadata"][field][name].is_null();
        texts.into_iter().flatten().filter(|(name, _)| is_null(name)).for_each(|(_, text)| *text = Value::Null);
    }
    for field in ConfigKind::of(kind).into_iter().flat_map(ConfigKind::names) {
        if given.get(field).is_some_and(|given| *given == json!({})) {
            applied[field] = json!({});
        }
    }
}

/// Leaves an object what a request for a part of it can own: each part has requests of its own.
fn keep_part(kind: &ServedKind, object: &mut Value, part: Part) {
    object.as_object_mut().into_iter().for_each(|fields| {
        fields.retain(|name, _| match part {
            Part::Whole => name != "status" || !kind.has_status,
            Part::Status => ["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()),
        });
    });
    if part == Part::Status {
        let changed: Vec<&str> = kind.changed_with_status().collect();
        let owned = ["annotations", "finalizers", "labels", "ownerReferences"].iter();
        let metadata = metadata_of(object);
        owned.filter(|field| !changed.contains(field)).for_each(|field| drop(metadata.remove(*field)));
    }
}

/// The refusal of an apply that makes no object of a kind.
fn unreadable(asked: &Asked<'_>, kind: &ServedKind, applied: &Value, why: &str) -> Refusal {
    let before = match why.split(' ').next() {
        Some("parsing") => "",
        Some("illegal") => "error decoding from json: ",
        _ => return Refusal::bad_request(why),
    };
    let expected = version(asked, kind);
    let of = format!("{}{expected}, Kind={}", if expected.contains('/') { "" } else { "/" }, kind.kind);
    let [namespace, name] = ["namespace", "name"].map(|field| applied["metadata"][field].as_str().unwrap_or_default());
    let refused = format!("failed to convert new object ({namespace}/{name}; {of}) to proper version");
    Refusal::without_reason(500, &format!("{refused}: unable to convert unstructured object to {of}: {before}{why}"))
}

/// Checks the name of an apply, if it has one.
fn check_applied_name(place: &Place, applied: &Value) -> Result<(), Refusal> {
    match applied["metadata"].get("name") {
        Some(Value::String(name)) if !name.is_empty() => write::check_given_name(place, applied),
        Some(_) => write::check_name(place, applied),
        None => write::check_namespace(place, applied),
    }
}

/// Whether the type of an object is written as texts, as far as it has one.
fn has_texts_for_type(object: &Value) -> bool {
    ["apiVersion", "kind"].iter().all(|field| object[field].is_null() || object[field].is_string())
}

/// Checks that a patch leaves an object its type. That of a custom resource is checked with the rest of it.
fn check_type(kind: &ServedKind, object: &mut Value, shown: &Value) -> Result<(), Refusal> {
    for field in ["apiVersion", "kind"] {
        if object[field].is_null() && !kind.is_custom() {
            object[field] = shown[field].clone();
        }
        if object[field] != shown[field] && !(kind.is_custom() && object[field].is_string()) {
            let name = shown["metadata"]["name"].as_str().unwrap_or_default();
            let why = format!("the object has another `{field}`");
            return Err(Refusal::invalid(kind, name, Cause::Invalid, "patch", &why));
        }
    }
    Ok(())
}

/// The type that a server reads of a patch.
const MAP: &str = "map[string]interface {}";

/// What a patch makes of an object.
pub(super) fn patched(asked: &Asked<'_>, place: &Place, stored: &Value) -> Result<Value, Refusal> {
    let kind = &*place.kind;
    let shown = read::shown(asked, stored);
    let sort = PatchType::of(kind, asked.call.content_type)?;
    // A scale is applied, too, and as a whole.
    let patch = || asked.patch.cloned().map_or_else(|| patch::parse(asked.call.body), Ok);
    let undecodable = |patch: &Value| {
        let before = if sort == PatchType::Strategic { "" } else { "error decoding patch: " };
        Refusal::bad_request(format!("{before}{}", mismatch(patch, "value", MAP)))
    };
    let object_patch = || patch().and_then(|it| if it.is_object() { Ok(it) } else { Err(undecodable(&it)) });
    let mut object = match sort {
        PatchType::Merge => {
            let (mut object, mut patch) = (shown.clone(), object_patch()?);
            patch::prune_lists(&mut patch, false);
            apply_merge_patch(&mut object, &patch);
            object
        }
        PatchType::Strategic => {
            let mut object = shown.clone();
            patch::strategic(kind.object_type(), &mut object, &object_patch()?)?;
            object
        }
        PatchType::Json => patch::json(&shown, &patch()?)?,
        PatchType::Apply => object_patch()?,
    };
    if !object.is_object() {
        return Err(Refusal::unprocessable());
    }
    if sort == PatchType::Strategic {
        ["apiVersion", "kind"].iter().for_each(|field| object[*field] = shown[*field].clone());
    } else if !(kind.is_custom() && asked.target.subresource == "status" && has_texts_for_type(&object)) {
        check_type(kind, &mut object, &shown)?;
    }
    read::stored(asked, place, object).map_err(|why| {
        let name = stored["metadata"]["name"].as_str().unwrap_or_default();
        Refusal::invalid(kind, name, Cause::Invalid, "patch", &why)
    })
}
