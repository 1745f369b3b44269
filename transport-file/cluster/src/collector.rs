//! The garbage collector: what becomes of dependents when their owners go, and of the contents of namespaces.

use super::definition::CLEANUP;
use super::metadata::{CLAIMS, FOREGROUND, ORPHAN, finalizers, is_deleting};
use super::place::Id;
use super::store::Touched;
use core::time::Duration;
use listwatch_core::Instant;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How long after a change its consequences follow.
const DELAY: Duration = Duration::from_millis(50);

/// Who owns whom, and what is to be looked at.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// The objects by their uids.
    objects: BTreeMap<String, Id>,
    /// The dependents of each uid, whether its object is there or not.
    dependents: BTreeMap<String, BTreeSet<Id>>,
    /// The namespaces that are being deleted.
    ending: BTreeSet<String>,
    due: VecDeque<(Instant, Task)>,
    /// Whether objects were recorded. The owners of those may be there without being recorded.
    has_recorded: bool,
}

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Whether an object's owners are there.
    Dependent(Id),
    /// Whether an object that is being deleted can go, as far as its dependents are concerned.
    Owner(Id),
    /// Whether a namespace that is being deleted is empty.
    Namespace(String),
}

impl Collector {
    /// Takes note of a change.
    pub(super) fn note(&mut self, now: Instant, change: &Touched) {
        let Touched { collection, key, before, after } = change;
        let id = Id { collection: collection.clone(), key: key.clone() };
        let (before, after) = (before.as_deref(), after.as_deref());
        let (owners_before, owners) = (owners(before), owners(after));
        for owner in owners_before.difference(&owners) {
            self.forget(owner, &id);
            self.wait_for_owner(now, owner);
        }
        for owner in &owners {
            self.dependents.entry((*owner).to_owned()).or_default().insert(id.clone());
        }
        if !owners.is_subset(&owners_before) && !self.has_recorded {
            self.push(now, Task::Dependent(id.clone()));
        }
        match (before.and_then(uid), after.and_then(uid)) {
            (Some(gone), None) => self.on_gone(now, gone, &id),
            (_, Some(uid)) => drop(self.objects.insert(uid.to_owned(), id.clone())),
            (None, None) => {}
        }
        if collection == PODS && !after.is_some_and(uses_volumes) {
            self.note_claims(now, key, before);
        }
        self.note_deletion(now, id, after);
    }

    /// A pod uses its volumes no more: their claims may go.
    fn note_claims(&mut self, now: Instant, pod: &str, before: Option<&Value>) {
        let namespace = pod.split_once('/').map_or("", |(namespace, _)| namespace);
        for claim in before.into_iter().flat_map(claims) {
            let id = Id { collection: CLAIMS.to_owned(), key: format!("{namespace}/{claim}") };
            self.push(now, Task::Owner(id));
        }
    }

    /// Takes note of a change that was recorded. What follows of it is left to the recording.
    pub(super) fn note_recorded(&mut self, now: Instant, change: &Touched) {
        self.has_recorded = true;
        let due = self.due.len();
        self.note(now, change);
        self.due.truncate(due);
    }

    fn note_deletion(&mut self, now: Instant, id: Id, after: Option<&Value>) {
        let is_marked = |object: Option<&Value>| object.is_some_and(is_deleting);
        if id.collection == NAMESPACES {
            if !is_marked(after) {
                self.ending.remove(&id.key);
            } else if self.ending.insert(id.key.clone()) {
                self.push(now, Task::Namespace(id.key));
            }
            return;
        }
        if let (None, Some((namespace, _))) = (after, id.key.split_once('/'))
            && self.ending.contains(namespace)
        {
            self.push(now, Task::Namespace(namespace.to_owned()));
        }
        let ours = |name: &&str| [ORPHAN, FOREGROUND, CLEANUP].contains(name) || name.ends_with("-protection");
        let waits = |object: &Value| finalizers(object).iter().any(ours);
        if is_marked(after) && after.is_some_and(waits) {
            self.push(now, Task::Owner(id));
        }
    }

    /// When something is to be looked at.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.due.front().map(|(due, _)| *due)
    }

    /// Takes the next task that is due.
    pub(super) fn poll_task(&mut self, now: Instant) -> Option<(Instant, Task)> {
        if self.poll_timeout().is_none_or(|due| due > now) {
            return None;
        }
        self.due.pop_front()
    }

    /// Whether there is an object with this uid.
    pub(super) fn exists(&self, uid: &str) -> bool {
        self.objects.contains_key(uid)
    }

    /// The dependents of a uid.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Id> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// An object is gone: its dependents may follow.
    fn on_gone(&mut self, now: Instant, uid: &str, id: &Id) {
        if self.objects.get(uid) == Some(id) {
            self.objects.remove(uid);
        }
        self.dependents(uid).into_iter().for_each(|dependent| self.push(now, Task::Dependent(dependent)));
    }

    fn forget(&mut self, owner: &str, id: &Id) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(id);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    /// An owner has lost a dependent, which it may have waited for.
    fn wait_for_owner(&mut self, now: Instant, owner: &str) {
        if let Some(owner) = self.objects.get(owner).cloned() {
            self.push(now, Task::Owner(owner));
        }
    }

    /// An object waits for the change that was made now.
    pub(super) fn look_at(&mut self, now: Instant, id: Id) {
        self.push(now, Task::Owner(id));
    }

    fn push(&mut self, now: Instant, task: Task) {
        if self.due.back().is_none_or(|(_, last)| *last != task) {
            self.due.push_back((now + DELAY, task));
        }
    }
}

pub(super) const PODS: &str = "v1/pods";

/// Whether a pod has not ended.
pub(super) fn uses_volumes(pod: &Value) -> bool {
    !["Succeeded", "Failed"].iter().any(|phase| pod["status"]["phase"] == *phase)
}

/// The claims that a pod names.
pub(super) fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}

pub(super) const NAMESPACES: &str = "v1/namespaces";

fn uid(object: &Value) -> Option<&str> {
    object["metadata"]["uid"].as_str()
}

/// The uids of an object's owners.
fn owners(object: Option<&Value>) -> BTreeSet<&str> {
    let references = object.and_then(|object| object["metadata"]["ownerReferences"].as_array());
    references.into_iter().flatten().filter_map(|reference| reference["uid"].as_str()).collect()
}
