//! The objects that changed most, and those that seem to change in a loop.

use super::summary::lines;
use crate::output::changes::fingerprint;
use crate::output::shown::Shown;
use listwatch::text::{Counted, Printable};
use listwatch::{Event, Key};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

/// The most objects whose changes are counted.
const MOST_OBJECTS: usize = 65_536;
/// The objects that are told.
const TOLD: usize = 5;
/// The changes of an object from which its states are compared.
const WATCHED: u64 = 8;
/// The returns to an earlier state from which an object is told as a loop.
const LOOP: u64 = 4;
/// The characters of a name at the most.
const NAME: usize = 90;

/// The changes of each object, of one of several resources.
#[derive(Default)]
pub(crate) struct Changed {
    objects: HashMap<(usize, Key), Changes>,
    /// The changes of objects that are not counted one by one.
    others: u64,
}

#[derive(Clone, Copy, Default)]
struct Changes {
    count: u64,
    /// How many of them went back to the state before the last one.
    returns: u64,
    /// How many of them changed times and versions alone.
    idle: u64,
    /// The last two states.
    states: [u64; 2],
}

/// The changes as lines of a summary.
pub(crate) struct MostChanged<'c> {
    pub(crate) changed: &'c Changed,
    /// The names of the resources, unless there is one.
    pub(crate) names: &'c [String],
}

impl Changed {
    /// Counts an event behind the first state of its resource.
    pub(crate) fn note<T: Shown>(&mut self, resource: usize, event: &Event<T>) {
        let (Some(key), Some(object)) = (event.key(), event.object()) else { return };
        let Some(changes) = within(&mut self.objects, (resource, key.clone()), MOST_OBJECTS) else {
            self.others += 1;
            return;
        };
        changes.count += 1;
        if changes.count >= WATCHED && matches!(event, Event::Updated { .. }) {
            changes.see(fingerprint(&object.json()));
        }
    }

    /// Those that changed most, the most changed first.
    fn most(&self) -> Vec<(&(usize, Key), &Changes)> {
        let mut all: Vec<_> = self.objects.iter().filter(|(_, changes)| changes.count > 1).collect();
        all.sort_unstable_by(|(one, a), (other, b)| b.count.cmp(&a.count).then_with(|| one.cmp(other)));
        all
    }
}

/// The value of a key in a map of at most so many; `None` for another key of a map that is full.
pub(crate) fn within<K: Eq + Hash, V: Default>(map: &mut HashMap<K, V>, key: K, most: usize) -> Option<&mut V> {
    if map.len() >= most { map.get_mut(&key) } else { Some(map.entry(key).or_default()) }
}

impl Changes {
    fn see(&mut self, state: u64) {
        let [before, last] = self.states;
        self.idle += u64::from(state == last);
        if state != last {
            self.returns += u64::from(state == before);
            self.states = [last, state];
        }
    }

    /// Whether each other change or so undoes the one before it.
    fn is_loop(&self) -> bool {
        self.returns >= LOOP && self.returns * 4 >= self.count
    }
}

impl MostChanged<'_> {
    fn name(&self, (resource, key): &(usize, Key)) -> String {
        let key = key.to_string();
        let name = self.names.get(*resource).map_or_else(|| key.clone(), |name| format!("{name} {key}"));
        Printable::new(name).at_most(NAME).to_string()
    }

    fn told(&self, (name, changes): (&(usize, Key), &Changes)) -> String {
        let count = Counted(changes.count, "change", "changes");
        let name = self.name(name);
        match changes.idle {
            0 => format!("{name}: {count}"),
            idle => format!("{name}: {count}, {idle} of times alone"),
        }
    }
}

impl fmt::Display for MostChanged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.changed.most();
        let told = most.iter().take(TOLD).map(|changed| self.told(*changed));
        let others = (self.changed.others > 0).then(|| {
            let objects = format!("behind the first {MOST_OBJECTS}");
            format!("{} of objects {objects}", Counted(self.changed.others, "change", "changes"))
        });
        lines(f, "most changed", told.chain(others))?;
        let is_loop = |changed: &&(&_, &Changes)| changed.1.is_loop();
        let looping = most.iter().filter(is_loop).take(TOLD);
        let told = looping.map(|(name, changes)| {
            let changed = Counted(changes.count, "change", "changes");
            format!("{}: {} of {changed} went back to an earlier state", self.name(name), changes.returns)
        });
        lines(f, "loops", told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(states: &[u64]) -> Changes {
        let mut changes = Changes::default();
        for state in states {
            changes.count += 1;
            changes.see(*state);
        }
        changes
    }

    #[test]
    fn two_states_in_turn_are_a_loop_and_progress_is_none() {
        let (flips, steps) = (changes(&[1, 2, 1, 2, 1, 2, 1, 2]), changes(&[1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!((flips.returns, flips.is_loop()), (6, true));
        assert_eq!((steps.returns, steps.is_loop()), (0, false));
        assert_eq!((changes(&[1, 1, 1]).idle, changes(&[1, 1, 1]).is_loop()), (2, false));
    }
}
