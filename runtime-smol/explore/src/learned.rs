//! What the undisturbed runs of a program show, and whether another run is as they are.

use crate::course::Bounds;
use crate::expected::Expected;
use crate::explored::Explored;
use crate::failure::Failure;
use crate::fault::Fault;
use crate::place::Place;
use crate::plan::{Disturbance, Plan, Trouble};
use crate::run::{Outcome, Parts, run, run_probed, run_recorded};
use crate::troubles::Troubles;
use core::time::Duration;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A write that changes nothing may be repeated so often.
const IDLE: u32 = 10;
/// The most writes of an undisturbed run.
const WRITES: u32 = 3_000;
/// As many objects are deleted to see which of them the program makes again.
const PROBED: usize = 64;

/// How an exploration runs.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) lasting: Option<Duration>,
    /// The troubles that do not happen.
    pub(crate) without: BTreeSet<String>,
    /// What is not compared with the undisturbed run.
    pub(crate) may_vary: BTreeSet<String>,
    /// A file of plans that are run before others.
    pub(crate) plans: Option<PathBuf>,
}

/// What the undisturbed runs show.
pub(crate) struct Learned<S> {
    pub(crate) parts: Arc<Parts<S>>,
    pub(crate) settings: Settings,
    pub(crate) troubles: Troubles,
    pub(crate) expected: Expected,
    /// How many steps the scenario has.
    pub(crate) steps: u32,
    bounds: Bounds,
    places: Vec<Place>,
    idle: u32,
    failing: BTreeSet<String>,
}

impl<S: Send + Sync + 'static> Learned<S> {
    /// Runs the program undisturbed, and in benign ways. After so many steps, or by itself, the scenario ends.
    pub(crate) fn of(
        parts: &Arc<Parts<S>>,
        settings: Settings,
        steps: Option<u32>,
        explored: &mut Explored,
    ) -> Result<Self, Box<Failure>> {
        let bounds = Bounds { writes: WRITES, steps, lasting: settings.lasting };
        let undisturbed = || run(parts, Plan::default(), bounds);
        let (first, second) = (undisturbed(), undisturbed());
        explored.on_learned(&first);
        explored.on_learned(&second);
        if let Some(fault) = wrong(&first, &second) {
            return Err(Failure::of(fault, Plan::default(), &first.traces.story, settings.seed));
        }
        let traces = first.traces;
        let places: Vec<Place> = traces.passed.into_iter().map(|passed| passed.place).collect();
        let watched = places.iter().filter(|place| matches!(place.verb(), "LIST" | "WATCH"));
        let watched: BTreeSet<String> = watched.map(|place| place.resource().to_owned()).collect();
        let mut learned = Self {
            parts: Arc::clone(parts),
            bounds: Bounds { writes: 10 * traces.writes + 500, ..bounds },
            expected: Expected::new(&first.end, &settings.may_vary),
            steps: traces.steps,
            idle: traces.idlest.map_or(0, |(_, count)| count),
            failing: traces.failing,
            troubles: Troubles::new(watched, settings.without.clone()),
            settings,
            places,
        };
        learned.learn_benign(explored)?;
        // A scenario that ends early makes no more of an object's deletion.
        if steps.is_none() {
            learned.learn_restored(&traces.created);
        }
        Ok(learned)
    }

    /// What differs if one kind is told later than others may vary.
    fn learn_benign(&mut self, explored: &mut Explored) -> Result<(), Box<Failure>> {
        let late = |(resource, millis): (&String, u64)| {
            let first = self.places.iter().find(|place| place.verb() == "WATCH" && place.resource() == resource);
            let trouble = Trouble::Late(resource.clone(), millis);
            Some(Plan { disturbances: vec![Disturbance { place: first?.clone(), trouble }] })
        };
        let watched = self.troubles.watched.iter().flat_map(|it| [(it, 200), (it, 1500)]);
        let plans: Vec<Plan> = watched.filter_map(late).collect();
        for (plan, outcome) in plans.iter().zip(self.run_all(&plans)) {
            explored.on_learned(&outcome);
            if let Some(fault) = outcome.fault {
                return Err(Failure::of(fault, plan.clone(), &outcome.traces.story, self.settings.seed));
            }
            self.failing.extend(outcome.traces.failing);
            self.expected.learn(&outcome.end);
        }
        Ok(())
    }

    /// Which objects the program makes again, once they are deleted.
    fn learn_restored(&mut self, created: &BTreeSet<String>) {
        let probed: Vec<&String> = created.iter().take(PROBED).collect();
        let outcomes = run_all(probed.len(), self.settings.threads, |index| {
            let (resource, key) = probed[index].split_once(' ').unwrap_or_default();
            run_probed(&self.parts, self.bounds, resource, key)
        });
        let is_restored =
            |outcome: &Outcome| outcome.fault.is_none() && self.expected.differences(&outcome.end).is_empty();
        let restored = probed.into_iter().zip(outcomes).filter(|(_, outcome)| is_restored(outcome));
        self.troubles.restored = restored.map(|(object, _)| object.clone()).collect();
    }

    /// One disturbance at each place. All places have their first trouble before one has its second.
    pub(crate) fn alone(&mut self) -> Vec<Plan> {
        let mut found = Vec::new();
        for place in core::mem::take(&mut self.places) {
            found.extend(self.troubles.learn(&place).into_iter().enumerate());
        }
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, one)| Plan { disturbances: vec![one] }).collect()
    }

    /// What is wrong with a run.
    pub(crate) fn judge(&self, outcome: &Outcome) -> Option<Fault> {
        if let Some(fault) = &outcome.fault {
            return Some(fault.clone());
        }
        let idlest = outcome.traces.idlest.as_ref();
        if let Some((at, _)) = idlest.filter(|(_, count)| *count > IDLE.max(3 * self.idle)) {
            return Some(Fault::Idle(at.clone()));
        }
        let differences = self.expected.differences(&outcome.end);
        if !differences.is_empty() && !outcome.traces.is_given_up {
            return Some(Fault::End(differences));
        }
        outcome.traces.failing.iter().find(|key| !self.failing.contains(*key)).map(|key| Fault::Failing(key.clone()))
    }

    pub(crate) fn run(&self, plan: &Plan) -> Outcome {
        run(&self.parts, plan.clone(), self.bounds)
    }

    /// The same, with a tape of each process.
    pub(crate) fn run_recorded(&self, plan: &Plan, path: &Path) -> (Outcome, Vec<PathBuf>) {
        run_recorded(&self.parts, plan.clone(), self.bounds, path)
    }

    /// Runs plans on all threads. The outcomes have the order of the plans.
    pub(crate) fn run_all(&self, plans: &[Plan]) -> Vec<Outcome> {
        run_all(plans.len(), self.settings.threads, |index| self.run(&plans[index]))
    }
}

/// Makes so many runs on so many threads. The outcomes have the order of their numbers.
fn run_all(count: usize, threads: usize, run: impl Fn(usize) -> Outcome + Sync) -> Vec<Outcome> {
    let outcomes: Vec<Mutex<Option<Outcome>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = outcomes.get(index) else { return };
            let outcome = run(index);
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
    };
    thread::scope(|scope| (0..threads.min(count)).for_each(|_| _ = scope.spawn(work)));
    let outcomes = outcomes.into_iter().map(|it| it.into_inner().unwrap_or_else(PoisonError::into_inner));
    outcomes.flatten().collect()
}

/// What is wrong with two undisturbed runs.
fn wrong(first: &Outcome, second: &Outcome) -> Option<Fault> {
    let setup = second.fault.as_ref().filter(|fault| matches!(fault, Fault::Setup(_)));
    let idle =
        || first.traces.idlest.as_ref().filter(|(_, count)| *count > IDLE).map(|(at, _)| Fault::Idle(at.clone()));
    first.fault.as_ref().or(setup).cloned().or_else(idle).or_else(|| parted(first, second))
}

/// Where two undisturbed runs part.
fn parted(first: &Outcome, second: &Outcome) -> Option<Fault> {
    let (one, two) = (&first.traces.passed, &second.traces.passed);
    let parted = one.iter().zip(two).find(|(one, two)| one != two);
    let why = match parted {
        Some((one, two)) if one.place == two.place && one.at == two.at => format!("{} has another body", one.place),
        Some((one, two)) if one.place == two.place => format!("{} comes at another time", one.place),
        Some((one, two)) => format!("{} comes in the place of {}", two.place, one.place),
        None if one.len() != two.len() => format!("one has {} requests, the other one {}", one.len(), two.len()),
        None => Expected::new(&first.end, &BTreeSet::new()).differences(&second.end).into_iter().next()?,
    };
    Some(Fault::NotDeterministic(why))
}
