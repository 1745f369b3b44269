//! The objects and the steps that differ, as a second reading finds them.

use super::generated::Place;
use super::reading::{Reading, Visitor};
use super::stable::Stable;
use crate::commands::show::entry::Entry;
use crate::commands::show::state::State;
use crate::output::changes::{FieldChange, Held};
use listwatch::Key;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// The newest causes of an object that are kept.
const MOST_CAUSES: usize = 8;
/// What makes an object, and what ends it.
const MADE: [&str; 4] = ["ADDED", "POST", "LISTED", "RELISTED"];
const ENDED: [&str; 3] = ["DELETED", "DELETE", "VANISHED"];

/// What is asked of a recording, and what it has of it.
pub(super) struct Inquiry<'s> {
    stable: &'s Stable,
    places: HashSet<Place>,
    numbers: HashSet<u64>,
    state: State,
    causes: HashMap<Place, VecDeque<Entry>>,
    steps: HashMap<u64, Stepped>,
}

/// A step with its fields.
pub(super) struct Stepped {
    pub(super) entry: Entry,
    pub(super) fields: BTreeMap<String, Held>,
}

impl<'s> Inquiry<'s> {
    pub(super) fn of(mut reading: Reading, stable: &'s Stable, places: HashSet<Place>, numbers: HashSet<u64>) -> Self {
        let (state, causes, steps) = (State::default(), HashMap::new(), HashMap::new());
        let mut inquiry = Self { stable, places, numbers, state, causes, steps };
        inquiry.state = reading.read(&mut inquiry);
        inquiry
    }

    pub(super) fn step(&self, number: u64) -> Option<&Stepped> {
        self.steps.get(&number)
    }

    /// The object at the end, made comparable.
    pub(super) fn object(&self, place: &Place) -> Option<Value> {
        let object = self.state.0.get(&place.0)?.objects.get(&Key::from(place.1.as_str()))?;
        Some(object.value().map_or_else(|_| object.text().into(), |value| self.stable.object(value)))
    }

    /// The last cause of the value of a field or, without a field, of the object's being there or not.
    pub(super) fn cause(&self, place: &Place, field: Option<&str>, is_there: bool) -> Option<&Entry> {
        let is_meant = |cause: &&Entry| {
            let is_made = MADE.contains(&&*cause.event);
            match field {
                None if is_there => is_made,
                None => ENDED.contains(&&*cause.event),
                Some(field) => {
                    let mut fields = cause.changes.iter().chain(&cause.answered).map(|change| &*change.field);
                    (is_made && cause.changes.is_empty())
                        || fields.any(|own| own.starts_with(field) || field.starts_with(own))
                }
            }
        };
        self.causes.get(place)?.iter().rev().find(is_meant)
    }
}

impl Visitor for Inquiry<'_> {
    fn is_meant(&self, resource: &str, key: &Key) -> bool {
        self.places.contains(&(resource.to_owned(), key.as_str().to_owned()))
    }

    fn entry(&mut self, number: u64, mut entry: Entry) {
        let resource = entry.resource.as_deref().unwrap_or_default();
        let base = resource.split('/').next().unwrap_or_default();
        let place = (base.to_owned(), entry.key.clone().unwrap_or_default());
        if self.numbers.contains(&number) {
            let fields = self.stable.fields(&entry);
            let entry = Entry { changes: Vec::new(), answered: Vec::new(), ..entry.clone() };
            self.steps.insert(number, Stepped { entry, fields });
        }
        if self.places.contains(&place) && !entry.failed {
            let causes = self.causes.entry(place).or_default();
            entry.changes.iter_mut().chain(&mut entry.answered).for_each(FieldChange::forget_values);
            causes.push_back(entry);
            if causes.len() > MOST_CAUSES {
                causes.pop_front();
            }
        }
    }
}
