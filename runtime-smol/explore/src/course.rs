//! The course of one run: its time, what has happened in it, and what goes wrong in it now.

use crate::place::{Place, is_work};
use crate::plan::{Back, FORBIDDEN, LONG, Plan, SHORT, Trouble};
use core::task::Waker;
use core::time::Duration;
use listwatch::Clock;
use listwatch::testing::{Commit, LAG, Sent, SimulatedCluster};
use listwatch::time::Instant;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The annotation that another client leaves.
pub(crate) const TOUCHED: &str = "explore.listwatch.dev/touched";

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
/// Failures that are reported so long after all disturbances are those of the program.
const FORGIVEN: Duration = Duration::from_secs(15);

/// How the runs of an exploration are bounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The most requests of a run.
    pub(crate) requests: u32,
    /// How long a run lasts after its scenario, instead of until the writes have ended.
    pub(crate) lasting: Option<Duration>,
}

/// What has gone wrong by the program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An invariant does not hold after a write.
    Invariant(String, String),
    /// The end is not as the test requires it, or the scenario failed.
    Required(String),
    /// The end differs from that of the undisturbed run.
    End(Vec<String>),
    /// The program returned this error, or returned before its end.
    Ended(String),
    /// The program panicked.
    Panicked(String),
    /// The program writes without an end.
    Endless(String),
    /// The program repeats a write that changes nothing.
    Idle(String),
    /// A key fails, although nothing disturbs it any more.
    Failing(String),
    /// A plan that is replayed names a place that the run does not reach.
    NotReached(String),
    /// Two undisturbed runs differ: no promise holds.
    NotDeterministic(String),
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
    story: Vec<String>,
    killed: Option<Back>,
    is_down: bool,
    is_second: bool,
    stalls: Vec<(String, Instant)>,
    late: Vec<(String, Duration)>,
    forbidden: Vec<(String, Instant)>,
    /// What the server does not show, and until when.
    behind: Option<Behind>,
    /// The versions and the resources of all commits that are work.
    versions: Vec<(u64, String)>,
    commits: u64,
    /// What happens to the answers of these places, and how many commits there were at their requests.
    awaited: BTreeMap<String, (Option<Trouble>, u64)>,
    idle: BTreeMap<String, u32>,
    /// What the program has created.
    created: BTreeSet<String>,
    last_write: Instant,
    over: Instant,
    over_long: Instant,
    done: Option<Instant>,
    steps: u32,
    is_asked: bool,
    failing: BTreeSet<String>,
    timer: Option<Instant>,
    waker: Option<Waker>,
    fault: Option<Fault>,
    is_finished: bool,
}

/// What a server that lags shows.
#[derive(Debug)]
struct Behind {
    /// The newest version that it shows.
    version: u64,
    /// Of this resource; `None` for all.
    resource: Option<String>,
    until: Instant,
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
    pub(crate) story: Vec<String>,
    pub(crate) fired: Vec<bool>,
    pub(crate) created: BTreeSet<String>,
    pub(crate) failing: BTreeSet<String>,
}

impl Course {
    pub(crate) fn new(plan: Plan, cluster: SimulatedCluster, bounds: Bounds) -> Self {
        let fired = vec![false; plan.disturbances.len()];
        let state = State {
            clock: Clock::simulated(),
            base: Duration::ZERO,
            counts: HashMap::new(),
            passed: Vec::new(),
            fired,
            story: Vec::new(),
            killed: None,
            is_down: false,
            is_second: false,
            stalls: Vec::new(),
            late: Vec::new(),
            forbidden: Vec::new(),
            behind: None,
            versions: Vec::new(),
            commits: 0,
            awaited: BTreeMap::new(),
            idle: BTreeMap::new(),
            created: BTreeSet::new(),
            last_write: Instant::ZERO,
            over: Instant::ZERO,
            over_long: Instant::ZERO,
            done: None,
            steps: 0,
            is_asked: false,
            failing: BTreeSet::new(),
            timer: None,
            waker: None,
            fault: None,
            is_finished: false,
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
        let now = state.now();
        let (changes, resource) = match state.killed.take() {
            Some(Back::Behind(changes)) => (changes, None),
            Some(Back::BehindOf(changes, resource)) => (changes, Some(resource)),
            _ => return,
        };
        let is_of = |(_, it): &&(u64, String)| resource.as_ref().is_none_or(|resource| resource == it);
        // The version before the change, in which nothing else happens.
        let hidden = state.versions.iter().rev().filter(is_of).nth(changes.saturating_sub(1) as usize);
        // The fixture was there before the program.
        let fixture = state.versions.first().map_or(u64::MAX, |(version, _)| version - 1);
        let version = hidden.map_or(fixture, |(version, _)| version - 1);
        state.behind = Some(Behind { version, resource, until: now + SHORT });
        state.over = state.over.max(now + SHORT);
    }

    /// The time of the cluster, as one of the present clock.
    pub(crate) fn here(&self, at: Instant) -> Instant {
        let base = u64::try_from(self.lock().base.as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(at.as_nanos().saturating_sub(base))
    }

    /// Something happens here: which troubles meet it.
    pub(crate) fn arrive(&self, at: &str, body: u64) -> Arrival {
        let mut state = self.lock();
        let now = state.now();
        let nth = state.counts.entry(at.to_owned()).or_default();
        *nth += 1;
        let place = Place { at: at.to_owned(), nth: *nth };
        state.passed.push(Passed { at: now, place: place.clone(), body });
        if state.passed.len() > self.bounds.requests as usize {
            state.fail(Fault::Endless(format!("more than {} requests; the last is {place}", self.bounds.requests)));
        }
        let mut troubles = Vec::new();
        for (index, disturbance) in self.plan.disturbances.iter().enumerate() {
            if disturbance.place == place && !state.fired[index] && !(state.is_second && is_pause(&disturbance.trouble))
            {
                state.fired[index] = true;
                state.tell(&disturbance.trouble.told(&place));
                state.over = state.over.max(now);
                troubles.push(disturbance.trouble.clone());
            }
        }
        let is_forbidden = state.forbidden.iter().any(|(resource, until)| resource == place.resource() && now < *until);
        let commits = state.commits;
        state.awaited.insert(at.to_owned(), (None, commits));
        Arrival { place, troubles, is_forbidden }
    }

    /// This happens to the answer of a request.
    pub(crate) fn await_answer(&self, place: &Place, trouble: Trouble) {
        let mut state = self.lock();
        let commits = state.commits;
        state.awaited.insert(place.at.clone(), (Some(trouble), commits));
    }

    /// A request was answered: what happens to its answer.
    pub(crate) fn answer(&self, sent: &Sent<'_>, at: &str, status: u16) -> Option<Trouble> {
        let mut state = self.lock();
        // Another request of the name may have taken it: one of a second replica, or one that overtook this one.
        let (trouble, commits) = state.awaited.remove(at).unwrap_or((None, u64::MAX));
        let is_change = matches!(sent.method, "PATCH" | "PUT") && (200..300).contains(&status);
        if is_change && commits == state.commits && is_work(&sent.resource) {
            *state.idle.entry(at.to_owned()).or_default() += 1;
        }
        if sent.method == "POST" && status == 201 && is_work(&sent.resource) {
            state.created.insert(format!("{} {}", sent.resource, sent.key));
        }
        let now = state.now();
        let second = if state.is_second { "the second replica: " } else { "" };
        if sent.is_write() && is_work(&sent.resource) {
            state.story.push(format!("  {} {second}{at} {status}", time(now)));
        }
        trouble
    }

    /// A change was stored.
    pub(crate) fn on_commit(&self, commit: &Commit) {
        let mut state = self.lock();
        state.commits += 1;
        if is_work(&commit.resource) {
            state.versions.push((commit.version, commit.resource.clone()));
            state.last_write = state.now();
        }
    }

    /// A trouble that needs no process of its own.
    pub(crate) fn on_ambient(&self, place: &Place, trouble: &Trouble) {
        let now = self.now();
        match trouble {
            Trouble::Touched | Trouble::Deleted | Trouble::Recreated => self.meddle(place, trouble),
            Trouble::Cut => self.cluster.disconnect(),
            Trouble::Compacted => {
                self.cluster.compact();
                self.cluster.disconnect();
            }
            Trouble::Stalled(resource) => {
                let mut state = self.lock();
                state.stalls.push((resource.clone(), now + SHORT));
                state.over = state.over.max(now + SHORT);
            }
            Trouble::StalledLong(resource) => {
                let mut state = self.lock();
                state.stalls.push((resource.clone(), now + LONG));
                state.over_long = state.over_long.max(now + LONG);
            }
            Trouble::Late(resource, millis) => {
                self.lock().late.push((resource.clone(), Duration::from_millis(*millis)));
            }
            Trouble::Slow => self.hold(SHORT),
            Trouble::Forbidden => {
                let mut state = self.lock();
                state.forbidden.push((place.resource().to_owned(), now + FORBIDDEN));
                state.over = state.over.max(now + FORBIDDEN);
            }
            _ => {}
        }
    }

    fn hold(&self, time: Duration) {
        let mut state = self.lock();
        state.over = state.over.max(state.now() + time);
    }

    /// Another client writes.
    fn meddle(&self, place: &Place, trouble: &Trouble) {
        let (resource, key) = (place.resource(), self.object_of(place));
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

    /// The key of the object, without the subresource.
    fn object_of(&self, place: &Place) -> String {
        let kinds = self.cluster.kinds();
        let namespaced = kinds.iter().find(|kind| kind.name() == place.resource()).is_none_or(|kind| kind.namespaced);
        let parts: Vec<&str> = place.key().split('/').take(if namespaced { 2 } else { 1 }).collect();
        parts.join("/")
    }

    /// A process is killed.
    pub(crate) fn kill(&self, back: Back) {
        self.stop_time();
        let mut state = self.lock();
        state.is_down = back == Back::Later && state.done.is_none();
        state.killed = Some(back);
        state.wake();
    }

    /// The process that was killed is not to be back.
    pub(crate) fn forget_killed(&self) {
        let mut state = self.lock();
        (state.killed, state.is_down) = (None, false);
    }

    pub(crate) fn told_at(&self, now: Instant, resource: &str, changed: Instant) -> Instant {
        let state = self.lock();
        let stalls = state.stalls.iter().filter(|(stalled, _)| stalled == resource).map(|(_, until)| *until);
        let behind = state.behind.iter().filter(|behind| behind.is_of(resource)).map(|behind| behind.until);
        let late = state.late.iter().filter(|(late, _)| late == resource).map(|(_, late)| *late).max();
        let due = changed + late.unwrap_or(LAG);
        stalls.chain(behind).filter(|until| now < *until).fold(due, Instant::max)
    }

    pub(crate) fn version_shown(&self, resource: &str, current: u64) -> u64 {
        let state = self.lock();
        let now = state.now();
        let behind = state.behind.as_ref().filter(|behind| now < behind.until && behind.is_of(resource));
        behind.map_or(current, |behind| behind.version.min(current))
    }

    /// A step of the scenario is over if nothing was written since for a while: `Err` with the next time to look.
    pub(crate) fn settled(&self, since: Instant) -> Result<(), Instant> {
        let mut state = self.lock();
        let held = if state.is_down { since } else { state.over };
        let due = (since.max(state.last_write).max(held) + QUIET).min(since.max(held) + LONGEST_STEP);
        state.until(due)
    }

    pub(crate) fn slept(&self, due: Instant) -> Result<(), Instant> {
        self.lock().until(due)
    }

    /// The scenario is done.
    pub(crate) fn on_done(&self) {
        let mut state = self.lock();
        state.done = Some(state.now());
        state.is_down = false;
    }

    /// Whether the end can be judged.
    pub(crate) fn is_at_end(&self) -> bool {
        let mut state = self.lock();
        let Some(done) = state.done else { return false };
        let calm = done.max(state.over).max(state.over_long);
        let (due, last) = match self.bounds.lasting {
            Some(lasting) => (calm + lasting, calm + lasting),
            None => (calm.max(state.last_write) + END, calm + ENDLESS),
        };
        if state.until(due.min(last)).is_err() {
            return false;
        }
        if due > last {
            let story = state.story.last().cloned().unwrap_or_default();
            state.fail(Fault::Endless(format!(
                "it still writes after {} s; the last is {}",
                ENDLESS.as_secs(),
                story.trim()
            )));
        }
        state.is_finished = true;
        true
    }

    /// The next step of the scenario begins: which troubles meet it.
    pub(crate) fn on_step(&self) -> Arrival {
        {
            let mut state = self.lock();
            state.steps += 1;
            state.is_down = false;
            let (now, steps) = (state.now(), state.steps);
            state.story.push(format!("  {} step {steps} of the scenario", time(now)));
        }
        self.arrive("STEP", 0)
    }

    /// Whether there is no process until the scenario has made its next step.
    pub(crate) fn is_down(&self) -> bool {
        self.lock().is_down
    }

    /// A trouble is over now, such as the pause before a restart.
    pub(crate) fn on_trouble_over(&self) {
        self.hold(Duration::ZERO);
    }

    /// A second replica runs, or no more. Then the first one goes on with old caches, which is the end of a trouble.
    pub(crate) fn set_second(&self, is_second: bool) -> bool {
        let mut state = self.lock();
        state.over = state.over.max(state.now());
        core::mem::replace(&mut state.is_second, is_second)
    }

    /// The scenario asks for its next step.
    pub(crate) fn ask_step(&self) {
        self.lock().is_asked = true;
    }

    pub(crate) fn take_asked(&self) -> bool {
        core::mem::take(&mut self.lock().is_asked)
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
        let has_stepped = state.steps >= steps || state.done.is_some();
        let due = if has_stepped { (began.max(state.last_write) + SECOND_QUIET).min(most) } else { most };
        state.until(due).is_ok()
    }

    /// A line of the program for its operators.
    pub(crate) fn on_line(&self, line: &str) {
        let mut state = self.lock();
        if line.contains(": the reconcile panicked: ") || line.contains(" panicked over ") {
            state.fail(Fault::Panicked(line.to_owned()));
        }
        let now = state.now();
        let calm = state.done.map(|done| done.max(state.over).max(state.over_long) + FORGIVEN);
        let failing = line.find(": failed").map(|end| line[..end].to_owned());
        if let Some(key) = failing {
            if calm.is_some_and(|calm| now > calm) && !state.is_finished {
                state.failing.insert(key);
            }
            if state.story.len() < 400 {
                state.story.push(format!("  {} {line}", time(now)));
            }
        }
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
        self.lock().is_finished
    }

    /// Calls this waker when something of a process is over. Returns the one before.
    pub(crate) fn set_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        core::mem::replace(&mut self.lock().waker, waker)
    }

    /// The earliest time that somebody waits for since the last look.
    pub(crate) fn take_timer(&self) -> Option<Instant> {
        self.lock().timer.take()
    }

    /// The most frequent write that changed nothing.
    pub(crate) fn idlest(&self) -> Option<(String, u32)> {
        let state = self.lock();
        state.idle.iter().max_by_key(|(_, count)| **count).map(|(at, count)| (at.clone(), *count))
    }

    pub(crate) fn traces(&self) -> Traces {
        let state = self.lock();
        Traces {
            passed: state.passed.clone(),
            story: state.story.clone(),
            fired: state.fired.clone(),
            created: state.created.clone(),
            failing: state.failing.clone(),
        }
    }
}

impl Behind {
    fn is_of(&self, resource: &str) -> bool {
        self.resource.as_ref().is_none_or(|it| it == resource)
    }
}

impl State {
    fn now(&self) -> Instant {
        self.clock.now() + self.base
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
        self.story.push(format!("* {} {line}", time(now)));
    }

    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
        self.wake();
    }

    fn wake(&self) {
        self.waker.iter().for_each(Waker::wake_by_ref);
    }
}

/// No third replica comes.
fn is_pause(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Paused | Trouble::PausedLong)
}

/// A fingerprint of a text, alike in all runs.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn time(now: Instant) -> String {
    format!("{:8.3} s", now.saturating_since(Instant::ZERO).as_secs_f64())
}

/// Whether a value is an object with nothing in it.
pub(crate) fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}
