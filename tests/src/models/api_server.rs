//! An API server with one collection of a few objects, as far as it shows in bytes.

use listwatch_core::{Request, Verb};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Which of those that had this name.
    pub uid: u32,
    /// When it was last changed.
    pub version: u32,
    /// How much of it can be read.
    pub health: Health,
}

/// How much of an object can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// All of it.
    #[default]
    Good,
    /// Its metadata.
    Bad,
    /// Nothing.
    Unreadable,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug)]
struct Event {
    name: &'static str,
    key: u8,
    object: Stored,
}

/// A server, and what it still has to say in answer to the one request that is open.
#[derive(Debug)]
pub struct ApiServer {
    objects: BTreeMap<u8, Stored>,
    /// The collection at every version.
    history: Vec<BTreeMap<u8, Stored>>,
    /// The event that led to every version but the first.
    events: Vec<Event>,
    /// Before this version, nothing is remembered.
    oldest: usize,
    watch_lists: bool,
    answer: Answer,
}

/// An answer.
#[derive(Debug, Default)]
struct Answer {
    status: u16,
    bytes: Vec<u8>,
    /// It goes on with what happens.
    watch: bool,
    /// The initial events are still to be ended.
    initial: bool,
}

/// The status of a refusal.
const UNPROCESSABLE: u16 = 422;
const GONE: u16 = 410;

impl ApiServer {
    /// An empty collection on a server that knows watch-list, or not.
    #[must_use]
    pub fn new(watch_lists: bool) -> Self {
        Self {
            objects: BTreeMap::new(),
            history: vec![BTreeMap::new()],
            events: Vec::new(),
            oldest: 0,
            watch_lists,
            answer: Answer::default(),
        }
    }

    /// The collection as it is.
    #[must_use]
    pub fn objects(&self) -> &BTreeMap<u8, Stored> {
        &self.objects
    }

    /// Begins to answer a request.
    pub fn open(&mut self, request: &Request) {
        self.answer = Answer { status: 200, ..Answer::default() };
        match &request.verb {
            Verb::List { limit, continue_token, .. } => self.list(*limit, continue_token.as_deref()),
            Verb::Watch { initial_events: true, .. } if !self.watch_lists => self.refuse(UNPROCESSABLE),
            Verb::Watch { initial_events: true, .. } => {
                let initial = |(key, object): (&u8, &Stored)| Event { name: "ADDED", key: *key, object: *object };
                let events: Vec<Event> = self.objects.iter().map(initial).collect();
                events.into_iter().for_each(|event| self.say(event));
                (self.answer.watch, self.answer.initial) = (true, true);
            }
            Verb::Watch { resource_version, .. } => self.watch(resource_version.as_deref()),
        }
    }

    /// Answers with this status instead.
    pub fn refuse(&mut self, status: u16) {
        let reason = if status == GONE { "Expired" } else { "" };
        let body = format!(r#"{{"kind":"Status","code":{status},"reason":"{reason}","metadata":{{}}}}"#);
        self.answer = Answer { status, bytes: body.into(), ..Answer::default() };
    }

    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.answer.status
    }

    /// Moves what there is to say to `buf`, as much as fits.
    pub fn read(&mut self, buf: &mut [u8]) -> usize {
        let len = self.answer.bytes.len().min(buf.len());
        buf[..len].copy_from_slice(&self.answer.bytes[..len]);
        self.answer.bytes.drain(..len);
        len
    }

    /// Whether everything was said that there is, for ever or for now.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.answer.bytes.is_empty()
    }

    /// Whether the answer goes on with what happens.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.answer.watch
    }

    /// Whether the initial events of a watch-list are still to be ended.
    #[must_use]
    pub fn has_initial_events(&self) -> bool {
        self.answer.initial
    }

    /// Creates an object, or changes it.
    pub fn apply(&mut self, key: u8, health: Health) {
        let version = self.next_version();
        let before = self.objects.get(&key);
        let name = if before.is_some() { "MODIFIED" } else { "ADDED" };
        let object = Stored { uid: before.map_or(version, |before| before.uid), version, health };
        self.happen(Event { name, key, object });
    }

    /// Deletes an object, if it is there.
    pub fn delete(&mut self, key: u8) {
        if let Some(object) = self.objects.get(&key) {
            let object = Stored { version: self.next_version(), ..*object };
            self.happen(Event { name: "DELETED", key, object });
        }
    }

    /// Forgets the past: who watches from there must list again.
    pub fn compact(&mut self) {
        self.oldest = self.events.len();
    }

    /// Says on a watch how far it has come; on a watch-list, that the initial events are complete.
    pub fn bookmark(&mut self) {
        if self.answer.watch {
            let end =
                if std::mem::take(&mut self.answer.initial) { r#""k8s.io/initial-events-end":"true""# } else { "" };
            let metadata = format!(r#"{{"resourceVersion":"{}","annotations":{{{end}}}}}"#, self.events.len());
            self.line(&format!(r#"{{"type":"BOOKMARK","object":{{"metadata":{metadata}}}}}"#));
        }
    }

    /// Ends a watch by an error in the stream.
    pub fn break_watch(&mut self, status: u16) {
        if self.answer.watch {
            self.line(&format!(r#"{{"type":"ERROR","object":{{"kind":"Status","code":{status}}}}}"#));
            self.answer.watch = false;
        }
    }

    fn next_version(&self) -> u32 {
        self.events.len() as u32 + 1
    }

    fn happen(&mut self, event: Event) {
        match event.name {
            "DELETED" => self.objects.remove(&event.key),
            _ => self.objects.insert(event.key, event.object),
        };
        self.history.push(self.objects.clone());
        self.events.push(event);
        if self.answer.watch {
            self.say(event);
        }
    }

    fn watch(&mut self, version: Option<&str>) {
        let Some(from) = version.and_then(|version| version.parse().ok()).filter(|from| *from >= self.oldest) else {
            return self.refuse(GONE);
        };
        let missed = self.events[from..].to_vec();
        missed.into_iter().for_each(|event| self.say(event));
        self.answer.watch = true;
    }

    /// A page: of the collection as it was when the first page was asked for.
    fn list(&mut self, limit: Option<u32>, token: Option<&str>) {
        let place = token.and_then(|token| token.split_once('.'));
        let place = place.and_then(|(version, first)| Some((version.parse().ok()?, first.parse().ok()?)));
        let (version, first): (usize, usize) = place.unwrap_or((self.events.len(), 0));
        if version < self.oldest {
            return self.refuse(GONE);
        }
        let objects = &self.history[version];
        let most = limit.map_or(usize::MAX, |limit| limit as usize);
        let items: Vec<String> =
            objects.iter().skip(first).take(most).map(|(key, object)| json(*key, *object)).collect();
        let next = first + items.len();
        let more = if next < objects.len() { format!(r#","continue":"{version}.{next}""#) } else { String::new() };
        let items = items.join(",");
        let body = format!(r#"{{"metadata":{{"resourceVersion":"{version}"{more}}},"items":[{items}]}}"#);
        self.answer.bytes = body.into();
    }

    fn say(&mut self, event: Event) {
        self.line(&format!(r#"{{"type":"{}","object":{}}}"#, event.name, json(event.key, event.object)));
    }

    fn line(&mut self, text: &str) {
        self.answer.bytes.extend_from_slice(text.as_bytes());
        self.answer.bytes.push(b'\n');
    }
}

fn json(key: u8, object: Stored) -> String {
    let Stored { uid, version, health } = object;
    let mut text = String::from("{");
    if health != Health::Unreadable {
        let metadata = format!(r#"{{"name":"{key}","uid":"{uid}","resourceVersion":"{version}"}}"#);
        write!(text, r#""metadata":{metadata},"#).unwrap_or_default();
    }
    let spec = if health == Health::Good { "7" } else { "null" };
    text + &format!(r#""spec":{spec}}}"#)
}
