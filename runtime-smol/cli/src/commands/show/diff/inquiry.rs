//! The objects and the steps that differ, as a second reading finds them.

use super::generated::Place;
use super::reading::{Reading, Visitor, take_change};
use super::stable::Stable;
use crate::commands::show::entry::{By, Entry};
use crate::commands::show::filter::Filter;
use crate::commands::show::lines::{author, shown};
use crate::commands::show::millis_of;
use crate::commands::show::resource::name_of;
use crate::commands::show::state::State;
use crate::output::changes::Held;
use listwatch::Key;
use listwatch::file::{Moment, MomentKind};
use listwatch::time::WallTime;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;

/// The newest causes of an object that are kept.
const MOST_CAUSES: usize = 16;

/// What is asked of a recording, and what it has of it.
pub(super) struct Inquiry<'s> {
    stable: &'s Stable,
    began: Option<WallTime>,
    places: HashSet<Place>,
    numbers: HashSet<u64>,
    state: State,
    causes: HashMap<Place, VecDeque<Cause>>,
    steps: HashMap<u64, Stepped>,
}

/// A step with its fields.
pub(super) struct Stepped {
    pub(super) cause: Cause,
    pub(super) fields: BTreeMap<String, Held>,
}

/// What made a value.
#[derive(Clone, Serialize)]
pub(super) struct Cause {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    after: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    pub(super) event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "By::is_empty")]
    by: By,
    /// The fields that it changed.
    #[serde(skip)]
    fields: Vec<String>,
}

/// Whether a cause made or ended an object.
const MADE: [&str; 4] = ["ADDED", "POST", "LISTED", "RELISTED"];
const ENDED: [&str; 3] = ["DELETED", "DELETE", "VANISHED"];

impl<'s> Inquiry<'s> {
    pub(super) fn new(stable: &'s Stable, places: HashSet<Place>, numbers: HashSet<u64>) -> Self {
        let (state, causes, steps) = (State::default(), HashMap::new(), HashMap::new());
        Self { stable, began: None, places, numbers, state, causes, steps }
    }

    pub(super) fn read(&mut self, reading: &mut Reading) {
        self.began = reading.began;
        reading.read(self);
    }

    pub(super) fn step(&self, number: u64) -> Option<&Stepped> {
        self.steps.get(&number)
    }

    /// The object at the end, made comparable.
    pub(super) fn object(&self, place: &Place) -> Option<Value> {
        let object = self.state.0.get(&place.0)?.objects.get(&Key::from(place.1.as_str()))?;
        Some(object.value().map_or_else(|_| object.text().into(), |value| self.stable.object(value)))
    }

    /// The last cause of the object's being there or not, or of the value of a field.
    pub(super) fn cause(&self, place: &Place, field: Option<&str>, is_there: bool) -> Option<Cause> {
        let is_meant = |cause: &&Cause| match field {
            None if is_there => MADE.contains(&&*cause.event),
            None => ENDED.contains(&&*cause.event),
            Some(field) => {
                let is_whole = cause.fields.is_empty() && MADE.contains(&&*cause.event);
                is_whole || cause.fields.iter().any(|own| own.starts_with(field) || field.starts_with(own.as_str()))
            }
        };
        self.causes.get(place)?.iter().rev().find(is_meant).cloned()
    }

    fn cause_of(&self, entry: &Entry) -> Cause {
        let fields = entry.changes.iter().chain(&entry.answered);
        Cause {
            key: entry.key.clone().unwrap_or_default(),
            time: self.began.map(|began| millis_of(began + entry.at)),
            after: entry.at.as_secs_f64(),
            line: entry.line,
            event: entry.event.clone(),
            message: entry.message.clone(),
            by: entry.by.clone(),
            fields: fields.map(|change| self.stable.path(&change.field)).collect(),
        }
    }
}

impl Visitor for Inquiry<'_> {
    fn moment(&mut self, filter: &Filter, moment: &Moment) {
        if let MomentKind::Changed { resource, change, .. } = &moment.kind {
            let (name, places) = (name_of(resource), &self.places);
            let is_asked = |key: &Key| places.contains(&(name.clone(), key.as_str().to_owned()));
            take_change(&mut self.state, moment.at, filter, resource, change.clone(), is_asked);
        }
    }

    fn entry(&mut self, number: u64, entry: Entry) {
        let resource = entry.resource.as_deref().unwrap_or_default();
        let base = resource.split('/').next().unwrap_or_default();
        let place = (base.to_owned(), entry.key.clone().unwrap_or_default());
        if self.numbers.contains(&number) {
            let stepped = self.stepped(&entry);
            self.steps.insert(number, stepped);
        }
        if self.places.contains(&place) && !entry.failed {
            let cause = self.cause_of(&entry);
            let causes = self.causes.entry(place).or_default();
            causes.push_back(cause);
            if causes.len() > MOST_CAUSES {
                causes.pop_front();
            }
        }
    }
}

impl Inquiry<'_> {
    fn stepped(&self, entry: &Entry) -> Stepped {
        let mut fields: BTreeMap<String, Held> =
            entry.changes.iter().map(|change| (self.stable.path(&change.field), self.stable.held(change))).collect();
        let words = [
            ("(status)", entry.status.map(|status| status.to_string())),
            ("(failed)", entry.failed.then(|| "true".to_owned())),
            ("(outcome)", entry.reconcile.as_ref().and_then(|own| own.outcome.clone())),
            ("(more fields)", (entry.more_changes > 0).then(|| entry.more_changes.to_string())),
        ];
        fields.extend(words.into_iter().filter_map(|(name, word)| Some((name.to_owned(), Held::Value(word?)))));
        Stepped { cause: Cause { fields: Vec::new(), ..self.cause_of(entry) }, fields }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.time {
            Some(time) => write!(f, "{time}  "),
            None => write!(f, "{:.3}s  ", self.after),
        }?;
        write!(f, "{} {}", shown(&self.event), shown(&self.key))?;
        let texts = author(&self.by).into_iter().chain(self.message.as_deref().map(shown));
        texts.into_iter().try_for_each(|text| write!(f, "  {text}"))
    }
}
