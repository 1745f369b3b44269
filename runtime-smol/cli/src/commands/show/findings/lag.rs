//! Watches that tell late, or no longer, what writes were answered with.

use super::super::entry::Entry;
use super::finding::{Group, Kind, Span};
use super::objects::name;
use crate::report::changed::within;
use listwatch::text::Counted;
use std::collections::HashMap;
use std::time::Duration;

/// The most objects whose events are waited for, and the most resources.
const MOST: usize = 50_000;
/// An event that comes as long behind the answer is late.
const LATE: Duration = Duration::from_secs(1);
/// A write that is not told for so long at the end is lost.
const LOST: Duration = Duration::from_secs(10);
/// So many late events of a resource are worth a word.
const FEW: u64 = 3;

#[derive(Default)]
pub(super) struct Lag {
    objects: HashMap<(String, String), State>,
    late: HashMap<String, Late>,
    pub(super) uncounted: u64,
}

#[derive(Default)]
struct State {
    /// The version that a watch told last.
    told: u64,
    /// The version of a write that no watch has told, and when it was answered.
    awaited: Option<(u64, Duration)>,
}

#[derive(Default)]
struct Late {
    count: u64,
    longest: Duration,
    span: Option<Span>,
    key: Option<String>,
}

impl Lag {
    /// A watch told a change.
    pub(super) fn told(&mut self, entry: &Entry) {
        let (Some(version), Some(name)) = (version(entry), name(entry)) else { return };
        let Some(state) = within(&mut self.objects, name, MOST) else {
            self.uncounted += 1;
            return;
        };
        state.told = state.told.max(version);
        let Some((_, answered)) = state.awaited.take_if(|(awaited, _)| *awaited <= version) else { return };
        let lag = entry.at.saturating_sub(answered);
        if lag < LATE {
            return;
        }
        let Some(late) = within(&mut self.late, entry.resource.clone().unwrap_or_default(), MOST) else { return };
        late.note([answered, entry.at], lag, entry.key.as_deref());
    }

    /// A write was answered. Only the objects of which a watch has told are waited for.
    pub(super) fn answered(&mut self, entry: &Entry) {
        let (Some(version), Some(name)) = (version(entry), name(entry)) else { return };
        if entry.failed || entry.event == "DELETE" {
            return;
        }
        if let Some(state) = self.objects.get_mut(&name).filter(|state| state.told < version) {
            state.awaited.get_or_insert_with(|| (version, entry.until()));
        }
    }

    pub(super) fn groups(&self, end: Duration) -> Vec<Group> {
        let mut lost: HashMap<&str, Late> = HashMap::new();
        for ((resource, key), state) in &self.objects {
            let Some((_, answered)) = state.awaited.filter(|(_, answered)| *answered + LOST <= end) else { continue };
            let late = lost.entry(resource.as_str()).or_default();
            late.note([answered; 2], end.saturating_sub(answered), Some(key));
        }
        let stopped = lost.iter().map(|(resource, late)| {
            let what = format!(
                "{} written, and no watch told of it up to the end, {:.0} s later",
                Counted(late.count, "object was", "objects were"),
                late.longest.as_secs_f64()
            );
            late.group(Kind::Stopped, resource, what)
        });
        let late = self.late.iter().filter(|(_, late)| late.count >= FEW).map(|(resource, late)| {
            let what = format!("events came up to {:.1} s behind the answers to writes", late.longest.as_secs_f64());
            late.group(Kind::Lag, resource, what)
        });
        stopped.chain(late).collect()
    }
}

impl Late {
    /// Counts an object whose event has not come for so long.
    fn note(&mut self, [from, until]: [Duration; 2], lag: Duration, key: Option<&str>) {
        self.count += 1;
        self.span.get_or_insert_with(|| Span::at(from)).note(until);
        if lag > self.longest {
            (self.longest, self.key) = (lag, key.map(str::to_owned));
        }
    }

    fn group(&self, kind: Kind, resource: &str, what: String) -> Group {
        Group {
            kind,
            resource: resource.to_owned(),
            key: None,
            what,
            fields: Vec::new(),
            culprits: vec!["the API server, or the way from it".to_owned()],
            notes: self.key.iter().map(|key| format!("the longest: {key}")).collect(),
            count: self.count,
            span: self.span.unwrap_or_default(),
            alike: String::new(),
            parts: "changes writes",
        }
    }
}

fn version(entry: &Entry) -> Option<u64> {
    entry.version.as_ref()?.parse().ok()
}
