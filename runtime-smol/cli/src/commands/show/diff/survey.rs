//! What a recording has: hashes of its objects at the end, and of the steps to them.

use super::generated::{Generated, Place};
use super::reading::{Reading, Visitor, take_change};
use super::stable::Stable;
use super::steps::Step;
use crate::commands::show::entry::{Entry, Sort};
use crate::commands::show::filter::Filter;
use crate::commands::show::resource::{name_of, resource_of};
use crate::commands::show::state::State;
use listwatch::Key;
use listwatch::file::{Call, Moment, MomentKind, Target};
use serde_json::Value;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

pub(super) struct Survey<'s> {
    stable: &'s Stable,
    state: State,
    /// By resource and key.
    pub(super) objects: BTreeMap<Place, u64>,
    /// By resource, with the subresource, and key.
    pub(super) steps: BTreeMap<Sort, BTreeMap<Place, Vec<Step>>>,
    pub(super) generated: Generated,
}

impl<'s> Survey<'s> {
    pub(super) fn of(reading: &mut Reading, stable: &'s Stable) -> Self {
        let (state, generated) = (State::default(), Generated::default());
        let mut survey = Self { stable, state, objects: BTreeMap::new(), steps: BTreeMap::new(), generated };
        reading.read(&mut survey);
        survey.hash_objects(reading.filter());
        survey
    }

    /// Puts a hash into the place of each object.
    fn hash_objects(&mut self, filter: &Filter) {
        for (resource, part) in std::mem::take(&mut self.state).0 {
            for (key, object) in part.objects {
                let place = (resource.clone(), key.as_str().to_owned());
                let hash = match object.value() {
                    Ok(value) if !filter.is_labelled(&value) => continue,
                    Ok(value) => hash_of(&nameless(self.stable.object(value), key.name())),
                    Err(_) => hash_of(&object.text()),
                };
                self.objects.insert(place, hash);
            }
        }
    }

    /// A new object may be known by the answer to its request alone.
    fn answered(&mut self, call: &Call) {
        let body = call.answer.as_ref().filter(|answer| call.request.method == "POST" && answer.status < 300);
        let object = body.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
        let (Some(object), Some(target)) = (object, Target::parse(&call.request.target)) else { return };
        let Some(name) = object["metadata"]["name"].as_str().filter(|_| target.subresource().is_none()) else { return };
        let key = Key::new(target.namespace(), name);
        self.generated.note(&resource_of(target.collection()), &key, || Some(object.clone()));
    }
}

impl Visitor for Survey<'_> {
    fn moment(&mut self, filter: &Filter, moment: &Moment) {
        match &moment.kind {
            MomentKind::Changed { resource, change, .. } => {
                self.generated.change(&name_of(resource), change);
                take_change(&mut self.state, moment.at, filter, resource, change.clone(), |_| true);
            }
            MomentKind::Ended(call) => self.answered(call),
            _ => {}
        }
    }

    fn entry(&mut self, number: u64, entry: Entry) {
        let step = self.stable.step(number, &entry);
        let place = (entry.resource.unwrap_or_default(), entry.key.unwrap_or_default());
        self.steps.entry(entry.what).or_default().entry(place).or_default().push(step);
    }
}

impl Stable {
    fn step(&self, number: u64, entry: &Entry) -> Step {
        let kind = hash_of(&(&entry.event, &entry.resource));
        let own = entry.key.as_deref().map(|key| Key::from(key).name().to_owned()).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (kind, entry.status, entry.failed, entry.more_changes).hash(&mut hasher);
        entry.reconcile.as_ref().map(|own| &own.outcome).hash(&mut hasher);
        for change in &entry.changes {
            (change.field.replace(&own, ""), self.held(change)).hash(&mut hasher);
        }
        Step { kind, hash: hasher.finish(), number }
    }
}

/// An object without its own name, which may be made up.
fn nameless(mut object: Value, name: &str) -> Value {
    fn hide(value: &mut Value, name: &str) {
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|value| hide(value, name)),
            Value::Array(items) => items.iter_mut().for_each(|item| hide(item, name)),
            Value::String(text) if text == name => text.clear(),
            _ => {}
        }
    }
    hide(&mut object, name);
    object
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
