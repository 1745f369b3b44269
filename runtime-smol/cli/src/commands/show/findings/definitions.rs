//! Definitions of custom resources that were deleted, and what came of it.

use super::super::entry::{Entry, Sort};
use super::super::lines::author;
use super::authors::UNKNOWN;
use super::finding::{Group, Kind, Span};
use crate::output::seconds::Roughly;
use listwatch::text::Counted;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// The most definitions that are kept.
const MOST: usize = 1_000;
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The definitions that were deleted, by their names, which are those of their resources.
#[derive(Default)]
pub(super) struct Definitions {
    deleted: HashMap<String, Deleted>,
    /// The resources of which the options select something.
    selected: HashSet<String>,
}

struct Deleted {
    at: Duration,
    by: Option<String>,
    /// When it was there again.
    again: Option<Duration>,
    /// How many of its objects are gone, and how many requests for them were refused.
    gone: u64,
    refused: u64,
    span: Span,
}

impl Definitions {
    pub(super) fn take(&mut self, entry: &Entry) {
        let Some(resource) = entry.resource.as_deref() else { return };
        let resource = resource.split('/').next().unwrap_or_default();
        if resource == DEFINITIONS {
            return self.definition(entry);
        }
        if entry.is_selected && self.selected.len() < MOST {
            self.selected.insert(resource.to_owned());
        }
        let Some(deleted) = self.deleted.get_mut(resource) else { return };
        let is_gone = entry.what == Sort::Change && matches!(&*entry.event, "DELETED" | "VANISHED");
        let is_refused = entry.status == Some(404);
        deleted.gone += u64::from(is_gone);
        deleted.refused += u64::from(is_refused);
        if is_gone || is_refused {
            deleted.span.note(entry);
        }
    }

    pub(super) fn is_deleted(&self, resource: &str) -> bool {
        self.deleted.contains_key(resource.split('/').next().unwrap_or_default())
    }

    fn definition(&mut self, entry: &Entry) {
        let Some(name) = entry.key.clone().filter(|_| !entry.failed) else { return };
        if matches!(&*entry.event, "DELETE" | "DELETED" | "VANISHED") {
            self.deleted(name, entry);
        } else if matches!(&*entry.event, "ADDED" | "POST")
            && let Some(known) = self.deleted.get_mut(&name)
        {
            known.again = Some(entry.at);
        }
    }

    fn deleted(&mut self, name: String, entry: &Entry) {
        let by = author(&entry.by);
        // The request, and the event of it.
        if let Some(known) = self.deleted.get_mut(&name)
            && known.again.is_none()
        {
            known.by = known.by.take().or(by);
            return known.span.note(entry);
        }
        if self.deleted.len() < MOST {
            let (at, again, gone, refused, mut span) = (entry.at, None, 0, 0, Span::at(entry.at));
            span.note(entry);
            self.deleted.insert(name, Deleted { at, by, again, gone, refused, span });
        }
    }

    /// From the deletion to what came of it: up to the end, unless the definition was there again. It concerns whoever
    /// selects something of the resource.
    fn span(&self, name: &str, deleted: &Deleted, end: Duration) -> Span {
        let mut span = deleted.span;
        if deleted.again.is_none() {
            span.reach(end);
        }
        if span.selected == 0 && self.selected.contains(name) {
            span.note_at(deleted.at, true);
        }
        span
    }

    pub(super) fn groups(&self, end: Duration) -> Vec<Group> {
        let group = |(name, it): (&String, &Deleted)| {
            let mut notes = Vec::new();
            if it.gone > 0 {
                notes.push(format!("{} of {name} went with it", Counted(it.gone, "object", "objects")));
            }
            if it.refused > 0 {
                notes.push(format!(
                    "{} answered by 404 behind it",
                    Counted(it.refused, "request for its objects was", "requests for its objects were")
                ));
            }
            notes.extend(
                it.again.map(|again| format!("it was there again {} later", Roughly(again.saturating_sub(it.at)))),
            );
            let by = it.by.as_deref().map_or(UNKNOWN, |by| by.strip_prefix("by ").unwrap_or(by));
            Group {
                kind: Kind::DefinitionDeleted,
                resource: DEFINITIONS.to_owned(),
                key: Some(name.clone()),
                what: String::new(),
                fields: Vec::new(),
                culprits: vec![by.to_owned()],
                notes,
                count: 1,
                span: self.span(name, it, end),
                alike: name.clone(),
                parts: "changes writes",
            }
        };
        self.deleted.iter().map(group).collect()
    }
}
