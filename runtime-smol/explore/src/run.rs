//! One run: the lives of the program, one after the other, on one cluster.

use crate::beside::{Beside, Make};
use crate::course::{Bounds, Course, Traces};
use crate::end::End;
use crate::fault::Fault;
use crate::it::It;
use crate::outside::{NoAnswer, Outside};
use crate::plan::Plan;
use crate::wire::{Wire, Wired};
use core::any::Any;
use core::error::Error;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use listwatch::api::ApiError;
use listwatch::controller::RunError;
use listwatch::file::Tape;
use listwatch::informers::{StreamsNotSynced, WaitError};
use listwatch::testing::SimulatedCluster;
use listwatch::time::Instant;
use listwatch::{Clock, Executor, World};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A program that ends by itself restarts so much later.
const BACKOFF: Duration = Duration::from_secs(5);
/// The cluster of a run is none that a process has used.
const NOT_NEW: &str = "the cluster of a run is not new: `cluster` makes one for each run, and no network for it";
/// So often a program may end by itself while it is disturbed.
const RESTARTS: u32 = 20;

pub(crate) type Failed = Box<dyn Error>;
pub(crate) type Scenario = Pin<Box<dyn Future<Output = Result<(), Failed>> + Send>>;
type Program<S> = Box<dyn Fn(World, &Outside<S>) -> Result<(), Failed> + Send + Sync>;
type Predicate<S> = Box<dyn Fn(&It<S>) -> Result<(), String> + Send + Sync>;
type Shown<S> = Box<dyn Fn(&It<S>) -> Value + Send + Sync>;

/// The program, what it runs on, and what is required of it.
pub(crate) struct Parts<S> {
    pub(crate) program: Program<S>,
    pub(crate) outside: Box<dyn Fn() -> S + Send + Sync>,
    pub(crate) cluster: Box<dyn Fn() -> SimulatedCluster + Send + Sync>,
    pub(crate) scenario: Box<dyn Fn(It<S>) -> Scenario + Send + Sync>,
    pub(crate) always: Vec<(String, Predicate<S>)>,
    pub(crate) in_the_end: Vec<Predicate<S>>,
    pub(crate) shown: Option<Shown<S>>,
    pub(crate) stand_ins: Option<Make>,
    /// That of the exploration.
    pub(crate) seed: u64,
}

/// What became of a run.
pub(crate) struct Outcome {
    pub(crate) traces: Traces,
    pub(crate) fault: Option<Fault>,
    pub(crate) end: End,
    pub(crate) lasted: Instant,
}

/// Whose life it is.
enum Life {
    /// That of the program.
    First,
    /// That of a second replica, which ends when so many steps of the scenario were made.
    Second { began: Instant, steps: u32 },
    /// Nobody's: the program is down until the scenario has made its next step.
    Down,
    /// Nobody's: the program has ended by itself, and starts again at this time.
    BackOff(Instant),
}

struct Run<S> {
    parts: Arc<Parts<S>>,
    it: It<S>,
    scenario: Mutex<Option<Scenario>>,
    tapes: Option<Tapes>,
    beside: Beside,
}

/// The tapes of the processes of a run.
#[derive(Debug)]
struct Tapes {
    path: PathBuf,
    made: Mutex<Vec<PathBuf>>,
}

/// Runs the program under a plan.
pub(crate) fn run<S: Send + Sync + 'static>(parts: &Arc<Parts<S>>, plan: Plan, bounds: Bounds) -> Outcome {
    run_with(parts, plan, bounds, None, |it| (parts.scenario)(it)).0
}

/// Runs the program under a plan, and records each of its processes. Returns the tapes, too.
pub(crate) fn run_recorded<S: Send + Sync + 'static>(
    parts: &Arc<Parts<S>>,
    plan: Plan,
    bounds: Bounds,
    path: &Path,
) -> (Outcome, Vec<PathBuf>) {
    run_with(parts, plan, bounds, Some(path.to_owned()), |it| (parts.scenario)(it))
}

/// Runs the program undisturbed, and deletes an object at the end of its scenario.
pub(crate) fn run_probed<S: Send + Sync + 'static>(
    parts: &Arc<Parts<S>>,
    bounds: Bounds,
    resource: &str,
    key: &str,
) -> Outcome {
    let (resource, key) = (resource.to_owned(), key.to_owned());
    let (outcome, _) = run_with(parts, Plan::default(), bounds, None, |it| {
        let scenario = (parts.scenario)(it.clone());
        Box::pin(async move {
            scenario.await?;
            it.settled().await;
            Ok(it.delete(&resource, &key)?)
        })
    });
    outcome
}

fn run_with<S: Send + Sync + 'static>(
    parts: &Arc<Parts<S>>,
    plan: Plan,
    bounds: Bounds,
    tapes: Option<PathBuf>,
    scenario: impl FnOnce(It<S>) -> Scenario,
) -> (Outcome, Vec<PathBuf>) {
    let course = Arc::new(Course::new(plan, (parts.cluster)(), bounds));
    let it = It { course: Arc::clone(&course), outside: Outside::new((parts.outside)()) };
    if course.cluster.processes() > 0 {
        course.fail(Fault::Setup(NOT_NEW.to_owned()));
    }
    let scenario = Mutex::new(Some(scenario(it.clone())));
    let tapes = tapes.map(|path| Tapes { path, made: Mutex::default() });
    let beside = Beside::new(parts.stand_ins.as_ref(), &course, parts.seed);
    let run = Arc::new(Run { parts: Arc::clone(parts), it, scenario, tapes, beside });
    let observed = Arc::downgrade(&run);
    course.cluster.on_commit(move |commit| {
        if let Some(run) = observed.upgrade() {
            run.it.course.on_commit(commit);
            run.check();
        }
    });
    run.live();
    // The scenario has a clone of the run's cluster.
    drop(run.scenario.lock().unwrap_or_else(PoisonError::into_inner).take());
    let fault = course.fault().or_else(|| run.judged());
    let shown = parts.shown.as_ref().filter(|_| fault.is_none()).map(|shown| shown(&run.it));
    let end = End::of(&course.cluster, shown);
    let outcome = Outcome { fault, end, lasted: course.now(), traces: course.traces() };
    (outcome, run.tapes.iter().flat_map(Tapes::made).collect())
}

impl<S: Send + Sync + 'static> Run<S> {
    fn course(&self) -> &Arc<Course> {
        &self.it.course
    }

    /// Lives until the end can be judged, or something is wrong.
    fn live(self: &Arc<Self>) {
        let mut restarts = 0;
        while self.course().fault().is_none() && !self.course().is_finished() {
            self.course().restart();
            let (wire, ended) = self.life(Life::First);
            let was_killed = wire.is_gone();
            wire.cut();
            self.course().stop_time();
            if self.course().fault().is_some() {
                return;
            }
            match ended {
                _ if was_killed => {}
                Err(fault) => return self.course().fail(fault),
                Ok(Err(error)) => {
                    restarts += 1;
                    if !is_passing(&error) || restarts > RESTARTS {
                        return self.course().fail(Fault::Ended(error.to_string()));
                    }
                    let why = error.to_string();
                    let why = why.lines().next().unwrap_or_default();
                    self.course().note(&format!("the program ends ({why}), and restarts 5 s later"));
                    self.without_process(&Life::BackOff(self.course().now() + BACKOFF));
                    self.course().on_trouble_over();
                }
                Ok(Ok(())) if !self.course().is_finished() => {
                    return self.course().fail(Fault::Ended("it returned before its world had ended".to_owned()));
                }
                Ok(Ok(())) => {}
            }
            if self.course().is_down() {
                self.without_process(&Life::Down);
            }
        }
    }

    /// One life of the program.
    fn life(self: &Arc<Self>, life: Life) -> (Arc<Wire>, Result<Result<(), Failed>, Fault>) {
        let run = Arc::downgrade(self);
        let pause = move |goes_on: bool| run.upgrade().into_iter().for_each(|run| run.pause(goes_on));
        let wire = Arc::new(Wire::new(Arc::clone(self.course()), Box::new(pause)));
        let world = self.recorded(World::from(self.course().cluster.through(Wired(Arc::clone(&wire)))));
        let clock = world.clock().clone();
        self.course().begin(clock.clone());
        let (run, driven) = (Arc::clone(self), Arc::clone(&wire));
        let world = world.until(async move { run.drive(&life, Some(&driven), &clock).await });
        let (course, living) = (Arc::clone(self.course()), Arc::clone(&wire));
        let world = world.on_report_line(move |line| {
            if !living.is_gone() {
                course.on_line(line);
            }
        });
        let outside = self.it.outside.of(&wire);
        let ended = catch_unwind(AssertUnwindSafe(|| (self.parts.program)(world, &outside)));
        (wire, ended.map_err(|panic| Fault::Panicked(text_of(&*panic))))
    }

    /// A world on a tape, if the run has tapes.
    fn recorded(&self, world: World) -> World {
        let Some(tapes) = &self.tapes else { return world };
        // Nothing in a simulated cluster is secret, and the tape plays any program.
        match world.clone().recorded_with_secrets_to(&tapes.path) {
            Ok(recorded) => {
                tapes.add(recorded.tape().map(Tape::path));
                recorded
            }
            Err(error) => {
                self.course().fail(Fault::Setup(error.to_string()));
                world
            }
        }
    }

    /// No process lives. The scenario goes on, unless the program only pauses before its restart.
    fn without_process(&self, life: &Life) {
        let clock = Clock::simulated_at(self.course().cluster.date());
        self.course().begin(clock.clone());
        let time = clock.clone();
        _ = self.course().cluster.on_clock(move || time.now());
        listwatch::run(&clock, &Executor::new(), self.drive(life, None, &clock));
    }

    /// A second replica lives, while the first stands still.
    fn pause(self: &Arc<Self>, goes_on: bool) {
        let course = self.course();
        course.begin_second();
        let (before, waker) = (course.now(), course.set_waker(None));
        let first = course.clock();
        let steps = if goes_on { course.steps() + 1 } else { 0 };
        let (wire, ended) = self.life(Life::Second { began: before, steps });
        wire.cut();
        let elapsed = course.now().saturating_since(before);
        first.jump(elapsed);
        course.begin(first.clone());
        _ = course.cluster.on_clock(move || first.now());
        course.set_waker(waker);
        course.end_second();
        if let Err(fault) = ended {
            course.fail(fault);
        }
    }

    /// Goes on with the scenario until the life is over.
    async fn drive(&self, life: &Life, wire: Option<&Arc<Wire>>, clock: &Clock) {
        let (mut sleep, mut beside) = (None, self.beside.begin(clock));
        poll_fn(|cx| {
            self.course().set_waker(Some(cx.waker().clone()));
            if !wire.is_some_and(|wire| wire.is_gone())
                && let Err(error) = beside.poll(cx)
            {
                self.course().fail(Fault::Setup(format!("a stand-in ended: {error}")));
            }
            loop {
                if wire.is_some_and(|wire| wire.is_gone()) || self.course().fault().is_some() {
                    return Poll::Ready(());
                }
                let is_quiet = matches!(life, Life::Second { steps: 0, .. } | Life::BackOff(_));
                let has_stepped = !is_quiet && self.go_on(wire, cx);
                self.course().set_right();
                if self.is_over(life) {
                    return Poll::Ready(());
                }
                let due = self.course().take_timer();
                if !has_stepped && self.is_asleep(clock, due, &mut sleep, cx) {
                    return Poll::Pending;
                }
            }
        })
        .await;
    }

    fn is_over(&self, life: &Life) -> bool {
        match life {
            Life::First => self.course().is_at_end(),
            Life::Second { began, steps } => self.course().is_second_done(*began, *steps),
            Life::Down => !self.course().is_down(),
            Life::BackOff(until) => self.course().slept(*until).is_ok(),
        }
    }

    /// Polls the scenario, and makes its next step if it asks for one. True if it did.
    fn go_on(&self, wire: Option<&Arc<Wire>>, cx: &mut Context<'_>) -> bool {
        let taken = self.scenario.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut scenario) = taken else { return false };
        self.course().set_scenario(true);
        let polled = catch_unwind(AssertUnwindSafe(|| scenario.as_mut().poll(cx)));
        self.course().set_scenario(false);
        match polled {
            Ok(Poll::Pending) => *self.scenario.lock().unwrap_or_else(PoisonError::into_inner) = Some(scenario),
            Ok(Poll::Ready(Ok(()))) => self.course().on_done(),
            Ok(Poll::Ready(Err(error))) if is_lost(&error) && self.course().give_up(&error.to_string()) => {
                self.course().on_done();
            }
            Ok(Poll::Ready(Err(error))) => self.course().fail_scenario(&error.to_string()),
            Err(panic) => self.course().fail_scenario(&format!("it panicked: {}", text_of(&*panic))),
        }
        if !self.course().take_asked() {
            return false;
        }
        if self.course().has_all_steps() {
            drop(self.scenario.lock().unwrap_or_else(PoisonError::into_inner).take());
            self.course().on_done();
            return false;
        }
        match wire {
            Some(wire) => wire.on_step(),
            None => self.course().step_alone(),
        }
        true
    }

    /// Waits up to this time. False if it has come.
    fn is_asleep(
        &self,
        clock: &Clock,
        due: Option<Instant>,
        sleep: &mut Option<Pin<Box<listwatch::clock::Sleep>>>,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(due) = due else {
            *sleep = None;
            return true;
        };
        let mut armed = Box::pin(clock.sleep_until(self.course().here(due)));
        let is_asleep = armed.as_mut().poll(cx).is_pending();
        *sleep = is_asleep.then_some(armed);
        is_asleep
    }

    /// Asks the invariants.
    fn check(&self) {
        for (name, always) in &self.parts.always {
            if let Err(why) = asked(|| always(&self.it)) {
                self.course().fail(Fault::Invariant(name.clone(), why));
            }
        }
    }

    /// Asks what is required in the end.
    fn judged(&self) -> Option<Fault> {
        // A request is noted after its change.
        self.check();
        if let Some(fault) = self.course().fault() {
            return Some(fault);
        }
        if self.course().is_given_up() {
            return None;
        }
        let wrong = self.parts.in_the_end.iter().find_map(|required| asked(|| required(&self.it)).err());
        wrong.map(Fault::Required)
    }
}

impl Tapes {
    fn add(&self, made: Option<&Path>) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).extend(made.map(Path::to_owned));
    }

    fn made(&self) -> Vec<PathBuf> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether a step failed because its object was gone or changed.
fn is_lost(error: &Failed) -> bool {
    error.downcast_ref::<ApiError>().is_some_and(|error| error.is_not_found() || error.is_conflict())
}

/// Whether a program may end so, and starts again.
fn is_passing(error: &Failed) -> bool {
    let own: &(dyn Error + 'static) = &**error;
    let mut sources = core::iter::successors(Some(own), |error| Error::source(*error)).take(64);
    sources.any(|error| {
        let ended = error.downcast_ref::<RunError>();
        let is_over = matches!(ended, Some(RunError::LeaderElectionLost { .. } | RunError::NotSynced { .. }));
        let is_wait = error.is::<WaitError>() || error.is::<StreamsNotSynced>();
        is_over || is_wait || error.is::<ApiError>() || error.is::<NoAnswer>()
    })
}

/// What a requirement says. A panic is a failure of it.
fn asked(ask: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| Err(format!("it panicked: {}", text_of(&*panic))))
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
