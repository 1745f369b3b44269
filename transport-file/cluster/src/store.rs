//! The objects of a cluster, and the last changes of each collection.

use super::metadata::metadata_of;
use super::network::Commit;
use crate::kinds::ServedKind;
use listwatch_core::Instant;
use listwatch_transport_file::weight;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How many changes a collection remembers. A watch that is further behind gets a 410.
pub(super) const WINDOW: usize = 4_096;

/// The most bytes of the objects in the changes that all collections remember, as they are in memory. An object between
/// two changes counts for both.
const WINDOW_BYTES: u64 = 1 << 30;

/// All collections, and the version of the cluster.
#[derive(Debug)]
pub(super) struct Store {
    revision: u64,
    /// How often a collection got a change or a version.
    steps: u64,
    collections: BTreeMap<String, Collection>,
    /// A collection that has had no object.
    unused: Collection,
    /// The memory of the remembered changes.
    weight: u64,
    /// The most memory that they take.
    most: u64,
    /// The objects that were changed since the last look.
    touched: Vec<Touched>,
    /// The changes since the last look, for an observer if there is one.
    commits: Option<Vec<Commit>>,
    /// Whether nothing is stored.
    is_dry_run: bool,
}

/// An object that was changed.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) collection: String,
    pub(super) key: String,
    pub(super) before: Option<Arc<Value>>,
    pub(super) after: Option<Arc<Value>>,
}

/// The objects of one resource.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    /// By namespace and name, in the order of etcd's keys.
    objects: BTreeMap<String, Arc<Value>>,
    changes: VecDeque<Change>,
    /// The memory of the changes.
    weight: u64,
    /// How many changes are forgotten.
    forgotten: u64,
    /// The oldest version from which a watch can go on.
    compacted: u64,
    /// The newest version that was recorded; `None` where the changes are made here.
    recorded: Option<u64>,
}

/// A change of an object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The version after it.
    pub(super) revision: u64,
    pub(super) at: Instant,
    /// The object before it; `None` if it was created.
    pub(super) before: Option<Arc<Value>>,
    /// The object after it or, if it was deleted, its last state with the version of the deletion.
    pub(super) object: Arc<Value>,
    pub(super) is_deletion: bool,
    /// The version from which on the changes before this one are unknown, up to those that follow in the same version.
    /// No watch goes on here.
    pub(super) gap_from: Option<u64>,
    key: String,
    /// The memory that it takes, about.
    weight: u64,
}

/// What a collection had at a version.
pub(super) type State<'s> = BTreeMap<&'s str, &'s Arc<Value>>;

/// The key of an object in its collection.
pub(super) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            revision: 1,
            steps: 0,
            collections: BTreeMap::new(),
            unused: Collection::new(),
            weight: 0,
            most: WINDOW_BYTES,
            touched: Vec::new(),
            commits: None,
            is_dry_run: false,
        }
    }

    /// The version of the cluster.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Changes with every change of any collection. A recorded change may leave the version as it is.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The collection of a kind, for its first change or a further one.
    fn open(&mut self, kind: &ServedKind) -> &mut Collection {
        self.collections.entry(kind.name()).or_insert_with(|| self.unused.clone())
    }

    pub(super) fn collection(&self, name: &str) -> &Collection {
        self.collections.get(name).unwrap_or(&self.unused)
    }

    /// Whether the changes of a collection are recorded elsewhere.
    pub(super) fn is_recorded(&self, name: &str) -> bool {
        self.collection(name).recorded.is_some()
    }

    /// The objects of a kind.
    pub(super) fn list(&self, kind: &ServedKind) -> Vec<Value> {
        self.collection(&kind.name()).objects.values().map(|object| (**object).clone()).collect()
    }

    /// The collections and keys of all objects in a namespace.
    pub(super) fn objects_in(&self, namespace: &str) -> impl Iterator<Item = (String, String)> {
        let prefix = format!("{namespace}/");
        self.collections.iter().flat_map(move |(name, collection)| {
            let prefix = prefix.clone();
            let inside = collection.objects.keys().filter(move |key| key.starts_with(&prefix));
            inside.map(move |key| (name.clone(), key.clone()))
        })
    }

    pub(super) fn object(&self, collection: &str, key: &str) -> Option<&Arc<Value>> {
        self.collection(collection).objects.get(key)
    }

    /// The version of a list of this collection, from which a watch goes on.
    pub(super) fn version_of(&self, collection: &str) -> u64 {
        self.collection(collection).recorded.unwrap_or(self.revision)
    }

    /// From now on, nothing is stored (`dryRun`), or again everything.
    pub(super) fn set_dry_run(&mut self, is_dry_run: bool) {
        self.is_dry_run = is_dry_run;
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Stores an object in its next version.
    pub(super) fn put(&mut self, now: Instant, kind: &ServedKind, key: &str, mut object: Value) -> Arc<Value> {
        if self.is_dry_run {
            return Arc::new(object);
        }
        let revision = self.next_revision();
        set_version(&mut object, revision);
        let object = Arc::new(object);
        self.enter(revision, now, kind, key, Arc::clone(&object), false);
        object
    }

    /// Changes the objects of a collection as they are read from now on. No watch is told.
    pub(super) fn reread(&mut self, kind: &ServedKind, change: impl Fn(&mut Value)) {
        let Some(collection) = self.collections.get_mut(&kind.name()) else { return };
        collection.objects.values_mut().for_each(|object| change(Arc::make_mut(object)));
    }

    /// Removes an object, whose last state is given. It has the version of the deletion then.
    pub(super) fn remove(&mut self, now: Instant, kind: &ServedKind, key: &str, mut last: Value) -> Arc<Value> {
        if self.is_dry_run {
            return Arc::new(last);
        }
        let revision = self.next_revision();
        set_version(&mut last, revision);
        let last = Arc::new(last);
        self.enter(revision, now, kind, key, Arc::clone(&last), true);
        last
    }

    /// Takes the changes since the last look, oldest first.
    pub(super) fn take_touched(&mut self) -> Vec<Touched> {
        std::mem::take(&mut self.touched)
    }

    /// Enters a change into its collection.
    fn enter(
        &mut self,
        revision: u64,
        now: Instant,
        kind: &ServedKind,
        key: &str,
        object: Arc<Value>,
        is_deletion: bool,
    ) {
        let after = (!is_deletion).then(|| Arc::clone(&object));
        let before = self.open(kind).exchange(key, &object, is_deletion);
        self.push(kind, Change { before: before.clone(), ..Change::new(revision, now, key, object, is_deletion) });
        if let Some(commits) = &mut self.commits {
            let (resource, key, before, after) = (kind.name(), key.to_owned(), before.clone(), after.clone());
            commits.push(Commit { version: revision, resource, key, before, after });
        }
        self.touched.push(Touched { collection: kind.name(), key: key.to_owned(), before, after });
    }

    /// Keeps the changes from now on for an observer.
    pub(super) fn observe(&mut self) {
        self.commits.get_or_insert_default();
    }

    /// Takes the changes for the observer since the last look, oldest first.
    pub(super) fn take_commits(&mut self) -> Vec<Commit> {
        self.commits.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds a change. Without room for it, the oldest of the largest windows are forgotten, up to a quarter of the memory:
    /// watches behind them get a 410.
    fn push(&mut self, kind: &ServedKind, change: Change) {
        let collection = self.open(kind);
        let before = collection.weight;
        collection.push(change);
        let after = collection.weight;
        self.weight = self.weight - before + after;
        if self.weight <= self.most {
            return;
        }
        let enough = self.most / 4 * 3;
        let mut largest: Vec<&mut Collection> = self.collections.values_mut().collect();
        largest.sort_unstable_by_key(|collection| Reverse(collection.weight));
        for collection in largest {
            while self.weight > enough
                && let Some(oldest) = collection.forget_oldest()
            {
                self.weight -= oldest;
            }
        }
    }

    /// Enters a change that happened elsewhere, in its own version. If the collection has a newer one, the change and its
    /// object get the next.
    pub(super) fn record(&mut self, now: Instant, kind: &ServedKind, key: &str, mut object: Value, change: Recorded) {
        let revision = self.recorded_revision(kind, change.revision);
        if revision != change.revision {
            // A watch from the version of the object goes on after this change.
            set_version(&mut object, revision);
        }
        self.enter(revision, now, kind, key, Arc::new(object), change.is_deletion);
    }

    /// Enters a state that was recorded at a version, of which the changes before are unknown.
    pub(super) fn record_gap(&mut self, now: Instant, kind: &ServedKind, gap: RecordedGap) {
        let gap_from = Some(self.open(kind).newest());
        let revision = self.recorded_revision(kind, gap.revision);
        let beginning = Change { gap_from, ..Change::new(revision, now, "", Arc::default(), false) };
        self.push(kind, beginning);
        for key in gap.gone {
            let last = self.object(&kind.name(), &key).cloned().unwrap_or_default();
            self.enter(revision, now, kind, &key, last, true);
        }
        for (key, mut object) in gap.changed {
            if !has_version(&object) {
                // A watch from the version of the object goes on after the gap.
                set_version(&mut object, revision);
            }
            self.enter(revision, now, kind, &key, Arc::new(object), false);
        }
    }

    /// The version of a change that was recorded in this one.
    fn recorded_revision(&mut self, kind: &ServedKind, revision: u64) -> u64 {
        let revision = revision.max(self.open(kind).newest().saturating_add(1));
        self.revision = self.revision.max(revision);
        self.steps += 1;
        self.open(kind).recorded = Some(revision);
        revision
    }

    /// Notes that a recorded collection is complete up to a version.
    pub(super) fn advance(&mut self, kind: &ServedKind, revision: u64) {
        self.revision = self.revision.max(revision);
        self.steps += 1;
        let collection = self.open(kind);
        collection.recorded = Some(collection.newest().max(revision));
    }

    /// Forgets all changes: no watch goes on from an older version than the current one.
    pub(super) fn compact(&mut self) {
        for collection in self.collections.values_mut().chain([&mut self.unused]) {
            collection.forgotten += collection.changes.len() as u64;
            collection.compacted = collection.recorded.unwrap_or(self.revision);
            collection.changes.clear();
            collection.weight = 0;
        }
        self.weight = 0;
    }

    fn next_revision(&mut self) -> u64 {
        self.revision = self.revision.saturating_add(1);
        self.steps += 1;
        self.revision
    }
}

/// Where a recorded change belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    pub(super) revision: u64,
    pub(super) is_deletion: bool,
}

/// A state that was recorded at a version.
#[derive(Debug)]
pub(super) struct RecordedGap {
    pub(super) revision: u64,
    /// The objects that are new or changed, by their keys.
    pub(super) changed: Vec<(String, Value)>,
    /// The keys of the objects that are gone.
    pub(super) gone: Vec<String>,
}

impl Change {
    fn new(revision: u64, at: Instant, key: &str, object: Arc<Value>, is_deletion: bool) -> Self {
        Self { revision, at, before: None, object, is_deletion, gap_from: None, key: key.to_owned(), weight: 0 }
    }

    fn weighed(self) -> Self {
        let before = self.before.as_deref().map_or(0, weight);
        let weight = (size_of::<Self>() + self.key.len()) as u64 + before + weight(&self.object);
        Self { weight, ..self }
    }
}

impl Collection {
    fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            changes: VecDeque::new(),
            weight: 0,
            forgotten: 0,
            compacted: 0,
            recorded: None,
        }
    }

    pub(super) fn objects(&self) -> &BTreeMap<String, Arc<Value>> {
        &self.objects
    }

    /// The oldest version from which a watch can go on.
    pub(super) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// The number of the first change after a version.
    pub(super) fn position(&self, revision: u64) -> Result<u64, Forgotten> {
        let known = self.changes.partition_point(|change| change.revision <= revision) as u64;
        if revision < self.compacted { Err(Forgotten) } else { Ok(self.forgotten + known) }
    }

    /// The number of the next change.
    pub(super) fn end(&self) -> u64 {
        self.forgotten + self.changes.len() as u64
    }

    /// The change with this number; `Err` if it is forgotten.
    pub(super) fn change(&self, position: u64) -> Result<Option<&Change>, Forgotten> {
        let index = position.checked_sub(self.forgotten).ok_or(Forgotten)?;
        Ok(usize::try_from(index).ok().and_then(|index| self.changes.get(index)))
    }

    /// The objects as they were at a version. `Err` if it is forgotten, or lies in a gap.
    pub(super) fn state(&self, revision: u64) -> Result<State<'_>, Forgotten> {
        if revision < self.compacted {
            return Err(Forgotten);
        }
        let later = || self.changes.iter().rev().take_while(|change| change.revision > revision);
        if later().filter_map(|change| change.gap_from).any(|from| from < revision) {
            return Err(Forgotten);
        }
        let mut state: State<'_> = self.objects.iter().map(|(key, object)| (key.as_str(), object)).collect();
        for change in later() {
            match &change.before {
                Some(before) => state.insert(&change.key, before),
                None => state.remove(change.key.as_str()),
            };
        }
        Ok(state)
    }

    /// The newest version.
    pub(super) fn newest(&self) -> u64 {
        self.changes.back().map_or(self.compacted, |change| change.revision).max(self.recorded.unwrap_or(0))
    }

    /// Sets or removes an object, and returns the one before it.
    fn exchange(&mut self, key: &str, object: &Arc<Value>, is_deletion: bool) -> Option<Arc<Value>> {
        if is_deletion { self.objects.remove(key) } else { self.objects.insert(key.to_owned(), Arc::clone(object)) }
    }

    fn push(&mut self, change: Change) {
        self.recorded = self.recorded.map(|recorded| recorded.max(change.revision));
        let change = change.weighed();
        self.weight += change.weight;
        self.changes.push_back(change);
        if self.changes.len() > WINDOW {
            self.forget_oldest();
        }
    }

    /// Forgets the oldest change, and returns the memory that it took.
    fn forget_oldest(&mut self) -> Option<u64> {
        let oldest = self.changes.pop_front()?;
        (self.forgotten, self.compacted) = (self.forgotten + 1, oldest.revision);
        self.weight -= oldest.weight;
        Some(oldest.weight)
    }
}

fn has_version(object: &Value) -> bool {
    object["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|version| version.parse().ok())
        .is_some_and(|it: u64| it > 0)
}

fn set_version(object: &mut Value, revision: u64) {
    metadata_of(object).insert("resourceVersion".into(), json!(revision.to_string()));
}

/// The history does not go back so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forgotten;

#[cfg(test)]
mod tests {
    use super::*;

    fn deleted(store: &mut Store, kind: &ServedKind, name: &str, size: usize) {
        store.put(Instant::ZERO, kind, name, json!({ "data": "x".repeat(size) }));
        store.remove(Instant::ZERO, kind, name, json!({}));
    }

    #[test]
    fn the_changes_that_a_cluster_remembers_stay_within_their_limit() {
        let kind = |plural: &str| ServedKind::custom("v1", "Large", plural, true);
        let (large, small) = (kind("large"), kind("small"));
        let mut store = Store { most: 1 << 20, ..Store::new() };
        deleted(&mut store, &small, "a", 1);
        for number in 0..100 {
            deleted(&mut store, &large, &number.to_string(), 1 << 16);
            let held: u64 = store.collections.values().map(|collection| collection.weight).sum();
            assert!(held <= store.most && held == store.weight, "{held} of {}", store.weight);
        }
        let (kept, forgotten) = (store.collection("v1/large"), store.collection("v1/small"));
        assert!((5..20).contains(&kept.changes.len()), "{}", kept.changes.len());
        assert_eq!(kept.position(kept.compacted - 1), Err(Forgotten));
        assert_eq!((kept.end(), forgotten.changes.len()), (200, 2));
        store.compact();
        assert_eq!(store.weight, 0);
    }

    #[test]
    fn a_change_larger_than_the_limit_of_memory_is_not_kept() {
        let kind = ServedKind::custom("v1", "Large", "large", true);
        let mut store = Store { most: 1 << 10, ..Store::new() };
        deleted(&mut store, &kind, "a", 1 << 12);
        assert_eq!((store.weight, store.collection("v1/large").end()), (0, 2));
    }
}
