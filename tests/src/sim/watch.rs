//! A watch: the events that one client is to see, bookmarks, and an end.

use super::log::{Entry, Log};
use super::object::{KeyNumber, Stored, put, write_json};
use super::selector::Selector;
use listwatch_core::Instant;
use listwatch_core::time::earliest;
use std::time::Duration;

/// An open watch.
#[derive(Debug)]
pub(super) struct Watch {
    /// Which replica it is served by.
    pub(super) replica: usize,
    selector: Selector,
    metadata_only: bool,
    /// Up to where everything was said.
    cursor: u64,
    /// Where it began: of what was known already, there is no bookmark.
    from: u64,
    initial: Initial,
    until: Instant,
    bookmark: Instant,
    /// Bookmarks come by themselves.
    bookmarks: bool,
    /// What the object of an event says of its kind.
    kind: &'static str,
}

/// Whether the initial events of a watch-list are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    /// There are none.
    None,
    /// To be ended by a bookmark, not before this.
    Until(Instant),
}

/// No moment that comes.
const NEVER: Instant = Instant::from_nanos(u64::MAX);
/// How often a bookmark comes.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// How long before its end a watch gets its last one.
const BEFORE_THE_END: Duration = Duration::from_secs(2);

impl Watch {
    pub(super) fn new(replica: usize, selector: Selector, metadata_only: bool, from: u64) -> Self {
        Self {
            replica,
            selector,
            metadata_only,
            cursor: from,
            from,
            initial: Initial::None,
            until: NEVER,
            bookmark: NEVER,
            bookmarks: false,
            kind: "",
        }
    }

    /// The object of each event says its kind, as those of real servers do.
    pub(super) fn saying_kinds(self) -> Self {
        Self { kind: r#""kind":"Pod","apiVersion":"v1","#, ..self }
    }

    /// It ends by itself after `timeout`, and bookmarks come until then.
    pub(super) fn lasting(self, now: Instant, timeout: Duration) -> Self {
        let until = now + timeout;
        let last = now + timeout.saturating_sub(BEFORE_THE_END);
        Self { until, bookmark: (now + BOOKMARKS).min(last), bookmarks: true, ..self }
    }

    /// It gets no bookmarks from now on, not even the one that ends the initial events.
    pub(super) fn without_bookmarks(&mut self) {
        (self.bookmarks, self.initial) = (false, Initial::None);
    }

    /// It begins with the state of every object, which the next bookmark ends; but not one that comes `early`, between
    /// them.
    pub(super) fn beginning_with(mut self, log: &Log, ended: Initial, early: bool, out: &mut Vec<u8>) -> Self {
        let states = log.states(self.cursor).filter(|(key, object)| self.selector.matches(*key, object));
        for (place, (key, object)) in states.enumerate() {
            if early && place == 1 {
                self.write_bookmark(out, "");
            }
            self.say(out, "ADDED", key, &object);
        }
        self.initial = ended;
        self
    }

    pub(super) fn has_initial_events(&self) -> bool {
        self.initial != Initial::None
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let next = match self.initial {
            Initial::Until(until) => until.min(self.bookmark),
            Initial::None => self.bookmark,
        };
        let bookmark = self.bookmarks.then_some(next);
        earliest(bookmark, Some(self.until).filter(|until| *until < NEVER))
    }

    /// Says what has happened up to `applied`, and what is due; false when it is over.
    pub(super) fn advance(&mut self, now: Instant, log: &Log, applied: u64, out: &mut Vec<u8>) -> bool {
        if applied > self.cursor {
            for entry in log.since(self.cursor).iter().take_while(|entry| entry.revision <= applied) {
                self.say_entry(out, entry);
            }
            self.cursor = applied;
        }
        if self.bookmarks && matches!(self.initial, Initial::Until(until) if until <= now) {
            self.say_bookmark(out);
        }
        if self.bookmarks && self.bookmark <= now {
            if self.cursor > self.from && !self.has_initial_events() {
                self.say_bookmark(out);
            }
            let last = Instant::from_nanos(self.until.as_nanos().saturating_sub(BEFORE_THE_END.as_nanos() as u64));
            let next = now + BOOKMARKS;
            self.bookmark = if now < last { next.min(last) } else { NEVER };
        }
        now < self.until
    }

    /// Says how far it has come; where there are initial events, that they are complete.
    pub(super) fn say_bookmark(&mut self, out: &mut Vec<u8>) {
        let end = self.has_initial_events();
        self.initial = Initial::None;
        self.write_bookmark(out, if end { r#""k8s.io/initial-events-end":"true""# } else { "" });
    }

    fn write_bookmark(&self, out: &mut Vec<u8>, annotations: &str) {
        let Self { cursor: version, kind, .. } = *self;
        put(
            out,
            format_args!(
                r#"{{"type":"BOOKMARK","object":{{{kind}"metadata":{{"resourceVersion":"{version}","annotations":{{{annotations}}}}}}}}}"#
            ),
        );
        out.push(b'\n');
    }

    /// What a change is to this client: an object that begins to match is new to it, and one that ceases to is gone.
    fn say_entry(&self, out: &mut Vec<u8>, entry: &Entry) {
        let before = self.selector.of_those(entry.key, entry.before);
        let after = self.selector.of_those(entry.key, entry.after);
        match (before, after) {
            (None, None) => {}
            (None, Some(object)) => self.say(out, "ADDED", entry.key, &object),
            (Some(_), Some(object)) => self.say(out, "MODIFIED", entry.key, &object),
            (Some(last), None) => {
                self.say(out, "DELETED", entry.key, &Stored { revision: entry.revision, ..last });
            }
        }
    }

    fn say(&self, out: &mut Vec<u8>, name: &str, key: KeyNumber, object: &Stored) {
        put(out, format_args!(r#"{{"type":"{name}","object":"#));
        let inside = out.len() + 1;
        write_json(out, key, object, self.metadata_only);
        out.splice(inside..inside, self.kind.bytes());
        out.extend_from_slice(b"}\n");
    }
}
