//! Definitions of custom resources that were deleted, and what came of it.

use super::super::entry::{Entry, Sort};
use super::super::lines::author;
use super::finding::{Group, Kind, Span};
use listwatch::text::Counted;
use std::collections::HashMap;
use std::time::Duration;

/// The most definitions that are kept.
const MOST: usize = 1_000;
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The definitions that were deleted, by their names, which are those of their resources.
#[derive(Default)]
pub(super) struct Definitions(HashMap<String, Deleted>);

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
        if resource == DEFINITIONS {
            self.definition(entry);
        } else if let Some(deleted) = self.0.get_mut(resource.split('/').next().unwrap_or_default()) {
            let is_gone = entry.what == Sort::Change && matches!(&*entry.event, "DELETED" | "VANISHED");
            deleted.gone += u64::from(is_gone);
            deleted.refused += u64::from(entry.status == Some(404));
            if is_gone || entry.status == Some(404) {
                deleted.span.note(entry.at);
            }
        }
    }

    pub(super) fn is_deleted(&self, resource: &str) -> bool {
        self.0.contains_key(resource.split('/').next().unwrap_or_default())
    }

    fn definition(&mut self, entry: &Entry) {
        let Some(name) = entry.key.clone().filter(|_| !entry.failed) else { return };
        let by = author(&entry.by);
        if matches!(&*entry.event, "DELETE" | "DELETED" | "VANISHED") {
            self.deleted(name, entry.at, by);
        } else if matches!(&*entry.event, "ADDED" | "POST")
            && let Some(known) = self.0.get_mut(&name)
        {
            known.again = Some(entry.at);
        }
    }

    fn deleted(&mut self, name: String, at: Duration, by: Option<String>) {
        // The request, and the event of it.
        if let Some(known) = self.0.get_mut(&name)
            && known.again.is_none()
        {
            known.by = known.by.take().or(by);
            return;
        }
        if self.0.len() < MOST {
            let (again, gone, refused) = (None, 0, 0);
            self.0.insert(name, Deleted { at, by, again, gone, refused, span: Span::at(at) });
        }
    }

    pub(super) fn groups(&self) -> Vec<Group> {
        let group =
            |(name, it): (&String, &Deleted)| {
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
                notes.extend(it.again.map(|again| {
                    format!("it was there again {:.0} s later", again.saturating_sub(it.at).as_secs_f64())
                }));
                let by = it.by.as_deref().map_or("not known", |by| by.strip_prefix("by ").unwrap_or(by));
                Group {
                    kind: Kind::DefinitionDeleted,
                    resource: DEFINITIONS.to_owned(),
                    key: Some(name.clone()),
                    what: String::new(),
                    fields: Vec::new(),
                    culprits: vec![by.to_owned()],
                    notes,
                    count: 1,
                    span: it.span,
                    alike: name.clone(),
                    parts: "changes writes",
                }
            };
        self.0.iter().map(group).collect()
    }
}
