//! The states of objects that answers tell, as the lists and watches of a capture.

use super::event::Event;
use super::stream::{State, Stream, of};
use crate::capture::Target;
use crate::capture::format::End;
use crate::error::{CaptureErrorKind, Fault};
use crate::kinds::is_foreign;
use crate::memory::{ENTRY, OBJECT_LIMIT, weight_of_key};
use crate::object::{key_of, version_of};
use crate::recording::CaptureOutput;
use listwatch_core::{Key, Resource};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The resources of a log.
#[derive(Default)]
pub(super) struct States {
    pub(super) out: CaptureOutput,
    /// By the names of their collections.
    streams: BTreeMap<String, Stream>,
    /// The definitions that are gone, whose objects have to go.
    undefined: Vec<String>,
    /// The memory of the keys and of the states.
    held: u64,
    /// How many deletions were of objects that the log does not show.
    pub(super) unseen: u64,
    /// How many states were written, and came too late to be told.
    pub(super) late: u64,
    /// How many answers to writes have no whole object.
    pub(super) partial: u64,
}

/// A deletion, as far as an answer tells it.
#[derive(Default)]
struct Deletion {
    uid: Box<str>,
    /// The last state, with the version of the deletion.
    last: Option<(u64, Box<str>)>,
    /// Whether the last known state decides that the object is gone.
    is_supposed: bool,
}

/// How an answer came to show an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Read,
    Write,
    Deletion,
}

/// The most resources of a log, each of which has a watch that is open up to the end.
const MOST_STREAMS: usize = 10_000;
/// The most memory of keys and states, and from which on states are not kept.
const MOST_HELD: u64 = 2 << 30;
const MOST_TEXT: u64 = 1 << 30;
/// The most bytes of an object. An event is around it.
const MOST_OBJECT: usize = OBJECT_LIMIT - 1024;
/// A version above this one is none of a server.
const MOST_VERSION: u64 = 1 << 62;

impl States {
    /// Those of another reading, which begins with the lists of all resources.
    pub(super) fn again(self, out: CaptureOutput) -> Result<Self, Fault> {
        let mut again = Self { out, streams: self.streams, ..Self::default() };
        again.streams.retain(|_, stream| stream.first > 0 || !stream.before.is_empty());
        for stream in again.streams.values_mut() {
            let Stream { path, types, first, before, overtaken, .. } = core::mem::take(stream);
            *stream = Stream { path, types, first, shown: before, expected: overtaken, ..Stream::default() };
            again.held += stream.shown.iter().map(|(key, state)| state.weight(key)).sum::<u64>();
            again.held += stream.expected.iter().map(|(key, _)| weight_of_key(key)).sum::<u64>();
            stream.open(&mut again.out)?;
        }
        Ok(again)
    }

    /// Writes the changes that an answer tells.
    pub(super) fn tell(&mut self, event: &Event, target: &Target) -> Result<(), Fault> {
        let name = &target.collection.name;
        let Ok(resource) = Resource::named(name) else { return Ok(()) };
        let mut stream = self.streams.remove(name).unwrap_or_default();
        stream.path = resource.path().to_owned();
        let told = self.tell_of(&mut stream, event, target);
        self.streams.insert(name.clone(), stream);
        let told = told.and_then(|()| self.undefine());
        let is_much = self.held > MOST_HELD || self.streams.len() > MOST_STREAMS;
        let message =
            "the log has more than 10,000 resources, or objects for more than 2 GiB of memory; give fewer files of it";
        if is_much { Err(Fault::new(CaptureErrorKind::TooLong, message)) } else { told }
    }

    /// Deletes the objects of definitions that are gone, as a server does by itself.
    fn undefine(&mut self) -> Result<(), Fault> {
        let gone = core::mem::take(&mut self.undefined);
        if gone.is_empty() {
            return Ok(());
        }
        let is_gone =
            |parts: &[&str]| matches!(parts, [group, _, plural] if gone.contains(&format!("{plural}.{group}")));
        let names = self.streams.keys().filter(|name| is_gone(&name.split('/').collect::<Vec<_>>()));
        for name in names.cloned().collect::<Vec<_>>() {
            let mut stream = self.streams.remove(&name).unwrap_or_default();
            let keys: Vec<Key> = stream.shown.keys().cloned().collect();
            keys.iter().try_for_each(|key| self.delete(&mut stream, key, Deletion::default()))?;
            self.streams.insert(name, stream);
        }
        Ok(())
    }

    /// Ends the watches, and the capture.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        for (name, mut stream) in core::mem::take(&mut self.streams) {
            let waiting = core::mem::take(&mut stream.waiting);
            waiting.into_iter().try_for_each(|((key, _), state)| self.tell_state(&mut stream, key, state))?;
            self.streams.insert(name, stream);
        }
        let mut watches = self.streams.values().filter_map(|stream| stream.watch);
        watches.try_for_each(|watch| self.out.end(watch, End::by_client()))?;
        self.out.finish()
    }

    fn tell_of(&mut self, stream: &mut Stream, event: &Event, target: &Target) -> Result<(), Fault> {
        let Target { collection, name, subresource } = target;
        let own = Key::new(collection.namespace.as_deref(), name.as_deref().unwrap_or_default());
        let answer: Value =
            event.response.as_ref().and_then(|body| serde_json::from_str(body.get()).ok()).unwrap_or_default();
        let (kind, is_list) = (answer["kind"].as_str().unwrap_or_default(), answer["items"].is_array());
        let gone: Vec<(Key, Box<str>)> = match ((&*event.verb, subresource.as_deref()), kind) {
            (("delete", None), "Status") => {
                let deletion = Deletion { uid: uid_of(&answer["details"]), ..Deletion::default() };
                return self.delete(stream, &own, deletion);
            }
            (("delete", None), "") | (("create", Some("eviction")), _) => vec![(own, Box::default())],
            // Of a deletion by selectors, the answer alone tells the objects.
            (("deletecollection", None), _) if !is_list && event.path.contains("Selector=") => {
                self.unseen += 1;
                return Ok(());
            }
            (("deletecollection", None), _) if !is_list => {
                let is_inside = |key: &&Key| collection.namespace.is_none() || key.namespace() == own.namespace();
                stream.shown.keys().filter(is_inside).map(|key| (key.clone(), Box::default())).collect()
            }
            _ if event.response.is_none() => return Ok(()),
            ((verb, _), _) => {
                let text = event.response.as_deref().filter(|_| !is_list).map(RawValue::get);
                let mut listed = Vec::new();
                for object in objects_of(answer) {
                    let is_listed = verb == "deletecollection";
                    listed.extend(key_of(&object).filter(|_| is_listed).map(|key| (key, uid_of(&object["metadata"]))));
                    let text = text.map_or_else(|| object.to_string(), str::to_owned);
                    self.object(stream, &object, text.into(), (Source::of(verb), &collection.name))?;
                }
                listed
            }
        };
        if gone.is_empty() { Ok(()) } else { self.suppose(stream, gone, &event.options()) }
    }

    /// Takes the deletion of objects whose last states decide whether they are gone.
    fn suppose(&mut self, stream: &mut Stream, mut gone: Vec<(Key, Box<str>)>, options: &Value) -> Result<(), Fault> {
        gone.sort_unstable();
        gone.retain(|(key, _)| stream.newest(key).is_none_or(|state| leaves(&state.text, options)));
        gone.into_iter().try_for_each(|(key, uid)| {
            self.delete(stream, &key, Deletion { uid, is_supposed: true, ..Deletion::default() })
        })
    }

    /// Takes an object of an answer, which shows its state or that it is deleted.
    fn object(
        &mut self,
        stream: &mut Stream,
        object: &Value,
        text: Box<str>,
        (source, collection): (Source, &str),
    ) -> Result<(), Fault> {
        let metadata = &object["metadata"];
        let [api_version, kind] = ["apiVersion", "kind"].map(|name| object[name].as_str().unwrap_or_default());
        let is_deleted = match source {
            Source::Read => false,
            Source::Write => !metadata["deletionTimestamp"].is_null(),
            Source::Deletion => true,
        };
        let has_grace = metadata["deletionGracePeriodSeconds"].as_i64().is_some_and(|grace| grace > 0);
        let is_gone = is_deleted && !has_grace && !is_held(object);
        let (version, uid) = (version_of(object), uid_of(metadata));
        match key_of(object) {
            Some(key) if !api_version.is_empty() && !is_foreign(collection, api_version, kind) => match is_gone {
                true => self.delete(stream, &key, Deletion { uid, last: Some((version, text)), is_supposed: false }),
                false => {
                    stream.types = ["apiVersion", "kind"].map(|name| object[name].clone());
                    self.set(stream, key, State { version, uid, text }, source)
                }
            },
            Some(key) if is_gone && kind == "PartialObjectMetadata" => {
                self.delete(stream, &key, Deletion { uid, ..Deletion::default() })
            }
            _ => {
                let is_other = matches!(kind, "Status" | "Scale" | "TokenRequest");
                self.partial += u64::from(source != Source::Read && !is_other);
                Ok(())
            }
        }
    }

    /// Takes a state, unless it or a newer one of its object is told.
    fn set(&mut self, stream: &mut Stream, key: Key, state: State, source: Source) -> Result<(), Fault> {
        let (is_survey, is_read, version) = (!self.out.is_written(), source == Source::Read, state.version);
        if !(1..=MOST_VERSION).contains(&version) || state.text.len() > MOST_OBJECT {
            self.partial += u64::from(state.text.len() > MOST_OBJECT);
            return Ok(());
        }
        if is_survey && is_read && (stream.first == 0 || version < stream.first) {
            self.set_before(stream, key, state);
            return Ok(());
        }
        if stream.gone.get(&state.uid).is_some_and(|until| version <= *until) {
            self.late += u64::from(!is_read);
            return Ok(());
        }
        let place = (key, version);
        let is_expected = stream.expected.remove(&place);
        self.held -= if is_expected { weight_of_key(&place.0) } else { 0 };
        match stream.shown.get(&place.0).map(|shown| shown.version) {
            Some(shown) if shown == version => Ok(()),
            Some(shown) if shown > version => {
                if is_survey && !is_read && stream.overtaken.insert(place.clone()) {
                    self.held += weight_of_key(&place.0);
                }
                self.late += u64::from(!is_read);
                Ok(())
            }
            _ => {
                self.held += state.weight(&place.0);
                let replaced = stream.waiting.insert(place.clone(), state);
                self.held -= replaced.map_or(0, |it| it.weight(&place.0));
                self.tell_due(stream, &place.0)
            }
        }
    }

    /// Takes a state from before the first one that was written, unless an older one is known.
    fn set_before(&mut self, stream: &mut Stream, key: Key, state: State) {
        if stream.before.get(&key).is_none_or(|known| state.version < known.version) {
            self.held += state.weight(&key);
            let replaced = stream.before.insert(key.clone(), state);
            self.held -= replaced.map_or(0, |it| it.weight(&key));
        }
    }

    /// Tells the states of an object that wait for none.
    fn tell_due(&mut self, stream: &mut Stream, key: &Key) -> Result<(), Fault> {
        while let Some(version) = stream.next_waiting(key) {
            if stream.expected.range(of(key)).next().is_some_and(|(_, expected)| *expected < version) {
                break;
            }
            self.tell_waiting(stream, key, version)?;
        }
        Ok(())
    }

    fn tell_waiting(&mut self, stream: &mut Stream, key: &Key, version: u64) -> Result<(), Fault> {
        let state = stream.waiting.remove(&(key.clone(), version)).unwrap_or_default();
        self.held -= state.weight(key);
        self.tell_state(stream, key.clone(), state)
    }

    fn tell_state(&mut self, stream: &mut Stream, key: Key, mut state: State) -> Result<(), Fault> {
        let watch = match stream.watch {
            Some(watch) => watch,
            None => {
                stream.first = state.version;
                stream.open(&mut self.out)?
            }
        };
        let old = stream.shown.remove(&key);
        let kind = if old.is_some() { "MODIFIED" } else { "ADDED" };
        self.out.data(watch, &format!("{{\"type\":\"{kind}\",\"object\":{}}}\n", state.text))?;
        self.held -= old.map_or(0, |old| old.weight(&key));
        if self.held > MOST_TEXT {
            state.text = Box::default();
        }
        self.held += state.weight(&key);
        stream.shown.insert(key, state);
        Ok(())
    }

    /// Takes a deletion. If its version is not known, it gets the one behind the last version of its object.
    fn delete(&mut self, stream: &mut Stream, key: &Key, deletion: Deletion) -> Result<(), Fault> {
        if stream.path.starts_with("/apis/apiextensions.k8s.io/") {
            self.undefined.push(key.name().to_owned());
        }
        while let Some(version) = stream.next_waiting(key) {
            self.tell_waiting(stream, key, version)?;
        }
        let is_shown = stream.shown.contains_key(key);
        let Some((watch, state)) = stream.watch.zip(stream.take(key, &deletion.uid)) else {
            // Another object of the name may be there already.
            self.unseen += u64::from(!is_shown);
            self.bury(stream, &deletion, State::default());
            return Ok(());
        };
        self.held -= state.weight(key);
        let told = deletion.last.as_ref().map(|(version, _)| *version).filter(|told| *told <= MOST_VERSION);
        let version = told.unwrap_or(0).max(state.version + 1);
        let last = deletion.last.as_ref().map_or(&state.text, |(_, last)| last);
        let mut object: Value = serde_json::from_str(last).unwrap_or_default();
        if !object["metadata"].is_object() {
            let metadata = json!({ "name": key.name(), "namespace": key.namespace() });
            object = json!({ "apiVersion": stream.types[0], "kind": stream.types[1], "metadata": metadata });
        }
        object["metadata"]["resourceVersion"] = version.to_string().into();
        self.bury(stream, &deletion, state);
        self.out.data(watch, &format!("{{\"type\":\"DELETED\",\"object\":{object}}}\n"))
    }

    /// Notes that an object is deleted, which was last in this state.
    fn bury(&mut self, stream: &mut Stream, Deletion { uid, is_supposed, .. }: &Deletion, state: State) {
        let uid = if state.uid.is_empty() { uid.clone() } else { state.uid };
        if !uid.is_empty() {
            self.held += ENTRY + uid.len() as u64;
            let until = if *is_supposed { state.version } else { MOST_VERSION };
            stream.gone.insert(uid, until);
        }
    }
}

impl Source {
    fn of(verb: &str) -> Self {
        match verb {
            "get" | "list" | "watch" | "deletecollection" => Self::Read,
            "delete" => Self::Deletion,
            _ => Self::Write,
        }
    }
}

fn uid_of(metadata: &Value) -> Box<str> {
    metadata["uid"].as_str().unwrap_or_default().into()
}

/// Whether a deletion by these options removes an object at once, which was in this state.
fn leaves(text: &str, options: &Value) -> bool {
    let object: Value = serde_json::from_str(text).unwrap_or_default();
    let (spec, phase) = (&object["spec"], &object["status"]["phase"]);
    let runs = spec["nodeName"].is_string() && phase != "Failed" && phase != "Succeeded";
    let grace = options["gracePeriodSeconds"].as_i64().or_else(|| spec["terminationGracePeriodSeconds"].as_i64());
    let waits = object["kind"] == "Pod" && runs && grace != Some(0);
    let is_kept = options["orphanDependents"] == true;
    let policy = options["propagationPolicy"].as_str();
    !waits && !is_kept && !is_held(&object) && !matches!(policy, Some("Foreground" | "Orphan"))
}

/// Whether a finalizer delays the deletion of an object. Those of a Namespace are in its spec.
fn is_held(object: &Value) -> bool {
    let of = |part: &str| object[part]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    of("metadata") || (object["kind"] == "Namespace" && of("spec"))
}

/// The objects of an answer, which is a list of them or one of them.
fn objects_of(mut answer: Value) -> Vec<Value> {
    if !answer["items"].is_array() {
        return vec![answer];
    }
    let kind = answer["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).unwrap_or_default().to_owned();
    let (Value::Array(mut items), api_version) = (answer["items"].take(), &answer["apiVersion"]) else {
        return Vec::new();
    };
    for fields in items.iter_mut().filter_map(Value::as_object_mut) {
        fields.entry("kind").or_insert_with(|| (&*kind).into());
        fields.entry("apiVersion").or_insert_with(|| api_version.clone());
    }
    items
}
