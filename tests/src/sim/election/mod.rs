//! Candidates for one lease, with clocks that differ, over a network that loses, delays and cuts.

mod candidate;
mod scope;
mod tally;

use super::dice::Dice;
use super::store::Store;
use candidate::{Candidate, Clock, SECOND, Time, Work};
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, CallAction, Method};
use listwatch_core::election::{ElectionConfig, StopReason};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{TransportError, TransportErrorKind};
pub use scope::{Explored, explore};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
pub use tally::ElectionTally;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/web/leases/it";

/// Two or three candidates, of which one works at a time. The first minutes are full of faults, the last one is calm.
#[derive(Debug)]
pub struct Election {
    dice: Dice,
    now: Time,
    store: Store,
    candidates: Vec<Candidate>,
    lives: u64,
    lease: Duration,
    /// What is on its way, by the time at which it arrives.
    flights: BTreeMap<(Time, u64), Flight>,
    sent: u64,
    /// The server answers nothing before this time.
    down: Time,
    is_calm: bool,
    /// Somebody changes the election's own fields, so two candidates may lead for a moment.
    is_vandalised: bool,
    /// When each life sent its last write that succeeded.
    renewed: BTreeMap<u64, Time>,
    /// The greatest version of a term that wrote.
    fence: u64,
    tally: ElectionTally,
}

#[derive(Debug)]
enum Flight {
    Request {
        life: u64,
        id: RequestId,
        request: ApiRequest,
        sent: Time,
    },
    Answer {
        life: u64,
        id: RequestId,
        answer: Result<ApiResponse, TransportError>,
    },
    Watched {
        life: u64,
        lease: Option<Value>,
    },
    /// A write of the work, under a token.
    Work {
        token: u64,
    },
}

impl Election {
    /// The election of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let count = 2 + dice.below(2);
        let lease = Duration::from_secs(dice.pick(&[12, 15, 15, 30]));
        let is_vandalised = dice.chance(5);
        let mut election = Self {
            dice,
            now: 0,
            store: Store::new("/apis/coordination.k8s.io/v1/namespaces/web/leases"),
            candidates: Vec::new(),
            lives: 0,
            lease,
            flights: BTreeMap::new(),
            sent: 0,
            down: 0,
            is_calm: false,
            is_vandalised,
            renewed: BTreeMap::new(),
            fence: 0,
            tally: ElectionTally::default(),
        };
        for _ in 0..count {
            let candidate = election.born();
            election.candidates.push(candidate);
        }
        election
    }

    /// Runs the election to its end.
    ///
    /// # Panics
    /// If two candidates may write at one time, if one may write after its lease, or if none leads in calm.
    #[must_use]
    pub fn finish(mut self) -> ElectionTally {
        let stormy = self.dice.between(Duration::from_secs(60), Duration::from_secs(180)).as_nanos() as u64;
        self.run(stormy);
        self.calm();
        // At the server, no record changes for a lease at most. Clocks are 5 % slow at most.
        let bound = (self.lease.as_secs_f64() + 2.2 * 2.0 + 5.0) / 0.95 + 1.0;
        self.run(self.now + (bound * SECOND as f64) as u64);
        let first = self.leaders();
        assert_eq!(first.len(), 1, "leaders {:.1} s after the last fault", bound);
        let now = self.now + 60 * SECOND;
        self.run(now);
        assert_eq!(first, self.leaders(), "the leader changed in calm");
        self.tally.runs += 1;
        self.tally
    }

    fn run(&mut self, end: Time) {
        loop {
            let flight = self.flights.first_key_value().map(|((at, _), _)| *at);
            let act = self.candidates.iter().filter_map(Candidate::next).min();
            let fault =
                (!self.is_calm).then(|| self.now + self.dice.between(MS, Duration::from_secs(5)).as_nanos() as u64);
            let Some(next) = [flight, act, fault].into_iter().flatten().min().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            if flight == Some(next) {
                self.land();
            } else if act == Some(next) {
                self.act();
            } else {
                self.trouble();
            }
            self.check();
        }
        self.now = end;
    }

    /// The lives that may write now.
    fn leaders(&self) -> Vec<u64> {
        self.candidates.iter().filter(|it| it.may_write(self.now)).map(|it| it.life).collect()
    }

    /// At each moment one candidate may write, and none after its lease.
    fn check(&self) {
        let may = self.leaders();
        assert!(may.len() < 2 || self.is_vandalised, "{may:?} may write at {}", self.now);
        for life in may {
            let deadline = self.renewed.get(&life).map(|sent| sent + self.lease.as_nanos() as u64);
            assert!(
                deadline.is_some_and(|deadline| self.now < deadline),
                "{life} may write at {} after its lease",
                self.now
            );
        }
    }
}

const MS: Duration = Duration::from_millis(1);

/// Candidates.
impl Election {
    fn born(&mut self) -> Candidate {
        self.lives += 1;
        let mut config = ElectionConfig::new(format!("life-{}", self.lives));
        config.lease_duration = self.lease;
        config.release = self.dice.chance(70);
        config.seed = self.dice.throw();
        let clock = Clock {
            drift: self.dice.below(100_001) as i64 - 50_000,
            epoch: self.dice.below(1 << 50),
            skew: self.dice.below(200_000) as i64 - 100_000,
        };
        let mut candidate = Candidate::new(config, self.lives, clock, self.now);
        self.pump(&mut candidate);
        candidate
    }

    /// Each candidate whose time it is acts.
    fn act(&mut self) {
        let mut candidates = std::mem::take(&mut self.candidates);
        for candidate in &mut candidates {
            if candidate.next().is_some_and(|next| next <= self.now) {
                candidate.elector.handle_timeout(candidate.local(self.now));
                self.pump(candidate);
                self.work(candidate);
                self.pump(candidate);
            }
        }
        self.candidates = candidates;
    }

    fn work(&mut self, candidate: &mut Candidate) {
        let due = match candidate.work {
            Work::Rests => return,
            Work::Writes(at) | Work::Stops(at) => at <= self.now,
        };
        if due {
            self.write(candidate);
        }
        match candidate.work {
            Work::Writes(_) if due => {
                candidate.work =
                    Work::Writes(self.now + self.dice.between(MS, Duration::from_secs(3)).as_nanos() as u64);
            }
            Work::Stops(_) if due => {
                candidate.work = Work::Rests;
                candidate.elector.handle_stopped(candidate.local(self.now));
            }
            _ => {}
        }
    }

    /// The work writes, if its token allows that.
    fn write(&mut self, candidate: &Candidate) {
        let Some(token) = candidate.elector.token(candidate.local(self.now)) else {
            self.tally.refused += 1;
            return;
        };
        let token = token.version().parse().expect("versions are numbers");
        let slow = if self.is_calm { 1 } else { 20_000 };
        let delay = self.dice.between(MS, MS * (1 + slow)).as_nanos() as u64;
        self.fly(delay, Flight::Work { token });
    }

    /// Takes what a candidate wants and tells.
    fn pump(&mut self, candidate: &mut Candidate) {
        while let Some(action) = candidate.elector.poll_action(candidate.local(self.now), candidate.wall(self.now)) {
            if let CallAction::Open { id, request } = action {
                self.tally.requests += 1;
                self.send(candidate, id, request);
            }
        }
        while let Some(event) = candidate.elector.poll_event() {
            let longest = if self.is_calm { 10 } else { 8_000 };
            let takes = self.dice.between(MS, MS * longest);
            let stopped = candidate.hear(&event, self.now, takes);
            self.tally.event(&event);
            if let Some(StopReason::Taken { by }) = stopped {
                assert!(self.is_vandalised, "{by:?} took the lease of {}", candidate.life);
            }
        }
    }
}

/// The network, and the server.
impl Election {
    fn fly(&mut self, delay: Time, flight: Flight) {
        self.sent += 1;
        self.flights.insert((self.now + delay, self.sent), flight);
    }

    fn send(&mut self, candidate: &Candidate, id: RequestId, request: ApiRequest) {
        let (life, sent) = (candidate.life, self.now);
        let delay = self.delay();
        if self.now < candidate.cut || self.now < self.down {
            // A request that hangs may arrive long after its deadline.
            match self.dice.below(3) {
                0 => self.fly(delay, Flight::Answer { life, id, answer: Err(broken()) }),
                1 => {
                    let late = self.dice.between(MS, Duration::from_secs(40)).as_nanos() as u64;
                    self.fly(late, Flight::Request { life, id, request, sent });
                }
                _ => {}
            }
            return;
        }
        self.fly(delay, Flight::Request { life, id, request, sent });
    }

    fn delay(&mut self) -> Time {
        let most = if self.is_calm { 20 } else { self.dice.pick(&[2, 20, 20, 200, 9_000]) };
        self.dice.between(MS / 10, MS * most).as_nanos() as u64
    }

    fn land(&mut self) {
        let Some((_, flight)) = self.flights.pop_first() else { return };
        if let Some(later) = self.stalled(&flight) {
            // What has arrived waits for its program.
            return self.fly(later - self.now, flight);
        }
        match flight {
            Flight::Request { life, id, request, sent } => self.serve(life, id, &request, sent),
            Flight::Answer { life, id, answer } => {
                self.touch(life, |candidate, now| candidate.elector.handle_answer(now, id, answer));
            }
            Flight::Watched { life, lease } => {
                self.touch(life, |candidate, now| {
                    if candidate.is_watching {
                        candidate.elector.handle_watched(now, lease);
                    }
                });
            }
            Flight::Work { token } if token < self.fence => self.tally.late += 1,
            Flight::Work { token } => self.fence = token,
        }
    }

    /// Until when the receiver of an answer stands still.
    fn stalled(&self, flight: &Flight) -> Option<Time> {
        let (Flight::Answer { life, .. } | Flight::Watched { life, .. }) = flight else { return None };
        let to = self.candidates.iter().find(|it| it.life == *life)?;
        Some(to.stalled).filter(|until| *until > self.now)
    }

    /// A candidate takes something in, unless it stands still or is no more.
    fn touch(&mut self, life: u64, take: impl FnOnce(&mut Candidate, Instant)) {
        let Some(number) = self.candidates.iter().position(|it| it.life == life && !it.is_over) else { return };
        let mut candidate = self.candidates.swap_remove(number);
        if candidate.stalled <= self.now {
            let now = candidate.local(self.now);
            take(&mut candidate, now);
            self.pump(&mut candidate);
        }
        self.candidates.push(candidate);
    }

    fn serve(&mut self, life: u64, id: RequestId, request: &ApiRequest, sent: Time) {
        if self.now < self.down {
            return;
        }
        let answer =
            if self.is_calm || !self.dice.chance(4) { self.process(life, request, sent) } else { self.refusal() };
        let delay = self.delay();
        if self.is_calm || !self.dice.chance(5) {
            self.fly(delay, Flight::Answer { life, id, answer: Ok(answer) });
        }
    }

    fn process(&mut self, life: u64, request: &ApiRequest, sent: Time) -> ApiResponse {
        let answer = self.store.handle(Instant::from_nanos(self.now), request);
        if request.method != Method::Get && answer.status < 300 {
            let holder =
                serde_json::from_slice::<Value>(&request.body).unwrap_or_default()["spec"]["holderIdentity"].take();
            if holder != json!("") {
                let last = self.renewed.entry(life).or_default();
                *last = sent.max(*last);
            }
            self.announce();
        }
        answer
    }

    fn refusal(&mut self) -> ApiResponse {
        let code = self.dice.pick(&[429, 500, 503, 504]);
        let wait = self.dice.chance(30).then(|| Duration::from_secs(1));
        ApiResponse::new(code, json!({ "kind": "Status", "code": code }).to_string()).with_retry_after(wait)
    }

    /// Watches bring the lease, late or not at all.
    fn announce(&mut self) {
        let lease = self.store.object(LEASE).cloned();
        for number in 0..self.candidates.len() {
            let (life, is_watching) = (self.candidates[number].life, self.candidates[number].is_watching);
            if is_watching && (self.is_calm || self.dice.chance(90)) {
                let (delay, lease) = (self.delay(), lease.clone());
                self.fly(delay, Flight::Watched { life, lease });
            }
        }
    }
}

/// What goes wrong.
impl Election {
    fn trouble(&mut self) {
        let number = self.dice.below(self.candidates.len() as u64) as usize;
        let longest = Duration::from_secs(self.dice.pick(&[1, 5, 20]));
        let until = self.now + self.dice.between(MS, longest).as_nanos() as u64;
        match self.dice.below(100) {
            0..6 => self.down = until,
            6..16 => self.candidates[number].cut = until,
            16..22 => {
                self.tally.stalls += 1;
                self.candidates[number].stalled = until;
            }
            22..25 => self.replace(number),
            25..28 => self.ask_to_stop(number),
            28..34 => self.watch(number),
            34..38 => self.relabel(),
            38..40 if self.is_vandalised => self.vandalise(),
            _ => {}
        }
    }

    /// `kill -9`; another life begins at once.
    fn replace(&mut self, number: usize) {
        self.tally.kills += 1;
        self.candidates[number] = self.born();
    }

    fn ask_to_stop(&mut self, number: usize) {
        if self.candidates[number].is_over {
            return self.replace(number);
        }
        let life = self.candidates[number].life;
        self.touch(life, |candidate, now| {
            candidate.is_asked = true;
            candidate.elector.stop(now);
        });
    }

    /// A watch begins with what is there, or it breaks.
    fn watch(&mut self, number: usize) {
        let (life, lease) = (self.candidates[number].life, self.store.object(LEASE).cloned());
        self.touch(life, |candidate, now| {
            candidate.is_watching = !candidate.is_watching;
            candidate.elector.set_watched(now, candidate.is_watching);
            if candidate.is_watching {
                candidate.elector.handle_watched(now, lease);
            }
        });
    }

    /// Another client labels the lease, which is nobody's election.
    fn relabel(&mut self) {
        let Some(mut lease) = self.store.object(LEASE).cloned() else { return };
        lease["metadata"]["labels"]["seen"] = json!(self.now.to_string());
        self.overwrite(&lease);
    }

    /// Somebody deletes the lease, or its holder.
    fn vandalise(&mut self) {
        let Some(mut lease) = self.store.object(LEASE).cloned() else { return };
        if self.dice.chance(50) {
            self.store.delete(Instant::from_nanos(self.now), LEASE);
        } else {
            lease["spec"]["holderIdentity"] = json!("");
            self.overwrite(&lease);
        }
        self.announce();
    }

    fn overwrite(&mut self, lease: &Value) {
        let mut request = ApiRequest::new(Method::Put, LEASE);
        request.body = lease.to_string().into_bytes();
        let answer = self.store.handle(Instant::from_nanos(self.now), &request);
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }

    /// Nothing goes wrong any more. What was on its way is lost, work that was stopping has stopped, and a program that was
    /// to end begins again.
    fn calm(&mut self) {
        self.is_calm = true;
        self.flights.retain(|_, flight| matches!(flight, Flight::Work { .. }));
        self.down = 0;
        for number in 0..self.candidates.len() {
            let candidate = &mut self.candidates[number];
            (candidate.stalled, candidate.cut) = (0, 0);
            if let Work::Stops(at) = &mut candidate.work {
                *at = self.now;
            }
            if candidate.is_asked {
                self.candidates[number] = self.born();
            }
        }
    }
}

fn broken() -> TransportError {
    TransportError::new(TransportErrorKind::Reset, "refused")
}
