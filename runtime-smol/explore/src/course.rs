//! The course of one run: its time, what has happened in it, and what goes wrong in it now.

use crate::end::TOUCHED;
use crate::failing::{Failing, failed, is_panic};
use crate::fault::Fault;
use crate::leases::Leases;
use crate::ongoing::{Behind, Ongoing};
use crate::place::{Place, is_lease, is_work};
use crate::plan::{APART, Apart, Back, FORBIDDEN, LONG, Plan, SHORT, Trouble};
use crate::story::Story;
use crate::writes::Writes;
use core::panic::Location;
use core::task::Waker;
use core::time::Duration;
use listwatch::Clock;
use listwatch::testing::{Commit, Sent, SimulatedCluster};
use listwatch::time::Instant;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

const LEASES: &str = "coordination.k8s.io/v1/leases";

/// A step of a scenario is over when nothing was written for so long.
const QUIET: Duration = Duration::from_secs(2);
/// A step of a scenario is over after so long.
const LONGEST_STEP: Duration = Duration::from_secs(300);
/// The end is judged when nothing was written for so long.
const END: Duration = Duration::from_secs(60);
/// Writes that go on for so long have no end.
const ENDLESS: Duration = Duration::from_secs(300);
/// A second replica has this time at most, and so long without a write.
const SECOND: Duration = Duration::from_secs(40);
const SECOND_LONG: Duration = Duration::from_secs(120);
const SECOND_QUIET: Duration = Duration::from_secs(20);

/// How the runs of an exploration are bounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The most requests to write.
    pub(crate) writes: u32,
    /// The scenario ends after so many steps, instead of by itself.
    pub(crate) steps: Option<u32>,
    /// How long a run lasts after its scenario, instead of until the writes have ended.
    pub(crate) lasting: Option<Duration>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) plan: Plan,
    pub(crate) cluster: SimulatedCluster,
    pub(crate) bounds: Bounds,
    state: Mutex<State>,
}

/// A request or a call that has happened, or a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) at: Instant,
    pub(crate) place: Place,
    /// A fingerprint of the body.
    pub(crate) body: u64,
}

#[derive(Debug)]
struct State {
    clock: Clock,
    /// What had passed when the clock began.
    base: Duration,
    counts: HashMap<String, u32>,
    passed: Vec<Passed>,
    fired: Vec<bool>,
    story: Story,
    process: Process,
    ongoing: Ongoing,
    writes: Writes,
    leases: Leases,
    failing: Failing,
    /// A clock whose date is wrong, and until when.
    apart: Option<(Clock, Instant)>,
    stage: Stage,
    /// How many steps the scenario has made.
    steps: u32,
    /// Where it has made the last one.
    stepped_at: Option<&'static Location<'static>>,
    /// Where it asks for its next step.
    asked_at: Option<&'static Location<'static>>,
    /// Whether it goes on at this moment.
    is_scenario: bool,
    timer: Option<Instant>,
    waker: Option<Waker>,
    fault: Option<Fault>,
    /// Whether the scenario was given up.
    is_given_up: bool,
}

/// Which process of the program acts.
#[derive(Debug, PartialEq, Eq)]
enum Process {
    /// The first one, or the one that comes after it.
    First,
    /// A second replica, while the first stands still.
    Second,
    /// None: it was killed, and is back so.
    Killed(Back),
    /// None until the scenario has made its next step.
    Down,
}

/// How far a run has come.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// The scenario goes on.
    Scenario,
    /// The scenario is done since then.
    Done(Instant),
    /// The end can be judged.
    Over,
}

/// What meets the program at a place.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) place: Place,
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) is_forbidden: bool,
}

/// What is left of a run for its judge.
#[derive(Debug)]
pub(crate) struct Traces {
    pub(crate) passed: Vec<Passed>,
    pub(crate) story: Story,
    pub(crate) fired: Vec<bool>,
    /// How many steps the scenario has made.
    pub(crate) steps: u32,
    /// How many requests to write there were.
    pub(crate) writes: u32,
    /// The most frequent write that changed nothing.
    pub(crate) idlest: Option<(String, u32)>,
    pub(crate) created: BTreeSet<String>,
    pub(crate) failing: BTreeSet<String>,
    pub(crate) is_given_up: bool,
}

impl Course {
    pub(crate) fn new(plan: Plan, cluster: SimulatedCluster, bounds: Bounds) -> Self {
        let state = State {
            clock: Clock::simulated(),
            base: Duration::ZERO,
            counts: HashMap::new(),
            passed: Vec::new(),
            fired: vec![false; plan.disturbances.len()],
            story: Story::default(),
            process: Process::First,
            ongoing: Ongoing::default(),
            writes: Writes::default(),
            leases: Leases::default(),
            failing: Failing::default(),
            apart: None,
            stage: Stage::Scenario,
            steps: 0,
            stepped_at: None,
            asked_at: None,
            is_scenario: false,
            timer: None,
            waker: None,
            fault: None,
            is_given_up: false,
        };
        Self { plan, cluster, bounds, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of the cluster.
    pub(crate) fn now(&self) -> Instant {
        self.lock().now()
    }

    /// A process, or the time without one, has this clock from now on. Returns the clock before it.
    pub(crate) fn begin(&self, clock: Clock) -> Clock {
        let mut state = self.lock();
        let now = state.now();
        state.base = now.saturating_since(Instant::ZERO).saturating_sub(clock.now().saturating_since(Instant::ZERO));
        core::mem::replace(&mut state.clock, clock)
    }

    /// The time of the cluster stands still, whatever a process does that is gone.
    pub(crate) fn stop_time(&self) {
        let clock = Clock::simulated();
        clock.jump(self.now().saturating_since(Instant::ZERO));
        self.begin(clock.clone());
        _ = self.cluster.on_clock(move || clock.now());
    }

    /// The process that was killed is back.
    pub(crate) fn restart(&self) {
        let mut state = self.lock();
        state.leases.withdraw();
        state.apart = None;
        match core::mem::replace(&mut state.process, Process::First) {
            Process::Killed(Back::Behind(changes)) => state.reach_older(changes, None),
            Process::Killed(Back::BehindOf(changes, resource)) => state.reach_older(changes, Some(resource)),
            _ => {}
        }
    }

    /// The time of the cluster, as one of the present clock.
    pub(crate) fn here(&self, at: Instant) -> Instant {
        let base = u64::try_from(self.lock().base.as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(at.as_nanos().saturating_sub(base))
    }

    /// Something happens here, by a process or by the scenario alone: which troubles meet it.
    pub(crate) fn arrive(&self, at: &str, body: u64, has_process: bool) -> Arrival {
        let mut state = self.lock();
        let now = state.now();
        let nth = state.counts.entry(at.to_owned()).or_default();
        *nth += 1;
        let place = Place { at: at.to_owned(), nth: *nth };
        state.passed.push(Passed { at: now, place: place.clone(), body });
        if place.is_write() && is_work(place.resource()) {
            state.writes.requests += 1;
        }
        if state.writes.requests > self.bounds.writes {
            state.fail(Fault::Endless(format!("more than {} writes; the last is {place}", self.bounds.writes)));
        }
        let mut troubles = Vec::new();
        for (index, disturbance) in self.plan.disturbances.iter().enumerate() {
            let trouble = &disturbance.trouble;
            let is_third = state.process == Process::Second && trouble.is_pause();
            let meets = disturbance.place == place && trouble.can_meet(&place, has_process);
            if meets && !state.fired[index] && !is_third {
                state.fired[index] = true;
                if !trouble.meets_answer(&place) {
                    state.tell(&trouble.told(&place));
                }
                state.ongoing.hold(now);
                state.failing.forget();
                troubles.push(trouble.clone());
            }
        }
        let is_forbidden = state.ongoing.is_forbidden(place.resource(), now);
        state.writes.await_answer(at, None);
        state.story.forget_recent();
        Arrival { place, troubles, is_forbidden }
    }

    /// The program asks for a lease.
    pub(crate) fn on_candidate(&self, key: &str) {
        // The cluster tells its changes under no lock of ours.
        let known = if self.lock().leases.knows(key) { None } else { self.cluster.get(LEASES, key).ok() };
        let mut state = self.lock();
        let now = state.now();
        known.iter().for_each(|lease| state.leases.learn(key, lease));
        state.leases.apply(key, now);
    }

    /// This happens to the answer of a request.
    pub(crate) fn await_answer(&self, place: &Place, trouble: Trouble) {
        self.lock().writes.await_answer(&place.at, Some(trouble));
    }

    /// A request was answered: what happens to its answer.
    pub(crate) fn answer(&self, sent: &Sent<'_>, at: &str, status: u16) -> Option<Trouble> {
        let mut state = self.lock();
        let now = state.now();
        let is_calm = state.process == Process::First && now >= state.ongoing.calm();
        let trouble = state.writes.answer(sent, at, status, is_calm);
        if sent.is_write() && is_work(&sent.resource) {
            let who = if state.process == Process::Second { "the second replica: " } else { "" };
            state.story.answered(now, who, sent, status);
        }
        if sent.is_write() && is_lease(&sent.resource) && (200..300).contains(&status) {
            state.leases.on_answer(sent, now);
            state.wake();
        }
        if let Some(trouble) = &trouble {
            let place = Place { at: at.to_owned(), nth: state.counts.get(at).copied().unwrap_or_default() };
            state.tell(&trouble.told(&place));
        }
        trouble
    }

    /// A change was stored.
    pub(crate) fn on_commit(&self, commit: &Commit) {
        let mut state = self.lock();
        let now = state.now();
        state.writes.on_commit(commit, now);
        if is_work(&commit.resource) {
            let is_scenario = state.is_scenario;
            state.story.on_commit(commit, now, is_scenario);
        }
        if is_lease(&commit.resource) {
            state.leases.on_commit(commit, now);
            state.wake();
        }
    }

    /// A trouble that needs no process of its own.
    pub(crate) fn on_ambient(&self, place: &Place, trouble: &Trouble) {
        match trouble {
            Trouble::Touched | Trouble::Deleted | Trouble::Recreated => {
                self.meddle(place, trouble);
                return self.lock().story.forget_recent();
            }
            Trouble::Compacted => self.cluster.compact(),
            Trouble::Apart(apart) => return self.set_apart(*apart),
            // The cluster asks for the lag under its lock.
            Trouble::Older(changes) => self.lock().reach_older(*changes, None),
            _ => {}
        }
        if matches!(trouble, Trouble::Cut | Trouble::Compacted | Trouble::Older(_)) {
            return self.cluster.disconnect();
        }
        let mut state = self.lock();
        let now = state.now();
        match trouble {
            Trouble::Stalled(resource) => state.ongoing.stall(resource, now + SHORT),
            Trouble::StalledLong(resource) => state.ongoing.stall_long(resource, now + LONG),
            Trouble::Late(resource, millis) => state.ongoing.delay(resource, Duration::from_millis(*millis)),
            Trouble::Slow => state.ongoing.hold(now + SHORT),
            Trouble::Forbidden => state.ongoing.forbid(place.resource(), now + FORBIDDEN),
            _ => {}
        }
    }

    /// The date of the present process is wrong for a while.
    fn set_apart(&self, apart: Apart) {
        let date = self.cluster.date();
        let mut state = self.lock();
        let until = state.now() + LONG;
        state.ongoing.hold_long(until);
        state.clock.set_date(if apart == Apart::Ahead { date + APART } else { date - APART });
        state.apart = Some((state.clock.clone(), until));
    }

    /// Sets a date right that was wrong for long enough.
    pub(crate) fn set_right(&self) {
        let mut state = self.lock();
        let Some((clock, until)) = state.apart.clone() else { return };
        if state.until(until).is_ok() {
            state.apart = None;
            state.tell("the date of the program is right again");
            drop(state);
            clock.set_date(self.cluster.date());
        }
    }

    /// Another client writes.
    fn meddle(&self, place: &Place, trouble: &Trouble) {
        let (resource, key) = (place.resource(), place.object(&self.cluster_wide()));
        let Ok(mut object) = self.cluster.get(resource, &key) else { return };
        if *trouble == Trouble::Touched {
            let touched = json!({ "metadata": { "annotations": { TOUCHED: place.nth.to_string() } } });
            _ = self.cluster.patch(resource, &key, touched);
            return;
        }
        _ = self.cluster.delete(resource, &key);
        if *trouble == Trouble::Recreated {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                let server = ["uid", "resourceVersion", "creationTimestamp", "generation", "deletionTimestamp"];
                server.into_iter().for_each(|field| _ = metadata.remove(field));
            }
            object.as_object_mut().into_iter().for_each(|object| _ = object.remove("status"));
            _ = self.cluster.create(object);
        }
    }

    /// The resources whose objects have no namespace.
    pub(crate) fn cluster_wide(&self) -> BTreeSet<String> {
        self.cluster.kinds().iter().filter(|kind| !kind.namespaced).map(|kind| kind.name()).collect()
    }

    /// A process is killed.
    pub(crate) fn kill(&self, back: Back) {
        self.stop_time();
        let mut state = self.lock();
        let is_down = back == Back::Later && state.stage == Stage::Scenario;
        state.process = if is_down { Process::Down } else { Process::Killed(back) };
        state.leases.withdraw();
        state.wake();
    }

    pub(crate) fn told_at(&self, now: Instant, resource: &str, changed: Instant) -> Instant {
        self.lock().ongoing.told_at(now, resource, changed)
    }

    pub(crate) fn cached_at(&self, now: Instant, resource: &str, version: u64, changed: Instant) -> Instant {
        self.lock().ongoing.cached_at(now, resource, version, changed)
    }

    /// A step of the scenario is over if nothing was written since for a while, and no candidate waits for a lease that it
    /// will have: `Err` with the next time to look.
    pub(crate) fn settled(&self, since: Instant) -> Result<(), Instant> {
        let mut state = self.lock();
        let held = if state.process == Process::Down { since } else { state.ongoing.over() };
        let begun = since.max(held).max(state.leases.taken());
        let due = (begun.max(state.writes.last) + QUIET).min(begun + LONGEST_STEP);
        let awaited = state.leases.awaited(state.now());
        state.until(awaited.map_or(due, |awaited| awaited.max(due)))
    }

    pub(crate) fn slept(&self, due: Instant) -> Result<(), Instant> {
        self.lock().until(due)
    }

    /// The scenario is done.
    pub(crate) fn on_done(&self) {
        let mut state = self.lock();
        state.stage = Stage::Done(state.now());
        state.come_up();
    }

    /// The scenario failed because an object was gone or changed. True if it is given up without a fault, because something
    /// in the plan may have done that.
    pub(crate) fn give_up(&self, why: &str) -> bool {
        let mut state = self.lock();
        let fired = self.plan.disturbances.iter().zip(&state.fired).filter(|(_, fired)| **fired);
        if fired.map(|(one, _)| &one.trouble).all(|trouble| !trouble.may_take_an_object()) {
            return false;
        }
        state.tell(&format!("the scenario is given up: {why}"));
        state.is_given_up = true;
        true
    }

    /// Whether the scenario was given up.
    pub(crate) fn is_given_up(&self) -> bool {
        self.lock().is_given_up
    }

    /// Whether the end can be judged.
    pub(crate) fn is_at_end(&self) -> bool {
        let mut state = self.lock();
        let Some(calm) = state.calm() else { return state.stage == Stage::Over };
        let begun = calm.max(state.leases.taken());
        let (due, last, awaited) = match self.bounds.lasting {
            Some(lasting) => (calm + lasting, calm + lasting, None),
            None => {
                let last = begun + ENDLESS;
                let attempted = state.failing.attempted().map_or(begun, |attempt| (attempt + END).min(last));
                let due = (begun.max(state.writes.last) + END).max(attempted);
                (due, last, state.leases.awaited(state.now()))
            }
        };
        let until = if state.failing.is_undecided() { last } else { due.min(last) };
        if state.until(awaited.map_or(until, |awaited| awaited.max(until))).is_err() {
            return false;
        }
        // A run that goes on for a key alone may write late.
        if due > last && !state.failing.is_undecided() {
            let seconds = ENDLESS.as_secs();
            let why = format!("it still writes after {seconds} s; the last change is one of {}", state.writes.latest());
            state.fail(Fault::Endless(why));
        }
        state.stage = Stage::Over;
        true
    }

    /// The next step of the scenario begins: which troubles meet it. Without a process, none does that needs one.
    pub(crate) fn on_step(&self, has_process: bool) -> Arrival {
        {
            let mut state = self.lock();
            state.steps += 1;
            state.come_up();
            let (now, steps) = (state.now(), state.steps);
            state.story.plain(now, format!("step {steps} of the scenario"));
        }
        self.arrive("STEP", 0, has_process)
    }

    /// The next step begins without a process. What lasts meets the next one.
    pub(crate) fn step_alone(&self) {
        let arrival = self.on_step(false);
        arrival.troubles.iter().for_each(|trouble| self.on_ambient(&arrival.place, trouble));
    }

    /// Whether the scenario has made all the steps of this run.
    pub(crate) fn has_all_steps(&self) -> bool {
        self.bounds.steps.is_some_and(|steps| self.lock().steps >= steps)
    }

    /// Whether there is no process until the scenario has made its next step.
    pub(crate) fn is_down(&self) -> bool {
        self.lock().process == Process::Down
    }

    /// A trouble is over now, such as the pause before a restart.
    pub(crate) fn on_trouble_over(&self) {
        let mut state = self.lock();
        let now = state.now();
        state.ongoing.hold(now);
    }

    /// A second replica runs.
    pub(crate) fn begin_second(&self) {
        let mut state = self.lock();
        let now = state.now();
        state.ongoing.hold(now);
        state.leases.begin_second();
        state.process = Process::Second;
    }

    /// The second replica is gone. The first one goes on with old caches, which is the end of a trouble.
    pub(crate) fn end_second(&self) {
        let mut state = self.lock();
        let now = state.now();
        state.ongoing.hold(now);
        state.process = Process::First;
        let waited = if state.leases.end_second(now) { ", which has waited for its lease" } else { "" };
        state.tell(&format!("the first replica goes on, and the second is gone{waited}"));
    }

    /// The scenario goes on now, or no more: what changes meanwhile is its own.
    pub(crate) fn set_scenario(&self, is_scenario: bool) {
        self.lock().is_scenario = is_scenario;
    }

    /// The scenario asks for its next step, at this place of the test.
    pub(crate) fn ask_step(&self, at: &'static Location<'static>) {
        self.lock().asked_at = Some(at);
    }

    pub(crate) fn take_asked(&self) -> bool {
        let mut state = self.lock();
        let asked = state.asked_at.take();
        state.stepped_at = asked.or(state.stepped_at);
        asked.is_some()
    }

    /// The scenario has failed.
    pub(crate) fn fail_scenario(&self, why: &str) {
        let mut state = self.lock();
        let at = match state.stepped_at {
            None => "before its first step".to_owned(),
            Some(at) => format!("after its step {}, at {}:{}", state.steps, at.file(), at.line()),
        };
        state.fail(Fault::Scenario(format!("{why} ({at})")));
    }

    /// The clock of the present process.
    pub(crate) fn clock(&self) -> Clock {
        self.lock().clock.clone()
    }

    /// How many steps the scenario has made.
    pub(crate) fn steps(&self) -> u32 {
        self.lock().steps
    }

    /// Whether a second replica has settled that began then, by so many steps of the scenario.
    pub(crate) fn is_second_done(&self, began: Instant, steps: u32) -> bool {
        let mut state = self.lock();
        let most = began + if steps > 0 { SECOND_LONG } else { SECOND };
        let has_stepped = state.steps >= steps || state.stage != Stage::Scenario;
        let due = if has_stepped { (began.max(state.writes.last) + SECOND_QUIET).min(most) } else { most };
        state.until(due).is_ok()
    }

    /// A line of the program for its operators.
    pub(crate) fn on_line(&self, line: &str) {
        let mut state = self.lock();
        let now = state.now();
        if is_panic(line) {
            state.fail(Fault::Panicked(line.to_owned()));
        }
        if state.stage == Stage::Over {
            return state.failing.on_end(line);
        }
        let Some(key) = failed(line) else { return };
        state.failing.await_attempt(now, line);
        if state.calm().is_some_and(|calm| now > calm) {
            state.failing.on_failure(key, line);
        }
        state.story.failed(now, line);
    }

    pub(crate) fn note(&self, line: &str) {
        let mut state = self.lock();
        state.tell(line);
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.lock().fail(fault);
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.lock().fault.clone()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.lock().stage == Stage::Over
    }

    /// Calls this waker when something of a process is over. Returns the one before.
    pub(crate) fn set_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        core::mem::replace(&mut self.lock().waker, waker)
    }

    /// The earliest time that somebody waits for since the last look.
    pub(crate) fn take_timer(&self) -> Option<Instant> {
        self.lock().timer.take()
    }

    /// Takes them at the end of the run.
    pub(crate) fn traces(&self) -> Traces {
        let mut state = self.lock();
        Traces {
            passed: core::mem::take(&mut state.passed),
            story: core::mem::take(&mut state.story),
            fired: core::mem::take(&mut state.fired),
            steps: state.steps,
            writes: state.writes.requests,
            idlest: state.writes.idlest(),
            created: core::mem::take(&mut state.writes.created),
            failing: state.failing.for_ever().clone(),
            is_given_up: state.is_given_up,
        }
    }
}

impl State {
    fn now(&self) -> Instant {
        self.clock.now() + self.base
    }

    /// The program reaches an API server that lacks the last changes for a while.
    fn reach_older(&mut self, changes: u32, resource: Option<String>) {
        let version = self.writes.version_before(changes, resource.as_deref());
        let until = self.now() + SHORT;
        self.ongoing.lag(Behind { version, resource, until });
    }

    /// When nothing goes wrong any more, once the scenario is done.
    fn calm(&self) -> Option<Instant> {
        let Stage::Done(done) = self.stage else { return None };
        Some(done.max(self.ongoing.calm()))
    }

    /// A process that waits for a step is back.
    fn come_up(&mut self) {
        if self.process == Process::Down {
            self.process = Process::Killed(Back::AtOnce);
        }
    }

    fn until(&mut self, due: Instant) -> Result<(), Instant> {
        if self.now() >= due {
            return Ok(());
        }
        self.timer = Some(self.timer.map_or(due, |timer| timer.min(due)));
        Err(due)
    }

    fn tell(&mut self, line: &str) {
        let now = self.now();
        self.story.trouble(now, line);
    }

    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
        self.wake();
    }

    fn wake(&self) {
        self.waker.iter().for_each(Waker::wake_by_ref);
    }
}
