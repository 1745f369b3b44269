//! Events of the type Warning.

use super::super::entry::Entry;
use super::super::event::are_events;
use super::finding::{Group, Kind, Span};
use crate::report::changed::within;
use std::collections::HashMap;

/// The most reasons and objects that are counted one by one.
const MOST: usize = 10_000;

/// By what they say before the colon: the reason and the object.
#[derive(Default)]
pub(super) struct Warnings {
    seen: HashMap<String, Seen>,
    pub(super) uncounted: u64,
}

#[derive(Default)]
struct Seen {
    count: u64,
    span: Option<Span>,
    last: String,
    resource: String,
    key: Option<String>,
}

impl Warnings {
    pub(super) fn take(&mut self, entry: &Entry) {
        let is_event = entry.collection.as_deref().is_some_and(are_events) && entry.event != "DELETED";
        let Some(message) = entry.message.as_ref().filter(|text| is_event && text.starts_with("Warning ")) else {
            return;
        };
        let of = message.split(": ").next().unwrap_or_default();
        let Some(seen) = within(&mut self.seen, of.to_owned(), MOST) else {
            self.uncounted += 1;
            return;
        };
        seen.count += 1;
        seen.span.get_or_insert_with(|| Span::at(entry.at)).note(entry);
        (seen.last, seen.key) = (message.clone(), entry.key.clone());
        seen.resource = entry.resource.clone().unwrap_or_default();
    }

    pub(super) fn groups(&self) -> Vec<Group> {
        let group = |(of, seen): (&String, &Seen)| Group {
            kind: Kind::Warnings,
            resource: seen.resource.clone(),
            key: seen.key.clone(),
            what: of.strip_prefix("Warning ").unwrap_or(of).to_owned(),
            fields: Vec::new(),
            culprits: Vec::new(),
            notes: vec![seen.last.clone()],
            count: seen.count,
            span: seen.span.unwrap_or_default(),
            alike: of.split(" of ").next().unwrap_or_default().to_owned(),
            parts: "changes",
        };
        self.seen.iter().map(group).collect()
    }
}
