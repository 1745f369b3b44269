//! The exploration of a program: undisturbed runs first, then one disturbance at each place, then several that are drawn.

use crate::course::{Bounds, Fault};
use crate::ends::End;
use crate::explored::Explored;
use crate::failure::Failure;
use crate::it::It;
use crate::outside::Outside;
use crate::place::Place;
use crate::plan::{Disturbance, Plan, Trouble};
use crate::run::{Failed, Outcome, Parts, Scenario, run, run_probed};
use crate::troubles::Troubles;
use core::fmt;
use core::time::Duration;
use listwatch::World;
use listwatch::testing::SimulatedCluster;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// So many runs are planned at a time. Their results are merged in the order of their numbers.
const BATCH: usize = 64;
/// A write that changes nothing may be repeated so often.
const IDLE: u32 = 10;
/// The most requests of an undisturbed run.
const REQUESTS: u32 = 3_000;

/// Runs a program again and again in a simulated cluster, and disturbs it. See the [crate].
#[must_use = "an exploration does nothing until it runs"]
pub struct Exploration<S = ()> {
    parts: Parts<S>,
    seed: u64,
    lasting: Option<Duration>,
    left_out: BTreeSet<String>,
    varies: BTreeSet<String>,
}

/// What the undisturbed runs show.
struct Learned<S> {
    parts: Arc<Parts<S>>,
    bounds: Bounds,
    places: Vec<Place>,
    end: End,
    varies: BTreeSet<String>,
    idle: u32,
    failing: BTreeSet<String>,
    troubles: Troubles,
}

impl<S> fmt::Debug for Exploration<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exploration").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Exploration<()> {
    /// Explores a program that acts on its cluster alone.
    pub fn of<E: Into<Failed>>(program: impl Fn(World) -> Result<(), E> + Send + Sync + 'static) -> Self {
        Self::beside(|| (), move |world, _| program(world))
    }
}

impl<S: Send + Sync + 'static> Exploration<S> {
    /// Explores a program that also acts on something outside of its cluster. `outside` is called for each run.
    pub fn beside<E: Into<Failed>>(
        outside: impl Fn() -> S + Send + Sync + 'static,
        program: impl Fn(World, &Outside<S>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        let parts = Parts {
            program: Box::new(move |world, outside| program(world, outside).map_err(Into::into)),
            outside: Box::new(outside),
            cluster: Box::new(SimulatedCluster::new),
            scenario: Box::new(|_| Box::pin(async { Ok(()) })),
            always: Vec::new(),
            in_the_end: Vec::new(),
            shown: None,
        };
        Self { parts, seed: 1, lasting: None, left_out: BTreeSet::new(), varies: BTreeSet::new() }
    }

    /// Makes the cluster of each run.
    pub fn cluster(mut self, cluster: impl Fn() -> SimulatedCluster + Send + Sync + 'static) -> Self {
        self.parts.cluster = Box::new(cluster);
        self
    }

    /// What happens in the cluster while the program runs. The scenario outlives the processes of the program.
    pub fn scenario<F>(mut self, scenario: impl Fn(It<S>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), Failed>> + Send + 'static,
    {
        self.parts.scenario = Box::new(move |it| -> Scenario { Box::pin(scenario(it)) });
        self
    }

    /// Asks this after each change that is stored.
    pub fn always(mut self, name: &str, holds: impl Fn(&It<S>) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.parts.always.push((name.to_owned(), Box::new(holds)));
        self
    }

    /// Requires this in the end, beside the comparison with the undisturbed run.
    pub fn in_the_end(mut self, holds: impl Fn(&It<S>) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.parts.in_the_end.push(Box::new(holds));
        self
    }

    /// Compares this with the undisturbed run, too: the contents of what is outside of the cluster.
    pub fn shows(mut self, shown: impl Fn(&It<S>) -> Value + Send + Sync + 'static) -> Self {
        self.parts.shown = Some(Box::new(shown));
        self
    }

    /// Ends each run so long after its scenario, for a program that writes all the time. Otherwise a run ends when nothing
    /// was written for a minute.
    pub fn lasting(mut self, time: Duration) -> Self {
        self.lasting = Some(time);
        self
    }

    /// Draws other plans. The same seed draws the same plans.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Leaves a kind of trouble out, by its name in a [`Plan`]: `paused`, `deleted`, `refused 409`, `killed stored`; `behind`
    /// is a restart against a server that lags.
    pub fn without(mut self, trouble: &str) -> Self {
        self.left_out.insert(trouble.to_owned());
        self
    }

    /// Does not compare this with the undisturbed run: a resource, an object of it, or a field, as a failure names it, such
    /// as `v1/secrets web/a data`. An empty text is all: then the requirements of the test alone decide.
    pub fn may_vary(mut self, path: &str) -> Self {
        self.varies.insert(path.to_owned());
        self
    }

    /// Explores by so many runs, on all cores.
    ///
    /// # Errors
    /// The first failure by the numbers of the runs, with the smallest plan that shows it.
    pub fn run(self, runs: usize) -> Result<Explored, Box<Failure>> {
        let seed = self.seed;
        let mut explored = Explored::new(seed);
        let mut learned = self.learn(&mut explored)?;
        let mut planned = learned.alone().into_iter();
        while explored.runs < runs {
            let count = BATCH.min(runs - explored.runs);
            let mut batch: Vec<Plan> = planned.by_ref().take(count * 3 / 4).collect();
            let drawn = explored.runs + batch.len()..explored.runs + count;
            batch.extend(drawn.map(|number| learned.troubles.draw(seed.wrapping_mul(0x9e37_79b9) ^ number as u64)));
            let outcomes = learned.run_all(&batch);
            for (plan, outcome) in batch.iter().zip(outcomes) {
                let is_new = explored.on_run(plan, &outcome);
                if let Some(fault) = learned.judge(&outcome) {
                    return Err(learned.failure(fault, plan.clone(), explored.runs, seed));
                }
                outcome.traces.passed.iter().for_each(|passed| _ = learned.troubles.learn(&passed.place));
                if is_new {
                    learned.troubles.keep(plan);
                }
            }
        }
        Ok(explored)
    }

    /// Runs one plan again.
    ///
    /// # Errors
    /// What is wrong under this plan, or which of its places the run does not reach.
    pub fn replay(self, plan: &Plan) -> Result<(), Box<Failure>> {
        let seed = self.seed;
        let learned = self.learn(&mut Explored::default())?;
        let outcome = run(&learned.parts, plan.clone(), learned.bounds);
        let unreached = plan.disturbances.iter().zip(&outcome.traces.fired).find(|(_, fired)| !**fired);
        let unreached = unreached.map(|(disturbance, _)| Fault::NotReached(disturbance.to_string()));
        match learned.judge(&outcome).or(unreached) {
            None => Ok(()),
            Some(fault) => Err(failed(fault, plan.clone(), outcome, 0, seed)),
        }
    }

    /// Runs the program undisturbed, and in benign ways.
    fn learn(self, explored: &mut Explored) -> Result<Learned<S>, Box<Failure>> {
        let Self { parts, seed, lasting, left_out, varies } = self;
        let parts = Arc::new(parts);
        let bounds = Bounds { requests: REQUESTS, lasting };
        let undisturbed = || run(&parts, Plan::default(), bounds);
        let (first, second) = (undisturbed(), undisturbed());
        explored.on_run(&Plan::default(), &first);
        explored.on_run(&Plan::default(), &second);
        let idle = first.idlest.as_ref().filter(|(_, count)| *count > IDLE);
        let fault = first.fault.clone().or_else(|| idle.map(|(at, _)| Fault::Idle(at.clone())));
        let fault = fault.or_else(|| difference(&first, &second));
        if let Some(fault) = fault {
            return Err(failed(fault, Plan::default(), first, explored.runs, seed));
        }
        let requests = u32::try_from(first.traces.passed.len()).unwrap_or(REQUESTS);
        let places: Vec<Place> = first.traces.passed.iter().map(|passed| passed.place.clone()).collect();
        let watched = places.iter().filter(|place| matches!(place.verb(), "LIST" | "WATCH"));
        let watched: BTreeSet<String> = watched.map(|place| place.resource().to_owned()).collect();
        let mut learned = Learned {
            parts,
            bounds: Bounds { requests: 10 * requests + 500, ..bounds },
            end: first.end,
            varies,
            idle: first.idlest.map_or(0, |(_, count)| count),
            failing: first.traces.failing,
            troubles: Troubles::new(watched, left_out),
            places,
        };
        learned.learn_benign(explored, seed)?;
        learned.learn_restored(&first.traces.created);
        Ok(learned)
    }
}

impl<S: Send + Sync + 'static> Learned<S> {
    /// One disturbance at each place. All places have their first trouble before one has its second.
    fn alone(&mut self) -> Vec<Plan> {
        let mut found = Vec::new();
        for place in core::mem::take(&mut self.places) {
            found.extend(self.troubles.learn(&place).into_iter().enumerate());
        }
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, one)| Plan { disturbances: vec![one] }).collect()
    }

    /// What differs if one kind is told later than others may vary.
    fn learn_benign(&mut self, explored: &mut Explored, seed: u64) -> Result<(), Box<Failure>> {
        for (resource, millis) in self.troubles.watched.clone().iter().flat_map(|it| [(it, 200), (it, 1500)]) {
            let first = self.places.iter().find(|place| place.verb() == "WATCH" && place.resource() == resource);
            let Some(place) = first.cloned() else { continue };
            let trouble = Trouble::Late(resource.clone(), millis);
            let plan = Plan { disturbances: vec![Disturbance { place, trouble }] };
            let outcome = run(&self.parts, plan.clone(), self.bounds);
            explored.on_run(&plan, &outcome);
            if let Some(fault) = outcome.fault.clone() {
                return Err(failed(fault, plan, outcome, explored.runs, seed));
            }
            self.failing.extend(outcome.traces.failing.iter().cloned());
            self.varies.extend(self.end.differences(&outcome.end).into_iter().map(|it| it.path));
        }
        Ok(())
    }

    /// Which objects the program makes again, once they are deleted.
    fn learn_restored(&mut self, created: &BTreeSet<String>) {
        for object in created {
            let Some((resource, key)) = object.split_once(' ') else { continue };
            let outcome = run_probed(&self.parts, self.bounds, resource, key);
            if outcome.fault.is_none() && self.differences(&outcome).is_empty() {
                self.troubles.restored.insert(object.clone());
            }
        }
    }

    fn differences(&self, outcome: &Outcome) -> Vec<String> {
        let varies = |path: &str| {
            let is_inside = |it: &String| it.is_empty() || path == it || path.starts_with(&format!("{it} "));
            self.varies.iter().any(is_inside)
        };
        let found = self.end.differences(&outcome.end).into_iter().filter(|it| !varies(&it.path));
        found.map(|it| it.text).collect()
    }

    /// What is wrong with a run.
    fn judge(&self, outcome: &Outcome) -> Option<Fault> {
        if let Some(fault) = &outcome.fault {
            return Some(fault.clone());
        }
        if let Some((at, _)) = outcome.idlest.as_ref().filter(|(_, count)| *count > IDLE.max(3 * self.idle)) {
            return Some(Fault::Idle(at.clone()));
        }
        let differences = self.differences(outcome);
        if !differences.is_empty() {
            return Some(Fault::End(differences));
        }
        outcome.traces.failing.iter().find(|key| !self.failing.contains(*key)).map(|key| Fault::Failing(key.clone()))
    }

    /// Runs plans on all cores. The outcomes have the order of the plans.
    fn run_all(&self, plans: &[Plan]) -> Vec<Outcome> {
        let outcomes: Vec<Mutex<Option<Outcome>>> = plans.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((plan, place)) = plans.get(index).zip(outcomes.get(index)) else { return };
                let outcome = run(&self.parts, plan.clone(), self.bounds);
                *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(plans.len());
        thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
        outcomes
            .into_iter()
            .filter_map(|outcome| outcome.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// The smallest plan that shows a fault of this kind.
    fn failure(&self, fault: Fault, plan: Plan, number: usize, seed: u64) -> Box<Failure> {
        let shows = |plan: &Plan| {
            let outcome = run(&self.parts, plan.clone(), self.bounds);
            let found = self.judge(&outcome).filter(|found| found.is_like(&fault));
            found.map(|found| (found, outcome))
        };
        let mut smallest = plan;
        while let Some(smaller) = smaller(&smallest).into_iter().find(|plan| shows(plan).is_some()) {
            smallest = smaller;
        }
        match shows(&smallest) {
            Some((fault, outcome)) => failed(fault, smallest, outcome, number, seed),
            None => {
                let why = format!("the plan {smallest} does not show again that {fault}");
                let outcome = run(&self.parts, smallest.clone(), self.bounds);
                failed(Fault::NotDeterministic(why), smallest, outcome, number, seed)
            }
        }
    }
}

/// Plans with one disturbance fewer, or with a simpler one.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let count = plan.disturbances.len();
    let mut plans: Vec<Plan> = (0..count).filter(|_| count > 1).map(|index| plan.without(index)).collect();
    for (index, disturbance) in plan.disturbances.iter().enumerate() {
        for trouble in disturbance.trouble.simpler() {
            let mut simpler = plan.clone();
            simpler.disturbances[index].trouble = trouble;
            plans.push(simpler);
        }
    }
    plans
}

fn failed(fault: Fault, plan: Plan, outcome: Outcome, run: usize, seed: u64) -> Box<Failure> {
    Box::new(Failure { fault, plan, story: outcome.traces.story, run, seed })
}

/// Where two undisturbed runs part.
fn difference(first: &Outcome, second: &Outcome) -> Option<Fault> {
    let (one, two) = (&first.traces.passed, &second.traces.passed);
    let parted = one.iter().zip(two).find(|(one, two)| one != two);
    let why = match parted {
        Some((one, two)) if one.place == two.place && one.at == two.at => format!("{} has another body", one.place),
        Some((one, two)) if one.place == two.place => format!("{} comes at another time", one.place),
        Some((one, two)) => format!("{} comes in the place of {}", two.place, one.place),
        None if one.len() != two.len() => format!("one has {} requests, the other one {}", one.len(), two.len()),
        None => first.end.differences(&second.end).into_iter().next()?.text,
    };
    Some(Fault::NotDeterministic(why))
}
