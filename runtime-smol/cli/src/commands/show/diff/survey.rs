//! What a recording has: hashes of its objects at the end, and of the steps to them.

use super::generated::{Generated, Place, hash_of};
use super::reading::{Reading, Visitor};
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

pub(super) struct Survey<'s> {
    stable: &'s Stable,
    /// By resource and key.
    pub(super) objects: BTreeMap<Place, u64>,
    /// By resource, with the subresource, and key.
    pub(super) steps: BTreeMap<Sort, BTreeMap<Place, Vec<Step>>>,
    pub(super) generated: Generated,
}

impl<'s> Survey<'s> {
    pub(super) fn of(reading: &mut Reading, stable: &'s Stable) -> Self {
        let (objects, steps, generated) = (BTreeMap::new(), BTreeMap::new(), Generated::default());
        let mut survey = Self { stable, objects, steps, generated };
        let state = reading.read(&mut survey);
        survey.hash_objects(state, reading.filter());
        survey
    }

    /// Puts a hash into the place of each object. Its own name may be made up.
    fn hash_objects(&mut self, state: State, filter: &Filter) {
        for (resource, part) in state.0 {
            for (key, object) in part.objects {
                let hash = match object.value() {
                    Ok(value) if !filter.is_labelled(&value) => continue,
                    Ok(value) => hash_of(&self.stable.without_name(key.name()).object(value)),
                    Err(_) => hash_of(&object.text()),
                };
                self.objects.insert((resource.clone(), key.as_str().to_owned()), hash);
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
    fn moment(&mut self, moment: &Moment) {
        match &moment.kind {
            MomentKind::Changed { resource, change, .. } => self.generated.change(&name_of(resource), change),
            MomentKind::Ended(call) => self.answered(call),
            _ => {}
        }
    }

    fn entry(&mut self, number: u64, entry: Entry) {
        let kind = hash_of(&(&entry.event, &entry.resource));
        let own = Key::from(entry.key.as_deref().unwrap_or_default());
        let hash = hash_of(&(kind, self.stable.without_name(own.name()).fields(&entry)));
        let place = (entry.resource.unwrap_or_default(), entry.key.unwrap_or_default());
        let steps = self.steps.entry(entry.what).or_default().entry(place).or_default();
        steps.push(Step { kind, hash, number });
    }
}
