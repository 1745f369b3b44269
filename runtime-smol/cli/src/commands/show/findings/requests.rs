//! Requests that are refused, fail, or are slow, and reconciles that fail, by their authors.

use super::super::entry::{Entry, Sort};
use super::authors::{Author, Authors};
use super::definitions::Definitions;
use super::finding::{Group, Kind, Span};
use super::rules::Rules;
use crate::report::changed::within;
use std::collections::HashMap;
use std::time::Duration;

/// The most kinds of requests that are counted one by one.
const MOST: usize = 10_000;
/// An answer that takes as long is slow.
const SLOW: u64 = 1_000;
/// So many of a kind are worth a word.
const FEW: u64 = 3;

/// What a list or a watch says that is answered by 404.
const NOT_SERVED: &str = "the server does not serve this kind: its definition may have been deleted";

#[derive(Default)]
pub(super) struct Requests {
    kinds: HashMap<Of, Seen>,
    slow: HashMap<String, Seen>,
    /// The requests that were answered, by resource.
    answered: HashMap<String, u64>,
    pub(super) uncounted: u64,
}

/// What is counted together.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Of {
    kind: Kind,
    /// Such as `PATCH` and its status.
    event: String,
    resource: String,
    author: Author,
}

#[derive(Default)]
struct Seen {
    count: u64,
    span: Option<Span>,
    /// The message of the last one.
    message: String,
    /// The key of the first one, as long as all have it.
    key: Option<String>,
    /// The longest time, in milliseconds.
    longest: u64,
}

impl Requests {
    pub(super) fn take(&mut self, entry: &Entry, author: Author) {
        let resource = entry.resource.clone().unwrap_or_default();
        if entry.what == Sort::Write {
            self.answer(entry, &resource);
        }
        let Some(kind) = kind_of(entry) else { return };
        let event = match (entry.status, &entry.reconcile) {
            (_, Some(own)) => own.of.clone(),
            (Some(status), None) => format!("{} answered by {status}", entry.event),
            (None, None) => entry.event.clone(),
        };
        let Some(seen) = within(&mut self.kinds, Of { kind, event, resource, author }, MOST) else {
            self.uncounted += 1;
            return;
        };
        let outcome = entry.reconcile.as_ref().and_then(|own| own.outcome.as_ref());
        seen.note(entry, entry.message.as_ref().or(outcome));
    }

    fn answer(&mut self, entry: &Entry, resource: &str) {
        if let Some(count) = within(&mut self.answered, resource.to_owned(), MOST) {
            *count += 1;
        }
        if entry.millis.is_some_and(|millis| millis >= SLOW)
            && let Some(seen) = within(&mut self.slow, resource.to_owned(), MOST)
        {
            seen.note(entry, None);
        }
    }

    pub(super) fn groups(&self, authors: &Authors, rules: &Rules, definitions: &Definitions) -> Vec<Group> {
        let is_told = |of: &Of, seen: &Seen| seen.count >= FEW || of.kind == Kind::Refused || of.is_not_served();
        let kinds = self.kinds.iter().filter(|(of, seen)| is_told(of, seen));
        // Those of a definition that was deleted are told with it.
        let kinds = kinds.filter(|(of, _)| of.kind != Kind::Missing || !definitions.is_deleted(&of.resource));
        let mut groups: Vec<Group> = kinds.map(|(of, seen)| of.group(seen, authors, rules)).collect();
        groups.extend(self.slow.iter().filter(|(_, seen)| seen.count >= FEW).map(|(resource, seen)| {
            let all = self.answered.get(resource).copied().unwrap_or(seen.count);
            let what = format!(
                "{} of {all} writes took a second or longer, the longest {:.1} s",
                seen.count,
                Duration::from_millis(seen.longest).as_secs_f64()
            );
            let notes = vec!["the time is that of the API server, its webhooks, or the way to it".to_owned()];
            let span = seen.span.unwrap_or_default();
            let (fields, culprits, key) = (Vec::new(), vec!["the API server".to_owned()], seen.key.clone());
            let (kind, resource, alike, count) = (Kind::Slow, resource.clone(), String::new(), seen.count);
            Group { kind, resource, key, what, fields, culprits, notes, count, span, alike, parts: "writes" }
        }));
        groups
    }
}

/// What kind of failure an entry is; `None` for none.
fn kind_of(entry: &Entry) -> Option<Kind> {
    let is_stream = matches!(&*entry.event, "WATCH" | "LIST");
    match (entry.status, entry.what) {
        _ if !entry.failed => None,
        (_, Sort::Reconcile) => Some(Kind::ReconcilesFail),
        (Some(401 | 403), _) => Some(Kind::Refused),
        (Some(404), _) => Some(Kind::Missing),
        // Conflicts are told by their objects, and a version that is too old is a gap.
        (Some(409 | 410), _) => None,
        (Some(400..), _) => Some(Kind::Failing),
        (None, Sort::Failure) if !is_stream => Some(Kind::StreamsBreak),
        _ if is_stream => Some(Kind::StreamsBreak),
        (None, Sort::Change) => Some(Kind::StreamsBreak),
        _ => Some(Kind::Failing),
    }
}

impl Of {
    /// Whether a list or a watch found no such kind.
    fn is_not_served(&self) -> bool {
        self.kind == Kind::Missing && (self.event.starts_with("WATCH ") || self.event.starts_with("LIST "))
    }

    fn group(&self, seen: &Seen, authors: &Authors, rules: &Rules) -> Group {
        let Self { kind, event, resource, author } = self;
        let span = seen.span.unwrap_or_default();
        let (culprits, parts) = match kind {
            Kind::ReconcilesFail => (vec![format!("controller {event}")], "reconciles"),
            _ => (vec![authors.name(*author).to_owned()], "failures"),
        };
        let mut notes: Vec<String> =
            Some(seen.message.clone()).filter(|message| !message.is_empty()).into_iter().collect();
        notes.extend(self.is_not_served().then(|| NOT_SERVED.to_owned()));
        if *kind == Kind::Refused {
            notes.extend(rules.before(span.from, &format!("{} {resource}", seen.message)));
        }
        let (what, fields, key, count) = (event.clone(), Vec::new(), seen.key.clone(), seen.count);
        let (kind, resource, alike) = (*kind, resource.clone(), event.clone());
        Group { kind, resource, key, what, fields, culprits, notes, count, span, alike, parts }
    }
}

impl Seen {
    fn note(&mut self, entry: &Entry, message: Option<&String>) {
        match self.count {
            0 => self.key.clone_from(&entry.key),
            _ if self.key != entry.key => self.key = None,
            _ => {}
        }
        self.count += 1;
        self.span.get_or_insert_with(|| Span::at(entry.at)).note(entry);
        self.longest = self.longest.max(entry.millis.unwrap_or_default());
        if let Some(message) = message {
            self.message.clone_from(message);
        }
    }
}
