//! From the moments of a recording to the entries of its time line.

use super::entry::{By, Entry, ReadState, Reconcile, Sort};
use super::event;
use super::filter::Filter;
use super::known::{self, Known};
use super::lease::{Leases, Seen, are_leases};
use super::resource::name_of;
use super::rules;
use super::sequence::Sequence;
use super::write::{Written, is_write, written};
use crate::output::changes::{Changes, Look};
use listwatch::Key;
use listwatch::file::{
    Call, CallEnd, LateWrite, Moment, MomentKind, Note, NoteKind, ObjectText, RecordedChange, RecordedResource, Target,
};
use listwatch::request::Query;
use listwatch::text::Counted;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

/// The states of caches that are told of a reconcile.
const MOST_READS: usize = 32;
/// The writes whose authors are known at the most.
const MOST_AUTHORS: usize = 1 << 16;
/// Such outcomes are failures.
const FAILURES: [&str; 6] = ["failed", "panicked", "retry", "terminal", "overdue", "dropped"];

/// Which changes are compared with the states before them.
#[derive(Clone, Copy, PartialEq)]
enum Compared {
    Selected,
    All,
}

/// Tells a time line.
pub(super) struct Teller {
    pub(super) filter: Filter,
    compared: Compared,
    look: Look,
    /// The states that lists and watches told of.
    known: Known,
    /// Those that requests were answered with.
    answered: Known,
    pub(super) sequence: Sequence,
    running: BTreeMap<u64, Running>,
    /// The writes without an end.
    open: HashMap<u64, Open>,
    authors: Authors,
    leases: Leases,
    /// The changes of objects that the options leave out, which were not even compared.
    pub(super) passed_over: u64,
}

/// A reconcile without an end.
struct Running {
    place: u64,
    entry: Entry,
}

/// A write without an end.
struct Open {
    target: Target,
    /// `None` for that of a reconcile, among whose writes it stands.
    place: Option<u64>,
    /// The object before it.
    before: Option<ObjectText>,
    /// The changes that may be its effects.
    effects: Vec<Effect>,
}

/// A change whose author may not be known yet.
#[derive(Clone)]
struct Effect {
    place: u64,
    entry: Entry,
    uid: String,
    managers: Vec<String>,
}

/// The authors of the newest writes.
#[derive(Default)]
struct Authors {
    by_state: HashMap<(String, String), By>,
    order: VecDeque<(String, String)>,
}

/// The place of an event in the recording.
#[derive(Clone, Copy)]
struct Place {
    at: Duration,
    line: Option<u64>,
}

impl Teller {
    pub(super) fn new(filter: Filter, look: Look) -> Self {
        Self {
            filter,
            compared: Compared::Selected,
            look,
            known: Known::default(),
            answered: Known::default(),
            sequence: Sequence::default(),
            running: BTreeMap::new(),
            open: HashMap::new(),
            authors: Authors::default(),
            leases: Leases::default(),
            passed_over: 0,
        }
    }

    /// One that tells everything in full, because a cause may be anywhere.
    pub(super) fn of_all(filter: Filter, look: Look) -> Self {
        Self { compared: Compared::All, ..Self::new(filter, look) }
    }

    /// How many states of objects were dropped for want of memory.
    pub(super) fn dropped(&self) -> u64 {
        self.known.dropped + self.answered.dropped
    }

    /// The numbers of the reconciles that run.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn take(&mut self, Moment { at, line, kind, .. }: Moment) {
        let place = Place { at, line };
        match kind {
            MomentKind::Sent { id, method, target, reconcile } => self.sent(id, &method, &target, reconcile),
            MomentKind::Ended(call) => self.ended(place, &call),
            MomentKind::Changed { resource, change, is_first } => self.changed(place, &resource, change, is_first),
            MomentKind::Expired(resource) => {
                let message = "the server answered a watch by a 410: its version was too old, so a list follows";
                self.failure(place, "gap", Some(&resource), message.to_owned());
            }
            MomentKind::Refused(resource, message) => self.failure(place, "ERROR", Some(&resource), message),
            MomentKind::Noted(note) => self.noted(place, note),
            _ => {}
        }
    }

    /// Tells what has no end in the recording.
    pub(super) fn end(&mut self) {
        for (_, mut running) in std::mem::take(&mut self.running) {
            running.entry.failed = true;
            running.entry.message = Some("the recording ends before its outcome".to_owned());
            self.sequence.tell(running.place, running.entry);
        }
        for entry in self.leases.end() {
            self.sequence.add(entry);
        }
    }
}

/// Requests.
impl Teller {
    fn sent(&mut self, id: u64, method: &str, target: &str, reconcile: Option<u64>) {
        let Some(target) = Target::parse(target).filter(|_| is_write(method)) else { return };
        let is_of_reconcile = reconcile.is_some_and(|number| self.is_open(number));
        let place = (!is_of_reconcile).then(|| self.sequence.open());
        let states = |key: Key| [&self.known, &self.answered].map(|known| known.get(target.collection(), key.as_str()));
        let before = target.key().and_then(|key| states(key).into_iter().flatten().max_by_key(ObjectText::version));
        self.open.insert(id, Open { target, place, before, effects: Vec::new() });
    }

    /// Whether a reconcile runs whose place was not passed over.
    fn is_open(&self, number: u64) -> bool {
        self.running.get(&number).is_some_and(|running| !self.sequence.is_behind(running.place))
    }

    fn ended(&mut self, Place { at, line }: Place, call: &Call) {
        let open = self.open.remove(&call.request.id);
        let target = open.as_ref().map(|open| open.target.clone()).or_else(|| Target::parse(&call.request.target));
        let before = open.as_ref().and_then(|open| open.before.as_ref()).map(ObjectText::text);
        let before = before.as_deref();
        let mut written = written(call, target.as_ref(), at, before, self.look);
        written.entry.line = line;
        if call.request.method == "DELETE" && written.entry.is_of_rules() {
            written.entry.bound = before.and_then(|before| rules::bound(&known::value(before)));
        }
        written.entry.by.controller = self.controller(call.reconcile);
        let is_write = is_write(&call.request.method);
        if is_write && !written.entry.failed {
            self.note_author(call, &written, before, line);
        }
        let answer = written.answer.take();
        let labelled = answer.clone().or_else(|| before.map(known::value));
        written.entry.is_labelled = labelled.is_some_and(|object| self.filter.is_labelled(&object));
        let is_failure = match (&call.end, call.query, call.status()) {
            (CallEnd::GivenUp, ..) | (CallEnd::Unknown, Some(_), _) => false,
            // It is told as a gap.
            (_, Some(Query::Watch | Query::WatchList), Some(410)) => false,
            _ => written.entry.failed,
        };
        let entry = written.entry;
        self.learn(Place { at, line }, &entry, target.as_ref(), answer.as_ref());
        let (place, effects) = open.map_or((None, Vec::new()), |open| (open.place, open.effects));
        let is_told = if is_write { self.is_told(&entry) } else { is_failure };
        match place {
            Some(place) if is_told => self.sequence.tell(place, entry),
            Some(place) => self.sequence.pass(place),
            None if is_told => self.tell(call.reconcile.filter(|_| is_write), entry),
            None => {}
        }
        effects.into_iter().for_each(|effect| self.resolve(effect));
    }

    /// Notes the author of a state, and of deletions, whose versions are in no answer.
    fn note_author(&mut self, call: &Call, written: &Written, before: Option<&str>, line: Option<u64>) {
        let by = By { line, ..written.entry.by.clone() };
        if let (Some(uid), Some(version)) = (&written.uid, &written.entry.version) {
            self.authors.note(uid.clone(), version.clone(), by.clone());
        }
        let answer = written.answer.as_ref();
        if !may_delete(call, answer) {
            return;
        }
        let own = written.uid.clone().or_else(|| Some(text(&known::value(before?), "uid")));
        let items = answer.and_then(|answer| answer["items"].as_array()).into_iter().flatten();
        let all = own.into_iter().chain(items.map(|item| text(item, "uid")));
        all.filter(|uid| !uid.is_empty()).for_each(|uid| self.authors.note(uid, String::new(), by.clone()));
    }

    /// Tells a write of a reconcile among its writes, and any other request by itself.
    fn tell(&mut self, reconcile: Option<u64>, entry: Entry) {
        match reconcile.filter(|number| self.is_open(*number)).and_then(|number| self.running.get_mut(&number)) {
            Some(Running { entry: Entry { writes, .. }, .. }) => {
                let at = writes.partition_point(|write| write.at <= entry.at);
                writes.insert(at, entry);
            }
            None => self.sequence.add(entry),
        }
    }

    /// Renewals of leases are folded, unless leases are asked for by their kind.
    fn is_told(&self, entry: &Entry) -> bool {
        let is_lease = entry.collection.as_deref().is_some_and(are_leases);
        !is_lease || entry.failed || self.filter.names(entry.collection.as_deref().unwrap_or_default())
    }

    /// Notes the object of an answer.
    fn learn(&mut self, Place { at, line }: Place, entry: &Entry, target: Option<&Target>, answer: Option<&Value>) {
        let (Some(target), Some(answer), Some(key)) = (target, answer, &entry.key) else { return };
        let is_object = target.subresource().is_none_or(|part| part == "status");
        if !is_object || answer["metadata"]["name"].as_str().is_none() {
            return;
        }
        if entry.event != "DELETE"
            && let Some(object) = ObjectText::of(&answer.to_string())
        {
            self.answered.set(target.collection(), key, object);
        }
        if are_leases(target.collection()) {
            let by = (entry.what == Sort::Write).then(|| entry.by.clone());
            let seen = Seen { at, line, key, lease: answer, by };
            let told = if entry.event == "DELETE" { self.leases.gone(&seen) } else { self.leases.see(seen) };
            told.into_iter().for_each(|entry| self.sequence.add(entry));
        }
    }

    fn controller(&self, reconcile: Option<u64>) -> Option<String> {
        self.running.get(&reconcile?).and_then(|running| running.entry.reconcile.as_ref()).map(|own| own.of.clone())
    }
}

/// Changes.
impl Teller {
    fn changed(&mut self, place: Place, resource: &RecordedResource, change: RecordedChange, is_first: bool) {
        match change {
            RecordedChange::Added(object) => self.object(place, resource, "ADDED", &object),
            RecordedChange::Modified(object) => self.object(place, resource, "MODIFIED", &object),
            RecordedChange::Deleted(object) => self.object(place, resource, "DELETED", &object),
            RecordedChange::Relisted { changed, gone, version } => {
                self.listed(place, resource, is_first, (changed.len(), gone.len()), version);
                let event = if is_first { "LISTED" } else { "RELISTED" };
                for object in changed {
                    self.object(place, resource, event, &object);
                }
                for key in gone {
                    let collection = name_in(resource);
                    self.known.remove(&collection, key.as_str());
                    let entry = Entry {
                        event: "VANISHED".to_owned(),
                        is_labelled: self.filter.labels.is_none(),
                        ..change_of(place, resource, key.as_str())
                    };
                    self.sequence.add(entry);
                }
            }
            RecordedChange::Reached(_) => {}
        }
    }

    /// A list as one entry.
    fn listed(
        &mut self,
        place: Place,
        resource: &RecordedResource,
        is_first: bool,
        (changed, gone): (usize, usize),
        version: u64,
    ) {
        let changed = Counted(changed, "object", "objects");
        let (event, message) = match is_first {
            true => ("list", format!("{changed}, at version {version}")),
            false => {
                let gone = Counted(gone, "is gone", "are gone");
                (
                    "gap",
                    format!(
                        "a list shows what no watch told of: {changed} new or changed, {gone}; at version {version}"
                    ),
                )
            }
        };
        let version = Some(version.to_string());
        let (resource, collection) = (Some(name_of(resource)), Some(resource.collection.clone()));
        let Place { at, line } = place;
        let failed = !is_first;
        let entry = Entry {
            at,
            line,
            event: event.to_owned(),
            message: Some(message),
            failed,
            resource,
            collection,
            version,
            is_labelled: self.filter.labels.is_none(),
            ..Entry::default()
        };
        self.sequence.add(entry);
    }

    fn object(&mut self, place: Place, resource: &RecordedResource, event: &'static str, object: &ObjectText) {
        let (collection, key) = (name_in(resource), object.key().as_str());
        let before = match event {
            "DELETED" => {
                self.answered.remove(&collection, key);
                self.known.remove(&collection, key)
            }
            _ => self.known.set(&collection, key, object.clone()),
        };
        // The objects of a first list are told one by one if they are asked for.
        if event == "LISTED" && self.filter.text_of_keys().is_none() {
            return;
        }
        let is_lease = are_leases(&resource.collection);
        let is_told = self.compared == Compared::All
            || (self.filter.selects(&resource.collection, key) && self.filter.shows_changes_at(place.at));
        if !is_lease && !is_told {
            self.passed_over += 1;
            return;
        }
        let value = match object.value() {
            Ok(value) => value,
            Err(error) => return self.failure(place, "unreadable", Some(resource), error.to_string()),
        };
        if is_lease {
            let Place { at, line } = place;
            let (uid, version) = (text(&value, "uid"), text(&value, "resourceVersion"));
            let by = self.authors.of(&uid, &version);
            let seen = Seen { at, line, key, lease: &value, by };
            let told = if event == "DELETED" { self.leases.gone(&seen) } else { self.leases.see(seen) };
            told.into_iter().for_each(|entry| self.sequence.add(entry));
            if !self.filter.names(&resource.collection) {
                return;
            }
        }
        let before = before.map(|before| known::typed(&before.text(), &value));
        self.compared(place, resource, event, key, (before, value));
    }

    fn compared(
        &mut self,
        place: Place,
        resource: &RecordedResource,
        event: &'static str,
        key: &str,
        (before, value): (Option<Value>, Value),
    ) {
        let version = Some(text(&value, "resourceVersion")).filter(|version| !version.is_empty());
        let mut entry = Entry { event: event.to_owned(), version, ..change_of(place, resource, key) };
        let is_labelled = |object: &Value| self.filter.is_labelled(object);
        entry.is_labelled = is_labelled(&value) || before.as_ref().is_some_and(is_labelled);
        let secret = resource.collection == "v1/secrets";
        match (event, &before) {
            ("MODIFIED" | "RELISTED", Some(before)) => {
                entry.set_changes(Changes::between(before, &value, secret, self.look));
                if entry.changes.is_empty() {
                    entry.message = Some("no field but those of the server's own bookkeeping".to_owned());
                }
            }
            _ if event::are_events(&resource.collection) => {}
            ("MODIFIED", None) => entry.message = Some("the state before it is not known".to_owned()),
            _ => {}
        }
        if let Some(before) = before.as_ref().filter(|_| entry.is_of_rules()) {
            entry.message = entry.message.or_else(|| rules::told(&entry.changes, before));
            entry.bound = rules::bound(before).filter(|_| event == "DELETED");
        }
        if event::are_events(&resource.collection) {
            entry.message = Some(event::told(&value));
        }
        let effect =
            Effect { place: 0, managers: managers(before.as_ref(), &value, event), uid: text(&value, "uid"), entry };
        self.effect(effect, resource, key);
    }

    /// Adds a change. One that an open write may have made waits for its answer.
    fn effect(&mut self, mut effect: Effect, resource: &RecordedResource, key: &str) {
        let may_be = |open: &&mut Open| {
            open.target.collection() == resource.collection && open.target.key().is_none_or(|own| own.as_str() == key)
        };
        let is_known = self.authors.of(&effect.uid, effect.entry.version.as_deref().unwrap_or_default()).is_some();
        effect.place = self.sequence.open();
        match self.open.values_mut().find(may_be).filter(|_| !is_known) {
            Some(open) => open.effects.push(effect),
            None => self.resolve(effect),
        }
    }

    fn resolve(&mut self, effect: Effect) {
        let Effect { place, mut entry, uid, managers } = effect;
        let own = entry.version.as_deref().and_then(|version| self.authors.of(&uid, version));
        let deletion = || self.authors.of(&uid, "").filter(|_| entry.event == "DELETED");
        entry.by = own.or_else(deletion).unwrap_or_else(|| By { managers, ..By::default() });
        self.sequence.tell(place, entry);
    }

    fn failure(
        &mut self,
        Place { at, line }: Place,
        event: &str,
        resource: Option<&RecordedResource>,
        message: String,
    ) {
        let (name, collection) = (resource.map(name_of), resource.map(|resource| resource.collection.clone()));
        self.sequence.add(Entry {
            what: Sort::Failure,
            at,
            line,
            event: event.to_owned(),
            resource: name,
            collection,
            message: Some(message),
            failed: true,
            is_labelled: true,
            ..Entry::default()
        });
    }
}

/// Reconciles.
impl Teller {
    fn noted(&mut self, Place { at, line }: Place, Note { reconcile, of, kind }: Note) {
        match kind {
            NoteKind::Began { key, attempt, causes, late } => {
                let late = late.iter().map(late_text).collect();
                let own = Reconcile { number: reconcile, of, attempt, causes, late, ..Reconcile::default() };
                let is_labelled = self.is_labelled(&key);
                let entry = Entry {
                    what: Sort::Reconcile,
                    at,
                    line,
                    event: "reconcile".to_owned(),
                    key: Some(key),
                    reconcile: Some(own),
                    is_labelled,
                    ..Entry::default()
                };
                let place = self.sequence.open();
                self.running.insert(reconcile, Running { place, entry });
            }
            NoteKind::Read { at: positions } => {
                let Some(own) = self.running.get_mut(&reconcile).and_then(|it| it.entry.reconcile.as_mut()) else {
                    return;
                };
                for (cache, position) in positions {
                    let state = ReadState { cache, changes: position.changes, version: position.version };
                    if own.read.len() < MOST_READS && !own.read.contains(&state) {
                        own.read.push(state);
                    }
                }
            }
            NoteKind::Date { .. } => {}
            NoteKind::Ended { outcome } => {
                let Some(Running { place, mut entry }) = self.running.remove(&reconcile) else { return };
                entry.millis = u64::try_from(at.saturating_sub(entry.at).as_millis()).ok();
                entry.failed = FAILURES.iter().any(|failure| outcome.starts_with(failure));
                if let Some(own) = &mut entry.reconcile {
                    own.outcome = Some(outcome);
                }
                self.sequence.tell(place, entry);
            }
        }
    }

    /// Whether an object under this key, of any kind, has the labels that are asked for.
    fn is_labelled(&self, key: &str) -> bool {
        self.filter.labels.is_none()
            || self.known.all(key).any(|object| self.filter.is_labelled(&known::value(&object.text())))
    }
}

impl Authors {
    fn note(&mut self, uid: String, version: String, by: By) {
        let state = (uid, version);
        if self.by_state.insert(state.clone(), by).is_none() {
            self.order.push_back(state);
        }
        if self.order.len() > MOST_AUTHORS
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_state.remove(&oldest);
        }
    }

    fn of(&self, uid: &str, version: &str) -> Option<By> {
        self.by_state.get(&(uid.to_owned(), version.to_owned())).cloned()
    }
}

fn change_of(Place { at, line }: Place, resource: &RecordedResource, key: &str) -> Entry {
    let (resource, collection) = (Some(name_of(resource)), Some(resource.collection.clone()));
    Entry { at, line, resource, collection, key: Some(key.to_owned()), ..Entry::default() }
}

/// The name under which the states of a resource are known. Metadata alone are known apart.
fn name_in(resource: &RecordedResource) -> String {
    if resource.metadata_only { format!("{} (metadata)", resource.collection) } else { resource.collection.clone() }
}

/// Whether a write may delete its object: as a deletion, or as the change that takes the last finalizer away.
fn may_delete(call: &Call, answer: Option<&Value>) -> bool {
    let is_last = |answer: &Value| {
        let metadata = &answer["metadata"];
        let is_held = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        let has_grace = metadata["deletionGracePeriodSeconds"].as_u64().is_some_and(|grace| grace > 0);
        !metadata["deletionTimestamp"].is_null() && !is_held && !has_grace
    };
    call.request.method == "DELETE" || answer.is_some_and(is_last)
}

fn text(object: &Value, field: &str) -> String {
    object["metadata"][field].as_str().unwrap_or_default().to_owned()
}

/// The managers whose fields changed: those whose entries did, else those that own what changed. Times have seconds.
fn managers(before: Option<&Value>, now: &Value, event: &str) -> Vec<String> {
    let none = Vec::new();
    let of = |object: &Value| object["metadata"]["managedFields"].as_array().unwrap_or(&none).clone();
    let known = before.map(of).unwrap_or_default();
    if event == "DELETED" || (before.is_none() && event != "ADDED") {
        return Vec::new();
    }
    let all = of(now);
    let (changed, same): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|own| !known.contains(own));
    let owns = |own: &Value| before.is_some_and(|before| owns_change(&own["fieldsV1"], before, now));
    let authors = if changed.is_empty() { same.into_iter().filter(owns).collect() } else { changed };
    let mut names: Vec<String> =
        authors.into_iter().filter_map(|own| own["manager"].as_str().map(str::to_owned)).collect();
    names.dedup();
    names
}

/// Whether a set of fields, as `fieldsV1` has it, owns one that differs between two values.
fn owns_change(fields: &Value, before: &Value, now: &Value) -> bool {
    let Some(inner) = fields.as_object().filter(|inner| !inner.is_empty()) else { return before != now };
    inner.iter().any(|(name, fields)| {
        let [old, new] = [before, now].map(|value| part(value, name).unwrap_or(&Value::Null));
        old != new && owns_change(fields, old, new)
    })
}

/// The part of a value that `fieldsV1` names: a field, or an item of a list by its keys or its value.
fn part<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let (sort, name) = name.split_once(':')?;
    if sort == "f" {
        return value.get(name);
    }
    let wanted: Value = serde_json::from_str(name).ok()?;
    let has_keys = |item: &Value| wanted.as_object()?.iter().all(|(key, own)| item[key] == *own).then_some(());
    value.as_array()?.iter().find(|item| **item == wanted || (sort == "k" && has_keys(item).is_some()))
}

fn late_text(late: &LateWrite) -> String {
    let version =
        late.version.as_ref().map_or_else(|| "its deletion".to_owned(), |version| format!("version {version}"));
    format!("{} {} at {version}", late.source, late.object)
}
