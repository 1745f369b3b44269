//! The states of objects that answers tell, as the lists and watches of a capture.

use super::event::Event;
use crate::capture::Target;
use crate::capture::format::{End, RequestRecord};
use crate::error::{CaptureErrorKind, Fault};
use crate::kinds::is_foreign;
use crate::memory::{OBJECT_LIMIT, weight_of_key};
use crate::object::{key_of, version_of};
use crate::recording::CaptureOutput;
use listwatch_core::{Key, Resource};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

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
    /// How many states came too late for their places.
    pub(super) late: u64,
    /// How many answers to writes have no whole object.
    pub(super) partial: u64,
}

/// A resource: one list, and one watch behind it.
#[derive(Default)]
struct Stream {
    path: String,
    /// The version and the kind of its objects.
    types: [Value; 2],
    /// The id of the watch, once it is open.
    watch: Option<u64>,
    /// The version of the first change, and of the last.
    first: u64,
    version: u64,
    /// The states that the watch shows: their versions and, as far as there is memory for them, their texts.
    shown: HashMap<Key, (u64, Box<str>)>,
    /// The identities of the objects that were deleted. Late states do not bring them back.
    gone: HashMap<Key, String>,
    /// The states that came behind a later version: in this reading of the log, and in the one before.
    late: BTreeMap<u64, (Key, Box<str>)>,
    earlier: BTreeMap<u64, (Key, Box<str>)>,
    /// The states that wait for an earlier one, so that no state is told before the answer that shows it.
    waiting: BTreeMap<u64, (Key, Box<str>)>,
}

/// The most resources of a log, each of which has a watch that is open up to the end.
const MOST_STREAMS: usize = 10_000;
/// The most states of a resource that wait for an earlier one.
const MOST_WAITING: usize = 256;
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
        again.streams.retain(|_, stream| stream.first > 0);
        for stream in again.streams.values_mut() {
            let Stream { path, types, first, late, .. } = core::mem::take(stream);
            *stream = Stream { path, types, first, earlier: late, ..Stream::default() };
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
            self.show_waiting(&mut stream)?;
            let mut keys: Vec<Key> = stream.shown.keys().cloned().collect();
            keys.sort_unstable();
            keys.iter().try_for_each(|key| self.delete(&mut stream, key, None))?;
            self.streams.insert(name, stream);
        }
        Ok(())
    }

    /// Ends the watches, and the capture.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        let mut streams = core::mem::take(&mut self.streams);
        streams.values_mut().try_for_each(|stream| self.show_waiting(stream))?;
        self.streams = streams;
        let mut watches = self.streams.values().filter_map(|stream| stream.watch);
        watches.try_for_each(|watch| self.out.end(watch, End::by_client()))?;
        self.out.finish()
    }

    fn tell_of(&mut self, stream: &mut Stream, event: &Event, target: &Target) -> Result<(), Fault> {
        let Target { collection, name, subresource } = target;
        let own = Key::new(collection.namespace.as_deref(), name.as_deref().unwrap_or_default());
        let [options, answer] = [&event.request, &event.response]
            .map(|body| body.as_ref().and_then(|body| serde_json::from_str(body.get()).ok()).unwrap_or(Value::Null));
        let (kind, is_list) = (answer["kind"].as_str().unwrap_or_default(), answer["items"].is_array());
        let subject = (&*event.verb, subresource.as_deref());
        if subject.0.starts_with("delete") || subject.1 == Some("eviction") {
            self.show_waiting(stream)?;
        }
        let mut gone: Vec<Key> = match (subject, kind) {
            (("delete", None), "Status") => return self.delete(stream, &own, None),
            (("delete", None), "") | (("create", Some("eviction")), _) => vec![own],
            // Of a deletion by selectors, the answer alone tells the objects.
            (("deletecollection", None), _) if !is_list && event.path.contains("Selector=") => {
                self.unseen += 1;
                return Ok(());
            }
            (("deletecollection", None), _) if !is_list => {
                let is_inside = |key: &&Key| collection.namespace.is_none() || key.namespace() == own.namespace();
                stream.shown.keys().filter(is_inside).cloned().collect()
            }
            _ if event.response.is_none() => return Ok(()),
            _ => {
                let is_deletion = subject.0 == "deletecollection";
                let text = event.response.as_deref().filter(|_| !is_list).map(RawValue::get);
                let (mut keys, verb) = (Vec::new(), if is_deletion { "list" } else { subject.0 });
                for object in objects_of(answer) {
                    keys.extend(key_of(&object).filter(|_| is_deletion));
                    let text = text.map_or_else(|| object.to_string(), str::to_owned);
                    self.object(stream, &object, text.into(), (verb, &collection.name))?;
                }
                keys
            }
        };
        gone.retain(|key| stream.shown.get(key).is_none_or(|(_, text)| leaves(text, &options)));
        gone.sort_unstable();
        gone.iter().try_for_each(|key| self.delete(stream, key, None))
    }

    /// Takes an object of an answer, which shows its state or that it is deleted.
    fn object(&mut self, stream: &mut Stream, object: &Value, text: Box<str>, of: (&str, &str)) -> Result<(), Fault> {
        let ((verb, collection), metadata) = (of, &object["metadata"]);
        let [api_version, kind] = ["apiVersion", "kind"].map(|name| object[name].as_str().unwrap_or_default());
        let is_read = matches!(verb, "get" | "list" | "watch");
        let is_deleted = verb == "delete" || (!metadata["deletionTimestamp"].is_null() && !is_read);
        let has_grace = metadata["deletionGracePeriodSeconds"].as_i64().is_some_and(|grace| grace > 0);
        let is_gone = is_deleted && !has_grace && !is_held(object);
        match key_of(object) {
            Some(key) if !api_version.is_empty() && !is_foreign(collection, api_version, kind) => match is_gone {
                true => self.delete(stream, &key, Some((version_of(object), text))),
                false => self.set(stream, key, object, text),
            },
            Some(key) if is_gone && kind == "PartialObjectMetadata" => self.delete(stream, &key, None),
            _ => {
                self.partial += u64::from(!is_read && !matches!(kind, "Status" | "Scale" | "TokenRequest"));
                Ok(())
            }
        }
    }

    /// Takes a state, unless it or a newer one is known.
    fn set(&mut self, stream: &mut Stream, key: Key, object: &Value, text: Box<str>) -> Result<(), Fault> {
        let version = version_of(object);
        let is_known = stream.shown.get(&key).is_some_and(|(shown, _)| *shown >= version);
        if is_known || !(1..=MOST_VERSION).contains(&version) || text.len() > MOST_OBJECT {
            self.partial += u64::from(text.len() > MOST_OBJECT);
            return Ok(());
        }
        if version > stream.version {
            stream.types = ["apiVersion", "kind"].map(|name| object[name].clone());
            self.held += weight(&key, &text);
            stream.waiting.insert(version, (key, text));
            return self.show_due(stream);
        }
        self.late += 1;
        if stream.gone.get(&key).is_none_or(|uid| object["metadata"]["uid"] != **uid) {
            self.held += weight(&key, &text);
            stream.late.insert(version, (key, text));
        }
        Ok(())
    }

    /// Shows the states that wait for none, or for one for too long.
    fn show_due(&mut self, stream: &mut Stream) -> Result<(), Fault> {
        if stream.waiting.len() > MOST_WAITING {
            return self.show_waiting(stream);
        }
        while let Some(first) = stream.waiting.first_entry() {
            if stream.earlier.range(..first.key()).next().is_some() {
                break;
            }
            let (version, (key, text)) = first.remove_entry();
            self.held = self.held.saturating_sub(weight(&key, &text));
            self.show(stream, version, key, text)?;
        }
        Ok(())
    }

    /// Shows all states that wait, and those before them: a deletion is told behind each state of its object.
    fn show_waiting(&mut self, stream: &mut Stream) -> Result<(), Fault> {
        let last = stream.waiting.last_key_value().map(|(last, _)| *last);
        last.map_or(Ok(()), |last| self.catch_up(stream, last + 1))
    }

    /// Shows the states before a version that wait, and those that another reading of the log has found behind them.
    fn catch_up(&mut self, stream: &mut Stream, version: u64) -> Result<(), Fault> {
        let later = stream.earlier.split_off(&version);
        let mut before = core::mem::replace(&mut stream.earlier, later);
        let later = stream.waiting.split_off(&version);
        let waited = core::mem::replace(&mut stream.waiting, later);
        let freed = waited.values().map(|(key, text)| weight(key, text)).sum();
        self.held = self.held.saturating_sub(freed);
        before.extend(waited);
        before.into_iter().try_for_each(|(version, (key, text))| self.show(stream, version, key, text))
    }

    fn show(&mut self, stream: &mut Stream, version: u64, key: Key, text: Box<str>) -> Result<(), Fault> {
        let watch = match stream.watch {
            Some(watch) => watch,
            None => {
                stream.first = version;
                stream.open(&mut self.out)?
            }
        };
        stream.version = version;
        stream.earlier.remove(&version);
        stream.gone.remove(&key);
        let old = stream.shown.remove(&key);
        let kind = if old.is_some() { "MODIFIED" } else { "ADDED" };
        self.out.data(watch, &format!("{{\"type\":\"{kind}\",\"object\":{text}}}\n"))?;
        let text = if self.held > MOST_TEXT { Box::default() } else { text };
        self.held = self.held.saturating_sub(old.map_or(0, |(_, old)| weight(&key, &old)));
        self.held += weight(&key, &text);
        stream.shown.insert(key, (version, text));
        Ok(())
    }

    /// Takes a deletion. If its version is not known, it gets the one behind the last version of the resource.
    fn delete(&mut self, stream: &mut Stream, key: &Key, last: Option<(u64, Box<str>)>) -> Result<(), Fault> {
        if stream.path.starts_with("/apis/apiextensions.k8s.io/") {
            self.undefined.push(key.name().to_owned());
        }
        self.show_waiting(stream)?;
        let Some(watch) = stream.watch.filter(|_| stream.shown.contains_key(key)) else {
            self.unseen += 1;
            return Ok(());
        };
        let told = last.as_ref().map(|(version, _)| *version);
        let mut next = stream.version + 1..MOST_VERSION;
        let version =
            told.filter(|told| next.contains(told)).or_else(|| next.find(|it| !stream.earlier.contains_key(it)));
        let version = version.unwrap_or(MOST_VERSION);
        self.catch_up(stream, version)?;
        stream.version = version;
        let (_, text) = stream.shown.remove(key).unwrap_or_default();
        let mut object: Value = serde_json::from_str(last.as_ref().map_or(&text, |(_, last)| last)).unwrap_or_default();
        if !object["metadata"].is_object() {
            let metadata = json!({ "name": key.name(), "namespace": key.namespace() });
            object = json!({ "apiVersion": stream.types[0], "kind": stream.types[1], "metadata": metadata });
        }
        object["metadata"]["resourceVersion"] = version.to_string().into();
        stream.gone.insert(key.clone(), object["metadata"]["uid"].as_str().unwrap_or_default().to_owned());
        self.held = self.held.saturating_sub(text.len() as u64);
        self.out.data(watch, &format!("{{\"type\":\"DELETED\",\"object\":{object}}}\n"))
    }
}

impl Stream {
    /// Writes the list and the head of the watch. The states that are older than the first change are in the list.
    fn open(&mut self, out: &mut CaptureOutput) -> Result<u64, Fault> {
        let later = self.earlier.split_off(&self.first);
        let first = core::mem::replace(&mut self.earlier, later);
        self.shown.extend(first.into_iter().map(|(version, (key, text))| (key, (version, text))));
        self.version = self.first - 1;
        let (path, version, [api_version, kind]) = (&self.path, self.version, &self.types);
        let kind = json!(format!("{}List", kind.as_str().unwrap_or_default()));
        let metadata = json!({ "resourceVersion": version.to_string() });
        let items = self.shown.values().map(|(_, text)| &**text).collect::<Vec<_>>().join(",\n");
        let list = format!(r#"{{"kind":{kind},"apiVersion":{api_version},"metadata":{metadata},"items":[{items}]}}"#);
        let id = out.request(RequestRecord::new("GET", path.clone()))?;
        out.answer(id, 200, Some(&list))?;
        out.end(id, End::new("eof"))?;
        let id = out.request(RequestRecord::new("GET", format!("{path}?watch=1&resourceVersion={version}")))?;
        self.watch = Some(id);
        out.answer(id, 200, None).map(|()| id)
    }
}

/// The memory of a state.
fn weight(key: &Key, text: &str) -> u64 {
    weight_of_key(key) + text.len() as u64
}

/// Whether a deletion by these options removes an object at once, which was in this state.
fn leaves(text: &str, options: &Value) -> bool {
    let object: Value = serde_json::from_str(text).unwrap_or_default();
    // An eviction has them inside.
    let options = options.get("deleteOptions").unwrap_or(options);
    let (spec, phase) = (&object["spec"], &object["status"]["phase"]);
    let runs = spec["nodeName"].is_string() && phase != "Failed" && phase != "Succeeded";
    let grace = options["gracePeriodSeconds"].as_i64().or_else(|| spec["terminationGracePeriodSeconds"].as_i64());
    let waits = object["kind"] == "Pod" && runs && grace != Some(0);
    let policy = options["propagationPolicy"].as_str();
    !waits && !is_held(&object) && !matches!(policy, Some("Foreground" | "Orphan"))
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
