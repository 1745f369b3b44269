//! What has happened in a run, in the order of time.

use crate::end::METADATA;
use crate::expected::{Difference, differences};
use crate::value::told;
use core::fmt;
use listwatch::testing::{Commit, Sent};
use listwatch::time::Instant;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// So many lines of a story are about keys that failed.
const TOLD_FAILURES: usize = 400;
/// So many fields of a change are told.
const FIELDS: usize = 4;
/// So many letters of a value are told.
const LETTERS: usize = 40;
/// What names an object, or has always the same form, and is not told of a new one.
const NAMES: [&str; 6] =
    ["apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.generateName", "metadata.ownerReferences"];

/// The lines of a run. They become texts where a run has failed.
#[derive(Debug, Default)]
pub(crate) struct Story {
    lines: Vec<Line>,
    /// The uids of the objects that are gone.
    gone: BTreeSet<String>,
    /// The changes of this moment, for the request that has made them.
    recent: (Instant, Vec<Change>),
}

/// A line, with the change that it tells.
#[derive(Debug)]
struct Line {
    at: Instant,
    /// `*` if something goes wrong, and `>` if the scenario changes something.
    mark: char,
    text: String,
    change: Option<Change>,
}

/// A change of an object.
#[derive(Debug)]
struct Change(Commit);

impl Story {
    /// Something goes wrong.
    pub(crate) fn trouble(&mut self, at: Instant, text: &str) {
        self.push(at, '*', text.to_owned(), None);
    }

    pub(crate) fn plain(&mut self, at: Instant, text: String) {
        self.push(at, ' ', text, None);
    }

    /// A key has failed, by this line of the program.
    pub(crate) fn failed(&mut self, at: Instant, line: &str) {
        if self.lines.len() < TOLD_FAILURES {
            self.plain(at, line.to_owned());
        }
    }

    /// A change was stored, by the scenario or not.
    pub(crate) fn on_commit(&mut self, commit: &Commit, at: Instant, is_scenario: bool) {
        let uid = |object: &Value| Some(object["metadata"]["uid"].as_str()?.to_owned());
        if commit.after.is_none() {
            self.gone.extend(commit.before.as_deref().and_then(uid));
        }
        let change = Change(commit.clone());
        let text = |who| format!("{who} {} {} {}", change.verb(), commit.resource, commit.key);
        match is_scenario {
            _ if self.is_collected(commit) => self.push(at, ' ', text("the garbage collector"), Some(change)),
            true => self.push(at, '>', text("the scenario"), Some(change)),
            false if self.recent.0 == at => self.recent.1.push(change),
            false => self.recent = (at, vec![change]),
        }
    }

    /// The changes so far are not those of the next request.
    pub(crate) fn forget_recent(&mut self) {
        self.recent.1.clear();
    }

    /// A request to write was answered by this status.
    pub(crate) fn answered(&mut self, at: Instant, who: &str, sent: &Sent<'_>, status: u16) {
        // What an observer of the test changes comes after what it observes.
        let own = self.recent.1.drain(..).filter(|it| it.is_of(sent)).min_by_key(|it| it.0.version);
        let is_same = own.is_none() && matches!(sent.method, "PUT" | "PATCH") && (200..300).contains(&status);
        let more = match &own {
            Some(change) if sent.key.ends_with('*') => format!(" as {}", change.0.key),
            Some(Change(commit)) if commit.after.is_none() && sent.method != "DELETE" => ": it is gone".to_owned(),
            None if is_same => ": nothing changes".to_owned(),
            _ => String::new(),
        };
        self.push(at, ' ', format!("{who}{sent} {status}{more}"), own);
    }

    /// The lines, as texts.
    pub(crate) fn told(&self) -> Vec<String> {
        self.lines.iter().map(ToString::to_string).collect()
    }

    fn push(&mut self, at: Instant, mark: char, text: String, change: Option<Change>) {
        self.lines.push(Line { at, mark, text, change });
    }

    /// Whether a change is the end of an object whose owners are gone.
    fn is_collected(&self, commit: &Commit) -> bool {
        let owners = commit.before.as_deref().and_then(|it| it["metadata"]["ownerReferences"].as_array());
        let is_gone = |owner: &Value| owner["uid"].as_str().is_some_and(|uid| self.gone.contains(uid));
        commit.after.is_none() && owners.is_some_and(|owners| !owners.is_empty() && owners.iter().all(is_gone))
    }
}

impl Change {
    /// Whether a request may have made it: one to the object, to a subresource, or to all of them.
    fn is_of(&self, sent: &Sent<'_>) -> bool {
        let (key, resource) = (sent.key.strip_suffix('*').unwrap_or(&sent.key), &sent.resource);
        let is_beside = |rest: &str| rest.is_empty() || rest.starts_with('/');
        *resource == self.0.resource
            && (self.0.key.strip_prefix(key).is_some_and(|rest| sent.key.ends_with('*') || is_beside(rest))
                || key.strip_prefix(&*self.0.key).is_some_and(is_beside)
                || key.is_empty())
    }

    fn verb(&self) -> &'static str {
        let is_terminating = |object: &Option<Arc<Value>>| {
            object.as_deref().is_some_and(|object| !object["metadata"]["deletionTimestamp"].is_null())
        };
        match (&self.0.before, &self.0.after) {
            (None, _) => "creates",
            (_, None) => "deletes",
            (before, after) if !is_terminating(before) && is_terminating(after) => "begins to delete",
            _ => "changes",
        }
    }
}

/// The fields, as `: spec.replicas 2 → 3`, and nothing for a deletion.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(after) = self.0.after.as_deref() else { return Ok(()) };
        let before = self.0.before.as_deref();
        let mut fields = differences("", before.unwrap_or(&Value::Null), after);
        fields.iter_mut().for_each(|field| field.path = field.path.trim_start().replace(' ', "."));
        fields.retain(|field| !is_of_server(&field.path));
        fields.retain(|field| before.is_some() || !NAMES.contains(&&*field.path));
        fields.sort_by_key(|field| field.path.starts_with("metadata."));
        for (index, Difference { path, expected, found }) in fields.iter().take(FIELDS).enumerate() {
            write!(f, "{}{path} ", if index == 0 { ": " } else { ", " })?;
            if before.is_some() {
                write!(f, "{} → ", shown(&self.0.resource, expected))?;
            }
            f.write_str(&shown(&self.0.resource, found))?;
        }
        if fields.len() > FIELDS { write!(f, ", and {} more", fields.len() - FIELDS) } else { Ok(()) }
    }
}

/// Whether a server sets this field of the metadata.
fn is_of_server(path: &str) -> bool {
    path.strip_prefix("metadata.").is_some_and(|field| METADATA.iter().any(|name| field.starts_with(name)))
}

/// The begin of a value.
fn shown(resource: &str, value: &Value) -> String {
    let text = if value.is_null() { "absent".to_owned() } else { told(resource, value) };
    let cut = text.char_indices().nth(LETTERS).map(|(index, _)| format!("{}…", &text[..index]));
    cut.unwrap_or(text)
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, mark, text, change } = self;
        write!(f, "{mark} {:8.3} s {text}", at.saturating_since(Instant::ZERO).as_secs_f64())?;
        change.iter().try_for_each(|change| write!(f, "{change}"))
    }
}
