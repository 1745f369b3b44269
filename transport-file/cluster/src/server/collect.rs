//! What a server does by itself: the tasks of the garbage collector.

use super::super::collector::{NAMESPACES, PODS, Task, claims, uses_volumes};
use super::super::definition::{CLEANUP, DEFINITIONS, is_definition, is_waiting, set_condition};
use super::super::metadata::{
    CLAIMS, FOREGROUND, ORPHAN, Part, finalizers, is_deleting, metadata_of, protection, set_finalizers,
};
use super::super::place::{Id, Place};
use super::super::store::Touched;
use super::super::write::{self, Actor, Moment};
use super::Server;
use crate::kinds::ServedKind;
use listwatch_core::Instant;
use serde_json::{Value, json};
use std::sync::Arc;

impl Server {
    /// Does what is due by itself.
    pub(in super::super) fn tick(&mut self, now: Instant) {
        self.store.set_dry_run(false);
        while let Some((due, task)) = self.collector.poll_task(now) {
            let moment = Moment { now: due, wall: self.wall(due) };
            self.collect(moment, task);
            self.settle(due);
        }
    }

    /// When something is due by itself.
    pub(in super::super) fn poll_timeout(&self) -> Option<Instant> {
        self.collector.poll_timeout()
    }

    /// Tells the collector what was changed.
    pub(super) fn settle(&mut self, now: Instant) {
        for change in self.take_touched() {
            self.collector.note(now, &change);
            self.note_definition(now, &change);
        }
    }

    /// A definition that is gone serves nothing. One that ends waits for its objects.
    fn note_definition(&mut self, now: Instant, change: &Touched) {
        let Touched { collection, before: Some(before), after: None, .. } = change else { return };
        if collection == DEFINITIONS {
            self.versions.forget(&mut self.kinds, before);
            self.give_names(now, before);
        } else if let Some(key) = self.versions.definition_of(collection) {
            let id = Id { collection: DEFINITIONS.to_owned(), key: key.to_owned() };
            if self.store.object(DEFINITIONS, &id.key).is_some_and(|definition| is_deleting(definition)) {
                self.collector.look_at(now, id);
            }
        }
    }

    /// Gives the names of a definition that is gone to those that wait for them.
    fn give_names(&mut self, now: Instant, gone: &Value) {
        let moment = Moment { now, wall: self.wall(now) };
        let Some(kind) = self.kinds.known(DEFINITIONS) else { return };
        let waits = |other: &Value| other["spec"]["group"] == gone["spec"]["group"] && is_waiting(other);
        let others = self.store.collection(DEFINITIONS).objects().iter().filter(|(_, other)| waits(other));
        let others: Vec<_> = others.map(|(name, other)| (name.clone(), Arc::clone(other))).collect();
        for (key, definition) in others {
            let id = Id { collection: DEFINITIONS.to_owned(), key };
            self.establish(moment, &id.place(&kind), &definition);
        }
    }

    /// Tells the collector what a recording changed. What follows of that is recorded, too.
    pub(super) fn settle_recorded(&mut self, now: Instant) {
        for change in self.take_touched() {
            self.collector.note_recorded(now, &change);
        }
    }

    /// Takes the changes since the last look, and forgets the field managers of objects that are gone.
    fn take_touched(&mut self) -> Vec<Touched> {
        let touched = self.store.take_touched();
        for gone in touched.iter().filter(|change| change.after.is_none()) {
            self.owners.remove(&Id { collection: gone.collection.clone(), key: gone.key.clone() });
        }
        touched
    }

    /// Looks at an object for the collector.
    fn collect(&mut self, moment: Moment, task: Task) {
        match task {
            Task::Dependent(id) => self.collect_dependent(moment, &id),
            Task::Owner(id) => self.collect_owner(moment, &id),
            Task::Namespace(name) => self.collect_namespace(moment, &name),
        }
    }

    /// Deletes an object without owners that are there; takes the references to absent ones from another.
    fn collect_dependent(&mut self, moment: Moment, id: &Id) {
        let Some((place, object)) = self.found(id) else { return };
        let references = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let exists = |reference: &Value| self.collector.exists(reference["uid"].as_str().unwrap_or_default());
        let present: Vec<Value> = references.iter().filter(|reference| exists(reference)).cloned().collect();
        if present.len() == references.len() {
            return;
        }
        if present.is_empty() {
            self.remove(moment, &place, None);
        } else {
            self.set_owners(moment, &place, &object, present);
        }
    }

    /// Deletes or orphans the dependents of an object that waits for it, and lets it go.
    fn collect_owner(&mut self, moment: Moment, id: &Id) {
        let Some((place, object)) = self.found(id).filter(|(_, object)| is_deleting(object)) else { return };
        if let Some(finalizer) = protection(&place.kind).filter(|name| finalizers(&object).contains(name)) {
            if !self.is_in_use(&place, &object) {
                self.finish(moment, &place, &object, finalizer);
            }
            return;
        }
        if is_definition(&place.kind) && finalizers(&object).contains(&CLEANUP) {
            return self.collect_definition(moment, &place, &object);
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let dependents = self.collector.dependents(uid);
        let dependents: Vec<(Place, Arc<Value>)> = dependents.iter().filter_map(|id| self.found(id)).collect();
        let waiting = finalizers(&object);
        if waiting.contains(&ORPHAN) {
            for (place, dependent) in &dependents {
                let others = references(dependent).filter(|reference| reference["uid"] != uid).cloned().collect();
                self.set_owners(moment, place, dependent, others);
            }
            self.finish(moment, &place, &object, ORPHAN);
        } else if waiting.contains(&FOREGROUND) {
            let blocks = |reference: &Value| reference["uid"] == uid && reference["blockOwnerDeletion"] == true;
            let blocking = dependents.iter().filter(|(_, dependent)| references(dependent).any(blocks));
            if blocking.clone().next().is_none() {
                return self.finish(moment, &place, &object, FOREGROUND);
            }
            blocking.for_each(|(place, _)| self.remove(moment, place, Some("Foreground")));
        }
    }

    /// Whether a volume is bound, or a pod uses a claim.
    fn is_in_use(&self, place: &Place, object: &Value) -> bool {
        if place.kind.name() != CLAIMS {
            return object["status"]["phase"] == "Bound";
        }
        let prefix = format!("{}/", place.namespace);
        let pods = self.store.collection(PODS).objects().range(prefix.clone()..);
        let mut pods = pods.take_while(|(key, _)| key.starts_with(&prefix)).map(|(_, pod)| pod);
        pods.any(|pod| uses_volumes(pod) && claims(pod).any(|claim| claim == place.name))
    }

    /// Deletes what is in a namespace that is being deleted, and then the namespace.
    fn collect_namespace(&mut self, moment: Moment, name: &str) {
        let id = Id { collection: NAMESPACES.to_owned(), key: name.to_owned() };
        let Some((place, object)) = self.found(&id).filter(|(_, object)| is_deleting(object)) else { return };
        let inside: Vec<Id> = self.store.objects_in(name).map(|(collection, key)| Id { collection, key }).collect();
        if inside.is_empty() && finalizers(&object).is_empty() {
            self.store.remove(moment.now, &place.kind, name, (*object).clone());
            return;
        }
        for id in inside {
            if let Some((place, _)) = self.found(&id).filter(|(_, object)| !is_deleting(object)) {
                self.remove(moment, &place, None);
            }
        }
    }

    /// Deletes the objects of a definition, and then lets it go.
    fn collect_definition(&mut self, moment: Moment, place: &Place, definition: &Value) {
        let kind = self.versions.kind_of(&place.name);
        let objects = |kind: &Arc<ServedKind>| {
            let collection = kind.name();
            let keys = self.store.collection(&collection).objects().keys().cloned();
            keys.map(|key| Id { collection: collection.clone(), key }).collect::<Vec<_>>()
        };
        let left = kind.as_ref().map_or_else(Vec::new, objects);
        let mut definition = definition.clone();
        let (status, reason, message) = if left.is_empty() {
            ("False", "InstanceDeletionCompleted", "removed all instances")
        } else {
            ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
        };
        set_condition(&mut definition, moment.wall, ("Terminating", status), reason, message);
        if left.is_empty() {
            return self.finish(moment, place, &definition, CLEANUP);
        }
        let _is_there =
            write::update(&mut self.store, moment, place, definition, Part::Whole, Actor::Author, &write::any);
        for id in left {
            if let Some((place, _)) = self.found(&id).filter(|(_, object)| !is_deleting(object)) {
                self.remove(moment, &place, None);
            }
        }
    }

    fn found(&self, id: &Id) -> Option<(Place, Arc<Value>)> {
        let object = Arc::clone(self.store.object(&id.collection, &id.key)?);
        let kind = self.kinds.of_collection(&id.collection, true)?;
        Some((id.place(&kind), object))
    }

    /// Deletes an object for the collector. It may be gone.
    fn remove(&mut self, moment: Moment, place: &Place, policy: Option<&str>) {
        let options = json!({ "propagationPolicy": policy });
        let _gone = write::delete(&mut self.store, moment, place, &options, Actor::Author);
    }

    fn set_owners(&mut self, moment: Moment, place: &Place, object: &Value, owners: Vec<Value>) {
        let mut object = object.clone();
        let metadata = metadata_of(&mut object);
        if owners.is_empty() {
            metadata.remove("ownerReferences");
        } else {
            metadata.insert("ownerReferences".into(), json!(owners));
        }
        let _gone = write::update(&mut self.store, moment, place, object, Part::Whole, Actor::Author, &write::any);
    }

    /// Takes a finalizer from an object, which goes with its last one.
    fn finish(&mut self, moment: Moment, place: &Place, object: &Value, finalizer: &str) {
        let left = finalizers(object).into_iter().filter(|name| *name != finalizer).map(str::to_owned).collect();
        let mut object = object.clone();
        set_finalizers(&mut object, left);
        let _gone = write::update(&mut self.store, moment, place, object, Part::Whole, Actor::Author, &write::any);
    }
}

fn references(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}
