//! Which troubles a place can have, and how plans of several are drawn.

use crate::place::{Place, is_lease};
use crate::plan::{Apart, Back, Disturbance, Plan, Trouble};
use std::collections::BTreeSet;

/// The most often that the same place is disturbed, in one run after the other.
const OFTEN: u32 = 4;
/// The same of a lease, which is renewed all the time.
const LEASES: u32 = 2;
/// The most plans that others are drawn from.
const KEPT: usize = 512;

/// The troubles that an exploration knows, and the plans that showed something new.
#[derive(Clone, Debug, Default)]
pub(crate) struct Troubles {
    /// The resources that the program watches.
    pub(crate) watched: BTreeSet<String>,
    /// The objects that the program makes again, once they are deleted.
    pub(crate) restored: BTreeSet<String>,
    /// The names of troubles that do not happen.
    pub(crate) left_out: BTreeSet<String>,
    known: BTreeSet<Place>,
    pool: Vec<Disturbance>,
    kept: Vec<Plan>,
}

/// The names of all troubles, as a test leaves them out.
pub(crate) const NAMES: [&str; 22] = [
    "apart",
    "behind",
    "compacted",
    "cut",
    "deleted",
    "failed",
    "forbidden",
    "killed before",
    "killed stored",
    "lost",
    "older",
    "paused",
    "paused-long",
    "recreated",
    "refused 409",
    "refused 410",
    "refused 429",
    "refused 500",
    "slow",
    "stalled",
    "stalled-long",
    "touched",
];

impl Troubles {
    pub(crate) fn new(watched: BTreeSet<String>, left_out: BTreeSet<String>) -> Self {
        Self { watched, left_out, ..Self::default() }
    }

    /// Learns a place, and returns what can disturb it. None, if it is known.
    pub(crate) fn learn(&mut self, place: &Place) -> Vec<Disturbance> {
        let most = if is_lease(place.resource()) { LEASES } else { OFTEN };
        if place.nth > most || place.is_by_the_way() || !self.known.insert(place.clone()) {
            return Vec::new();
        }
        let troubles = self.of(place).into_iter().filter(|trouble| !self.left_out.contains(&trouble.name()));
        let found: Vec<_> = troubles.map(|trouble| Disturbance { place: place.clone(), trouble }).collect();
        self.pool.extend(found.iter().cloned());
        found
    }

    /// Keeps a plan that showed something new.
    pub(crate) fn keep(&mut self, plan: &Plan) {
        if self.kept.len() < KEPT && !plan.disturbances.is_empty() {
            self.kept.push(plan.clone());
        }
    }

    /// Draws a plan of two or three disturbances, half of them from a plan that showed something new.
    pub(crate) fn draw(&self, seed: u64) -> Plan {
        let mut random = Random(seed);
        let mut plan = match random.below(2) {
            0 if !self.kept.is_empty() => self.kept[random.below(self.kept.len())].clone(),
            _ => Plan { disturbances: self.one(&mut random) },
        };
        for _ in 0..=random.below(2) {
            let added = self.one(&mut random);
            let is_new = |one: &Disturbance| plan.disturbances.iter().all(|it| it.place != one.place);
            if plan.disturbances.len() < 4 && added.iter().all(is_new) {
                plan.disturbances.extend(added);
            }
        }
        plan
    }

    fn one(&self, random: &mut Random) -> Vec<Disturbance> {
        if self.pool.is_empty() { Vec::new() } else { vec![self.pool[random.below(self.pool.len())].clone()] }
    }

    fn of(&self, place: &Place) -> Vec<Trouble> {
        match place.verb() {
            "STEP" => self.of_step(),
            "CALL" => of_call(),
            "LIST" | "WATCH" if place.nth > 1 => Vec::new(),
            "LIST" | "WATCH" => vec![Trouble::Refused(500), Trouble::Refused(410), Trouble::Slow, Trouble::Forbidden],
            "GET" => vec![
                Trouble::KilledBefore(Back::AtOnce),
                Trouble::Refused(500),
                Trouble::Lost,
                Trouble::Slow,
                Trouble::Paused,
                Trouble::Forbidden,
            ],
            _ => self.of_write(place),
        }
    }

    fn of_step(&self) -> Vec<Trouble> {
        let mut backs = vec![Back::AtOnce, Back::Later];
        let behind = |changes| self.watched.iter().map(move |it| Back::BehindOf(changes, it.clone()));
        backs.extend((1..=3).flat_map(|changes| core::iter::once(Back::Behind(changes)).chain(behind(changes))));
        backs.extend((4..=10).map(Back::Behind));
        let mut troubles = vec![Trouble::PausedLong];
        for resource in &self.watched {
            troubles.extend([Trouble::Stalled(resource.clone()), Trouble::StalledLong(resource.clone())]);
        }
        troubles.extend(backs.into_iter().map(Trouble::KilledAfter));
        troubles.extend([Trouble::Older(1), Trouble::Older(3), Trouble::Cut, Trouble::Compacted, Trouble::Paused]);
        troubles.extend([Apart::Ahead, Apart::Behind].map(Trouble::Apart));
        troubles
    }

    fn of_write(&self, place: &Place) -> Vec<Trouble> {
        let resource = place.resource().to_owned();
        let mut troubles = vec![Trouble::KilledAfter(Back::AtOnce), Trouble::KilledBefore(Back::AtOnce), Trouble::Lost];
        if self.watched.contains(&resource) {
            troubles.extend([Trouble::Stalled(resource.clone()), Trouble::StalledLong(resource.clone())]);
        }
        troubles.extend([Trouble::Refused(500), Trouble::Refused(409), Trouble::Paused, Trouble::PausedLong]);
        if place.verb() != "POST" {
            troubles.push(Trouble::Touched);
        }
        if place.verb() != "POST" && self.restored.iter().any(|object| place.is_to(object)) {
            troubles.extend([Trouble::Deleted, Trouble::Recreated]);
        }
        let backs = [Back::Later, Back::Behind(1), Back::Behind(3), Back::BehindOf(1, resource)];
        troubles.extend(
            backs.into_iter().flat_map(|back| [Trouble::KilledAfter(back.clone()), Trouble::KilledBefore(back)]),
        );
        troubles.extend([Trouble::Forbidden, Trouble::Slow, Trouble::Refused(429), Trouble::Older(1)]);
        troubles.extend([Trouble::Cut, Trouble::Compacted]);
        troubles
    }
}

fn of_call() -> Vec<Trouble> {
    let backs = [Back::AtOnce, Back::Later];
    let mut troubles: Vec<_> =
        backs.into_iter().flat_map(|back| [Trouble::KilledAfter(back.clone()), Trouble::KilledBefore(back)]).collect();
    troubles.extend([Trouble::Failed, Trouble::Lost, Trouble::Paused]);
    troubles
}

/// Numbers that a seed draws (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        usize::try_from(self.next() % bound).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_of_a_place_has_one_of_the_names() {
        let mut troubles = Troubles::new(["v1/pods".to_owned()].into(), BTreeSet::new());
        troubles.restored.insert("v1/pods web/a".to_owned());
        let places = ["STEP 1", "CALL s3 1", "LIST v1/pods 1", "GET v1/pods web/a 1", "PATCH v1/pods web/a/status 1"];
        let of = |place: &str| troubles.clone().learn(&place.parse().expect("a place"));
        let names: BTreeSet<String> = places.into_iter().flat_map(of).map(|it| it.trouble.name()).collect();
        assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), NAMES);
    }
}
