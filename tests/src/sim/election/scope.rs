//! Two candidates, one lease, and each short run of what can happen to them.

use super::broken;
use super::candidate::{Clock, SECOND, Time};
use crate::sim::store::Store;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, CallAction, Method};
use listwatch_core::election::{ElectionConfig, ElectionEvent, LeaderElector};
use listwatch_core::request::RequestId;
use listwatch_core::time::WallTime;
use serde_json::Value;
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

/// What can happen next. A number is a candidate's.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Time passes until a candidate has a timeout.
    Wait,
    /// The server answers the open request.
    Answer(usize),
    /// The server does what the open request asks, and does not answer.
    Hang(usize),
    /// The open request gets lost, and the candidate hears of it.
    Lose(usize),
    /// The server gets a write that the candidate has given up.
    Late(usize),
    /// The program asks the candidate to stop.
    Stop(usize),
    /// The work, which has to stop, has stopped.
    Stopped(usize),
}

/// What every run came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explored {
    /// States that differ.
    pub states: usize,
    /// States in which a candidate may write.
    pub led: usize,
    /// The longest time until a candidate may write, or all have ended, once nothing goes wrong any more.
    pub longest: Duration,
}

/// Goes through all that can happen in `depth` steps, from the start and from three turns of a term. The clock of the
/// second candidate runs by a tenth faster than that of the first.
///
/// # Panics
/// If two candidates may write at a time, if one may write too long, or if none leads when nothing goes wrong any more.
#[must_use]
pub fn explore(depth: usize) -> Explored {
    let (mut seen, mut explored) = (HashSet::new(), Explored::default());
    let mut paths = turns().to_vec();
    for _ in 0..=depth {
        let mut longer = Vec::new();
        for path in &paths {
            let state = Scope::after(path);
            if !seen.insert(state.fingerprint()) {
                continue;
            }
            explored.led += usize::from(state.leaders() > 0);
            longer.extend(state.steps().map(|step| [path.as_slice(), &[step]].concat()));
            explored.longest = explored.longest.max(state.recover(path));
        }
        paths = longer;
    }
    explored.states = seen.len();
    explored
}

/// The start; the first candidate leads, and the second one knows; the answers to its renewals hang, and its term is about
/// to end; its renewals never arrived, and the second candidate asks for the lease.
fn turns() -> [Vec<Step>; 4] {
    let leads = vec![Step::Answer(0), Step::Answer(0), Step::Answer(1)];
    let mut hangs =
        until(leads.clone(), |scope| scope.leaders() == 0, |is_open| if is_open { Step::Hang(0) } else { Step::Wait });
    hangs.pop();
    let silent = until(leads.clone(), |scope| scope.candidates[1].open.is_some(), |_| Step::Wait);
    [Vec::new(), leads, hangs, silent]
}

/// Takes the steps that `next` chooses, until `ends`.
fn until(mut path: Vec<Step>, ends: impl Fn(&Scope) -> bool, next: impl Fn(bool) -> Step) -> Vec<Step> {
    loop {
        let scope = Scope::after(&path);
        if ends(&scope) {
            return path;
        }
        path.push(next(scope.candidates[0].is_open()));
    }
}

const NAMES: [&str; 2] = ["a", "b"];
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/web/leases";

/// Once all is well, this much time passes at most: an unchanged lease expires on the slower clock.
const RECOVERY: Time = 40 * SECOND;

#[derive(Debug)]
struct Scope {
    now: Time,
    store: Store,
    candidates: [Candidate; 2],
}

#[derive(Debug)]
struct Candidate {
    elector: LeaderElector,
    clock: Clock,
    /// For how long it may write after it sent a renewal.
    term: Duration,
    open: Option<Open>,
    /// A write that was given up before the server had it.
    late: Option<Open>,
    /// When the last write was sent that the server made.
    renewed: Option<Instant>,
    works: bool,
    has_to_stop: bool,
    is_asked: bool,
    is_over: bool,
}

#[derive(Clone, Debug)]
struct Open {
    id: RequestId,
    request: ApiRequest,
    sent: Instant,
    /// The server has it, and its answer hangs.
    hangs: bool,
}

impl Scope {
    fn after(path: &[Step]) -> Self {
        let candidates = [Candidate::new(0, -50_000), Candidate::new(1, 50_000)];
        let mut scope = Self { now: 0, store: Store::new(LEASES), candidates };
        scope.settle(path);
        for (number, step) in path.iter().enumerate() {
            scope.take(*step);
            scope.settle(&path[..=number]);
        }
        scope
    }

    /// A number for the state. The machines print all that they have.
    fn fingerprint(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(format!("{self:?}"))
    }

    fn leaders(&self) -> usize {
        self.candidates.iter().filter(|candidate| candidate.may_write(self.now)).count()
    }

    fn steps(&self) -> impl Iterator<Item = Step> + use<> {
        let of_one = |number: usize| {
            let candidate = &self.candidates[number];
            let is_open = candidate.is_open();
            [
                is_open.then_some(Step::Answer(number)),
                is_open.then_some(Step::Hang(number)),
                is_open.then_some(Step::Lose(number)),
                candidate.late.is_some().then_some(Step::Late(number)),
                (!candidate.is_asked).then_some(Step::Stop(number)),
                candidate.has_to_stop.then_some(Step::Stopped(number)),
            ]
        };
        let steps = [of_one(0), of_one(1)].concat();
        steps.into_iter().flatten().chain(self.next().map(|_| Step::Wait))
    }

    /// When a candidate has a timeout.
    fn next(&self) -> Option<Time> {
        self.candidates.iter().filter_map(Candidate::next).min()
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Wait => {
                self.now = self.next().expect("a candidate has a timeout").max(self.now);
                self.candidates
                    .iter_mut()
                    .for_each(|candidate| candidate.elector.handle_timeout(candidate.local(self.now)));
            }
            Step::Answer(number) => {
                let open = self.candidates[number].open.take().expect("a request is open");
                let answer = self.process(number, &open);
                let candidate = &mut self.candidates[number];
                candidate.elector.handle_answer(candidate.local(self.now), open.id, Ok(answer));
            }
            Step::Hang(number) => {
                let mut open = self.candidates[number].open.take().expect("a request is open");
                self.process(number, &open);
                open.hangs = true;
                self.candidates[number].open = Some(open);
            }
            Step::Lose(number) => {
                let candidate = &mut self.candidates[number];
                let open = candidate.open.take().expect("a request is open");
                candidate.elector.handle_answer(candidate.local(self.now), open.id, Err(broken()));
            }
            Step::Late(number) => {
                let late = self.candidates[number].late.take().expect("a write was given up");
                self.process(number, &late);
            }
            Step::Stop(number) => {
                let candidate = &mut self.candidates[number];
                candidate.is_asked = true;
                candidate.elector.stop(candidate.local(self.now));
            }
            Step::Stopped(number) => {
                let candidate = &mut self.candidates[number];
                (candidate.works, candidate.has_to_stop) = (false, false);
                candidate.elector.handle_stopped(candidate.local(self.now));
            }
        }
    }

    /// The server does what a request asks.
    fn process(&mut self, number: usize, open: &Open) -> ApiResponse {
        let answer = self.store.handle(Instant::from_nanos(self.now), &open.request);
        let body = serde_json::from_slice::<Value>(&open.request.body).unwrap_or_default();
        if answer.status < 300 && body["spec"]["holderIdentity"] == NAMES[number] {
            let renewed = &mut self.candidates[number].renewed;
            *renewed = (*renewed).max(Some(open.sent));
        }
        answer
    }

    /// Takes what the candidates want and tell, and checks the rules.
    fn settle(&mut self, path: &[Step]) {
        for candidate in &mut self.candidates {
            candidate.settle(self.now);
            if candidate.may_write(self.now) {
                let until = candidate.renewed.map(|sent| sent + candidate.term);
                assert!(
                    until.is_some_and(|until| candidate.local(self.now) < until),
                    "a term without a renewal: {path:?}"
                );
                assert!(candidate.works, "a token without work: {path:?}");
            }
        }
        assert!(self.leaders() < 2, "two may write: {path:?}");
    }

    /// Nothing goes wrong any more. Returns how long it takes until one may write, or none has to.
    fn recover(mut self, path: &[Step]) -> Duration {
        let begun = self.now;
        while self.leaders() == 0 && !self.candidates.iter().all(|candidate| candidate.is_over) {
            let step = self.steps().find(|step| matches!(step, Step::Answer(_) | Step::Stopped(_)));
            self.take(step.unwrap_or(Step::Wait));
            self.settle(path);
            assert!(self.now - begun < RECOVERY, "nobody leads: {path:?}");
        }
        Duration::from_nanos(self.now - begun)
    }
}

impl Candidate {
    fn new(number: usize, drift: i64) -> Self {
        let mut config = ElectionConfig::new(NAMES[number]);
        config.seed = number as u64;
        let (clock, term) = (Clock { drift, epoch: SECOND, skew: 0 }, config.renew_deadline);
        let mut elector = LeaderElector::new("web", "it", config).expect("the configuration is valid");
        elector.start(clock.local(0));
        let (open, late, renewed) = (None, None, None);
        let (works, has_to_stop, is_asked, is_over) = (false, false, false, false);
        Self { elector, clock, term, open, late, renewed, works, has_to_stop, is_asked, is_over }
    }

    fn local(&self, now: Time) -> Instant {
        self.clock.local(now)
    }

    fn next(&self) -> Option<Time> {
        self.elector.poll_timeout().map(|at| self.clock.true_time(at))
    }

    /// Whether the server does not have its request yet.
    fn is_open(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.hangs)
    }

    fn may_write(&self, now: Time) -> bool {
        self.elector.token(self.local(now)).is_some()
    }

    fn settle(&mut self, now: Time) {
        let now = self.local(now);
        while let Some(action) = self.elector.poll_action(now, WallTime::UNIX_EPOCH) {
            match action {
                CallAction::Open { id, request } => {
                    let before = self.open.replace(Open { id, request, sent: now, hangs: false });
                    assert!(before.is_none() && !self.is_over, "a request beside another one, or after the end");
                }
                CallAction::Abort(id) => {
                    let given_up = self.open.take_if(|open| open.id == id);
                    self.late = given_up
                        .filter(|open| !open.hangs && open.request.method != Method::Get)
                        .or_else(|| self.late.take());
                }
                _ => {}
            }
        }
        while let Some(event) = self.elector.poll_event() {
            match event {
                ElectionEvent::Started(_) => assert!(!std::mem::replace(&mut self.works, true), "it works already"),
                ElectionEvent::Stopping(_) => self.has_to_stop = self.works,
                ElectionEvent::Ended { .. } => self.is_over = true,
                _ => {}
            }
        }
        assert!(!(self.is_over && self.works), "the election ended before the work");
    }
}
