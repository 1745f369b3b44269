//! The exploration of a program: undisturbed runs first, then one disturbance at each place, then several that are drawn.

use crate::explored::Explored;
use crate::failure::Failure;
use crate::fault::Fault;
use crate::it::It;
use crate::junit;
use crate::kept;
use crate::learned::{Learned, Settings};
use crate::outside::Outside;
use crate::plan::Plan;
use crate::run::{Failed, Parts, Scenario};
use crate::shrunk::shrunk;
use crate::story::Story;
use crate::troubles::NAMES;
use core::fmt;
use core::time::Duration;
use listwatch::World;
use listwatch::testing::SimulatedCluster;
use listwatch_stand_ins::StandIns;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{env, thread};

/// So many runs are planned at a time. Their results are merged in the order of their numbers.
const BATCH: usize = 64;
/// The variable that has the seed.
const SEED: &str = "LISTWATCH_SEED";

/// Runs a program again and again in a simulated cluster, and disturbs it. See the [crate].
#[must_use = "an exploration does nothing until it runs"]
pub struct Exploration<S = ()> {
    parts: Parts<S>,
    settings: Settings,
}

impl<S> fmt::Debug for Exploration<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exploration").field("settings", &self.settings).finish_non_exhaustive()
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
            stand_ins: None,
            seed: 0,
        };
        let (without, may_vary) = (BTreeSet::new(), BTreeSet::new());
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self { parts, settings: Settings { seed: 1, threads, lasting: None, without, may_vary, plans: None } }
    }

    /// Makes the cluster of each run: a new one each time.
    pub fn cluster(mut self, cluster: impl Fn() -> SimulatedCluster + Send + Sync + 'static) -> Self {
        self.parts.cluster = Box::new(cluster);
        self
    }

    /// What happens in the cluster while the program runs. The scenario outlives the processes of the program.
    ///
    /// It is called for each run. A closure that owns what it captures is `move |it| { let name = name.clone(); async move {
    /// … } }`, because an `async move` closure that captures is no `Fn`.
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

    /// Lets stand-ins for Kubernetes' own controllers run in the cluster of each run. They are part of the cluster: nothing
    /// disturbs them, and they go on while the program is down. Their delays, and the addresses of pods, follow the seed and
    /// the plan. Another program in the cluster is such a stand-in, too ([`StandIns::controller`]).
    ///
    /// A pod or a ReplicaSet of theirs counts in the end, unless it [may vary](Self::may_vary): as when a trouble lets two
    /// templates of a Deployment become one rollout.
    ///
    /// ```
    /// use listwatch::prelude::*;
    /// use listwatch_explore::Exploration;
    /// use listwatch_stand_ins::{PodFate, StandIns};
    ///
    /// fn explored(program: fn(World) -> Result<(), RunError>) -> Exploration {
    ///     let stand_ins = |cluster: &_| StandIns::of(cluster).deployments().jobs().kubelet(|_pod| PodFate::Ready);
    ///     Exploration::of(program).stand_ins(stand_ins)
    /// }
    /// ```
    pub fn stand_ins(mut self, made: impl Fn(&SimulatedCluster) -> StandIns + Send + Sync + 'static) -> Self {
        self.parts.stand_ins = Some(Box::new(made));
        self
    }

    /// Ends each run so long after its scenario, for a program that writes all the time. Otherwise a run ends when nothing
    /// was written for a minute.
    pub fn lasting(mut self, time: Duration) -> Self {
        self.settings.lasting = Some(time);
        self
    }

    /// Draws other plans. The same seed draws the same plans; `LISTWATCH_SEED` in the environment has priority.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Runs on so many threads, instead of one for each core. What is found does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = threads.max(1);
        self
    }

    /// Leaves a kind of trouble out, by its name in a [`Plan`]: `paused`, `deleted`, `refused 409`, `killed stored`; `behind`
    /// is a restart against an API server that lags, and `older` is a new connection to one.
    pub fn without(mut self, trouble: &str) -> Self {
        self.settings.without.insert(trouble.to_owned());
        self
    }

    /// Does not compare this with the undisturbed run: a resource, an object of it, or a field, as a failure names it, such
    /// as `v1/secrets web/a data`. An empty text is all: then the requirements of the test alone decide.
    pub fn may_vary(mut self, path: &str) -> Self {
        self.settings.may_vary.insert(path.to_owned());
        self
    }

    /// Runs the plans of this file first, one a line, and adds the plan of each failure that is found. A plan whose place
    /// is not reached any more is told in [`Explored::never_reached`]. The file need not be there. In a test, a relative
    /// path begins at the package.
    pub fn plans(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.plans = Some(path.into());
        self
    }

    /// Explores by so many disturbed runs.
    ///
    /// If `LISTWATCH_JUNIT` names a folder, the result is also written there, as JUnit XML: a file for each exploration,
    /// with the name of its test. In a test, a relative path begins at the package.
    ///
    /// # Errors
    /// The first failure by the numbers of the runs, with the smallest plan that shows it. [`Fault::Setup`] if a name is
    /// that of no trouble, if no run has what [may vary](Self::may_vary), or if a file is not read or written.
    pub fn run(self, runs: usize) -> Result<Explored, Box<Failure>> {
        self.run_until(&Until::Runs(runs))
    }

    /// Explores for so long by the machine's clock, by at least 64 disturbed runs, and ends those that have begun by then. How
    /// many there are depends on the machine; what each of them does follows the seed. Otherwise as [`run`](Self::run).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_for(self, time: Duration) -> Result<Explored, Box<Failure>> {
        self.run_until(&Until::passed(time))
    }

    fn run_until(self, until: &Until) -> Result<Explored, Box<Failure>> {
        let (plans, seed) = (self.settings.plans.clone(), self.settings.seed);
        let mut explored = self.explore(until);
        if let (Some(path), Err(failure)) = (plans, &mut explored)
            && failure.run > 0
            && let Err(error) = kept::append(&path, &failure.plan, &failure.fault.to_string())
        {
            failure.story.push(format!("* the plan is not kept: {}: {error}", path.display()));
        }
        match junit::write(explored.as_ref().map_err(|failure| &**failure)) {
            Err(error) if explored.is_ok() => Err(setup(format!("{}: {error}", junit::FOLDER), seed)),
            _ => explored,
        }
    }

    fn explore(self, until: &Until) -> Result<Explored, Box<Failure>> {
        let mut explored = Explored::default();
        let mut learned = self.learn(&mut explored)?;
        let seed = learned.settings.seed;
        explored.seed = seed;
        run_kept(&learned, &mut explored)?;
        let mut planned = learned.alone().into_iter();
        while let count @ 1.. = until.left(explored.runs) {
            let mut batch: Vec<Plan> = planned.by_ref().take(count * 3 / 4).collect();
            let drawn = explored.runs + batch.len()..explored.runs + count;
            batch.extend(drawn.map(|number| learned.troubles.draw(seed.wrapping_mul(0x9e37_79b9) ^ number as u64)));
            let outcomes = learned.run_all(&batch);
            for (plan, outcome) in batch.iter().zip(outcomes) {
                let is_new = explored.on_run(plan, &outcome);
                if let Some(fault) = learned.judge(&outcome) {
                    return Err(shrunk(&learned, fault, plan.clone(), explored.runs));
                }
                learned.expected.look_for_left_out(&outcome.end);
                outcome.traces.passed.iter().for_each(|passed| _ = learned.troubles.learn(&passed.place));
                if is_new {
                    learned.troubles.keep(plan);
                }
            }
        }
        explored.untried = planned.len();
        match learned.expected.never_there().next() {
            None => Ok(explored),
            Some(path) => Err(setup(format!("no run has what may vary: {path:?}"), learned.settings.seed)),
        }
    }

    /// Runs one plan again.
    ///
    /// # Errors
    /// What is wrong under this plan, or which of its places the run does not reach.
    pub fn replay(self, plan: &Plan) -> Result<(), Box<Failure>> {
        let learned = self.learn(&mut Explored::default())?;
        let outcome = learned.run(plan);
        let unreached = plan.disturbances.iter().zip(&outcome.traces.fired).find(|(_, fired)| !**fired);
        let unreached = unreached.map(|(disturbance, _)| Fault::NotReached(disturbance.to_string()));
        match learned.judge(&outcome).or(unreached) {
            None => Ok(()),
            Some(fault) => Err(Failure::of(fault, plan.clone(), &outcome.traces.story, learned.settings.seed)),
        }
    }

    /// Records a run of one plan, whether it fails or not: a tape for each process of the program, in the order of their
    /// starts. The first one has this path, and the next ones have a number in it.
    ///
    /// [`Playback`](listwatch::file::Playback) plays a tape to the program, and so do `listwatch replay` and
    /// `listwatch serve`.
    ///
    /// # Errors
    /// [`Fault::Setup`] if a file cannot be created.
    pub fn tape(self, plan: &Plan, path: impl AsRef<Path>) -> Result<Vec<PathBuf>, Box<Failure>> {
        let learned = self.learn(&mut Explored::default())?;
        let (outcome, tapes) = learned.run_recorded(plan, path.as_ref());
        match outcome.fault {
            Some(fault @ Fault::Setup(_)) => {
                Err(Failure::of(fault, plan.clone(), &outcome.traces.story, learned.settings.seed))
            }
            _ => Ok(tapes),
        }
    }

    fn learn(mut self, explored: &mut Explored) -> Result<Learned<S>, Box<Failure>> {
        if let Ok(seed) = env::var(SEED) {
            let wrong = |_| setup(format!("{SEED} is no number: {seed:?}"), self.settings.seed);
            self.settings.seed = seed.parse().map_err(wrong)?;
        }
        if let Some(name) = self.settings.without.iter().find(|name| !NAMES.contains(&name.as_str())) {
            let why = format!("{name:?} is no trouble; there are {}", NAMES.join(", "));
            return Err(setup(why, self.settings.seed));
        }
        self.parts.seed = self.settings.seed;
        Learned::of(&Arc::new(self.parts), self.settings, None, explored)
    }
}

/// When an exploration ends that finds no fault.
enum Until {
    /// After so many runs.
    Runs(usize),
    /// After so long.
    Passed { began: Instant, time: Duration },
}

#[expect(clippy::disallowed_methods, reason = "its limit is one of real time")]
impl Until {
    fn passed(time: Duration) -> Self {
        Self::Passed { began: Instant::now(), time }
    }

    /// How many runs are planned next, after so many.
    fn left(&self, runs: usize) -> usize {
        match self {
            Self::Runs(most) => BATCH.min(most.saturating_sub(runs)),
            Self::Passed { began, time } if runs == 0 || began.elapsed() < *time => BATCH,
            Self::Passed { .. } => 0,
        }
    }
}

/// Runs the plans of the file.
fn run_kept<S: Send + Sync + 'static>(learned: &Learned<S>, explored: &mut Explored) -> Result<(), Box<Failure>> {
    let Settings { plans: Some(path), seed, .. } = &learned.settings else { return Ok(()) };
    let plans = kept::read(path).map_err(|why| setup(why, *seed))?;
    for (plan, outcome) in plans.iter().zip(learned.run_all(&plans)) {
        if let Some(fault) = learned.judge(&outcome) {
            return Err(Failure::of(fault, plan.clone(), &outcome.traces.story, *seed));
        }
        let reached = plan.disturbances.iter().zip(&outcome.traces.fired);
        explored.never_reached.extend(reached.filter(|(_, fired)| !**fired).map(|(it, _)| it.to_string()));
    }
    Ok(())
}

fn setup(why: String, seed: u64) -> Box<Failure> {
    Failure::of(Fault::Setup(why), Plan::default(), &Story::default(), seed)
}
