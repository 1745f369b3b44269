//! Many members beside a server that loses, delays and repeats; each has a clock of its own, and an elector as in a program.

use super::*;
use crate::api::{ApiRequest, ApiResponse, CallAction, Method};
use crate::election::{ElectionConfig, ElectionEvent, LeaderElector};
use crate::random::Random;
use crate::request::RequestId;
use crate::time::{Instant, WallTime};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use serde_json::{Value, json};

const COUNT: u16 = 12;
const TICK: Duration = Duration::from_millis(100);

/// A lease after a change; `None` if it was deleted.
type Change = (String, Option<Value>);

#[derive(Default)]
struct Server {
    version: u64,
    leases: BTreeMap<String, Value>,
    log: Vec<Change>,
}

impl Server {
    fn serve(&mut self, request: &ApiRequest) -> ApiResponse {
        let refuse = |code: u16, reason: &str| {
            ApiResponse::new(code, json!({ "kind": "Status", "code": code, "reason": reason }).to_string())
        };
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let name = match request.method {
            Method::Post => body["metadata"]["name"].as_str().unwrap(),
            _ => request.path.rsplit('/').next().unwrap(),
        };
        let known = self.leases.get(name);
        let wanted = match request.method {
            Method::Delete => body["preconditions"]["resourceVersion"].clone(),
            _ => body["metadata"]["resourceVersion"].clone(),
        };
        match (request.method, known) {
            (Method::Post, None) => self.store(name, Some(body.clone()), 201),
            (Method::Post, Some(_)) => refuse(409, "AlreadyExists"),
            (_, None) => refuse(404, "NotFound"),
            (Method::Get, Some(lease)) => ApiResponse::new(200, lease.to_string()),
            (_, Some(lease)) if lease["metadata"]["resourceVersion"] != wanted => refuse(409, "Conflict"),
            (Method::Delete, Some(_)) => self.store(name, None, 200),
            // Such a write has no version of its own.
            (_, Some(lease)) if *lease == body => ApiResponse::new(200, lease.to_string()),
            (_, Some(_)) => self.store(name, Some(body.clone()), 200),
        }
    }

    fn store(&mut self, name: &str, lease: Option<Value>, code: u16) -> ApiResponse {
        self.version += 1;
        let stored = lease.map(|mut lease| {
            lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
            lease
        });
        match &stored {
            Some(lease) => _ = self.leases.insert(name.to_owned(), lease.clone()),
            None => _ = self.leases.remove(name),
        }
        self.log.push((name.to_owned(), stored.clone()));
        ApiResponse::new(code, stored.unwrap_or_else(|| json!({})).to_string())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Asker {
    Elector,
    Holder,
}

struct Flight {
    asker: Asker,
    id: RequestId,
    request: ApiRequest,
    /// When the server has it.
    lands: Duration,
    /// When the answer is there; `None` if it is lost.
    returns: Option<Duration>,
    answer: Option<ApiResponse>,
}

struct Replica {
    elector: LeaderElector,
    holder: ShardHolder,
    /// Its clock runs so fast.
    rate: f64,
    /// How much of the log its watch has brought.
    seen: usize,
    watch_stalls_until: Duration,
    sleeps_until: Duration,
    flights: Vec<Flight>,
    /// When the work on a shard ends.
    drains: BTreeMap<u16, Duration>,
    stops_work_at: Option<Duration>,
    /// The term for which the shards count.
    term: Option<WallTime>,
}

struct Model {
    server: Server,
    replicas: Vec<Replica>,
    /// Requests of those that were killed.
    orphans: Vec<Flight>,
    random: Random,
    now: Duration,
    born: usize,
    is_calm: bool,
    requests: u64,
}

impl Replica {
    fn clock(&self, now: Duration) -> Instant {
        Instant::ZERO + now.mul_f64(self.rate)
    }

    /// Whether work on the shard may go on now.
    fn works(&self, shard: u16, now: Duration) -> bool {
        let token = self.elector.token(self.clock(now));
        let is_held = matches!(self.holder.state(shard), ShardState::Active | ShardState::Draining);
        is_held && token.is_some_and(|token| token.acquired() == self.term)
    }
}

impl Model {
    fn new(seed: u64) -> Self {
        let (server, random) = (Server::default(), Random::new(seed));
        Self {
            server,
            replicas: Vec::new(),
            orphans: Vec::new(),
            random,
            now: Duration::ZERO,
            born: 0,
            is_calm: false,
            requests: 0,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random.next() % below
    }

    /// Once in so many times, unless it is calm.
    fn happens(&mut self, once_in: u64) -> bool {
        !self.is_calm && self.draw(once_in) == 0
    }

    fn seconds(&mut self, below: u64) -> Duration {
        Duration::from_millis(self.draw(below * 1000))
    }

    fn start(&mut self) {
        self.born += 1;
        let (name, seed) = (format!("it-{:02}-{}", self.draw(100), self.born), self.draw(u64::MAX));
        let mut election = ElectionConfig::new(&*name);
        election.seed = seed;
        election.labels = alloc::vec![(GROUP_LABEL.into(), "it".into())];
        let mut config = ShardConfig::new("web", "it", &name, ShardSpace::new(ShardBy::Uid, COUNT));
        config.seed = seed;
        let (mut elector, mut holder) =
            (LeaderElector::new("web", &name, election).unwrap(), ShardHolder::new(config).unwrap());
        let rate = 0.955 + self.draw(90) as f64 / 1000.0;
        let now = Instant::ZERO + self.now.mul_f64(rate);
        elector.start(now);
        for (name, lease) in &self.server.leases {
            holder.handle_lease(now, name, Some(lease.clone()));
        }
        holder.handle_synced(now);
        let zero = Duration::ZERO;
        self.replicas.push(Replica {
            elector,
            holder,
            rate,
            seen: self.server.log.len(),
            watch_stalls_until: zero,
            sleeps_until: zero,
            flights: Vec::new(),
            drains: BTreeMap::new(),
            stops_work_at: None,
            term: None,
        });
    }

    fn kill(&mut self, place: usize) {
        let replica = self.replicas.remove(place);
        self.orphans.extend(replica.flights);
    }

    /// One tick of all.
    fn tick(&mut self) {
        self.now += TICK;
        self.land();
        for place in 0..self.replicas.len() {
            if self.happens(3000) {
                self.replicas[place].sleeps_until = self.now + self.seconds(40);
            }
            if self.happens(1500) {
                self.replicas[place].watch_stalls_until = self.now + self.seconds(60);
            }
            if self.replicas[place].sleeps_until <= self.now {
                self.step(place);
            }
        }
        self.check();
    }

    /// The server takes what has arrived.
    fn land(&mut self) {
        let flights = self.replicas.iter_mut().flat_map(|it| &mut it.flights).chain(&mut self.orphans);
        let mut due: Vec<&mut Flight> = flights.filter(|it| it.answer.is_none() && it.lands <= self.now).collect();
        due.sort_by_key(|flight| flight.lands);
        for flight in due {
            flight.answer = Some(self.server.serve(&flight.request));
        }
        self.orphans.retain(|flight| flight.answer.is_none());
    }

    fn step(&mut self, place: usize) {
        let watched = self.now >= self.replicas[place].watch_stalls_until;
        let end = if watched { self.server.log.len() } else { 0 };
        let replica = &mut self.replicas[place];
        let now = replica.clock(self.now);
        let wall = WallTime::from_unix_seconds(1_700_000_000) + self.now;
        while let Some(at) =
            replica.flights.iter().position(|it| it.answer.is_some() && it.returns.is_some_and(|at| at <= self.now))
        {
            let flight = replica.flights.swap_remove(at);
            let answer = Ok(flight.answer.unwrap());
            match flight.asker {
                Asker::Elector => replica.elector.handle_answer(now, flight.id, answer),
                Asker::Holder => replica.holder.handle_answer(now, flight.id, answer),
            }
        }
        for (name, lease) in self.server.log.get(replica.seen..end).unwrap_or_default() {
            replica.holder.handle_lease(now, name, lease.clone());
        }
        replica.seen = replica.seen.max(end);
        replica.elector.handle_timeout(now);
        replica.holder.handle_timeout(now);
        let ended: Vec<u16> =
            replica.drains.iter().filter(|(_, at)| **at <= self.now).map(|(shard, _)| *shard).collect();
        for shard in ended {
            replica.drains.remove(&shard);
            replica.holder.handle_drained(now, shard);
        }
        if replica.stops_work_at.take_if(|at| *at <= self.now).is_some() {
            replica.elector.handle_stopped(now);
        }
        self.act(place, now, wall);
    }

    fn act(&mut self, place: usize, now: Instant, wall: WallTime) {
        let replica = &mut self.replicas[place];
        while let Some(event) = replica.elector.poll_event() {
            if matches!(event, ElectionEvent::Stopping(_)) {
                replica.stops_work_at = Some(self.now + Duration::from_secs(self.random.next() % 3));
            }
        }
        replica.term = replica.elector.token(now).and_then(|token| token.acquired());
        replica.holder.set_term(now, replica.term);
        let mut sent = Vec::new();
        while let Some(action) = replica.elector.poll_action(now, wall) {
            sent.push((Asker::Elector, action));
        }
        while let Some(action) = replica.holder.poll_action(now, wall) {
            sent.push((Asker::Holder, action));
        }
        while let Some(event) = self.replicas[place].holder.poll_event() {
            match event {
                ShardEvent::Draining(shard) => {
                    let at = self.now + self.seconds(8);
                    self.replicas[place].drains.insert(shard, at);
                }
                ShardEvent::Gained(shard) | ShardEvent::Lost(shard) => _ = self.replicas[place].drains.remove(&shard),
                _ => {}
            }
        }
        for (asker, action) in sent {
            self.send(place, asker, action);
        }
    }

    fn send(&mut self, place: usize, asker: Asker, action: CallAction) {
        match action {
            CallAction::Open { id, request } => {
                self.requests += 1;
                let mut lands = self.now + Duration::from_millis(self.draw(100));
                let mut returns = Some(lands + Duration::from_millis(self.draw(100)));
                if self.happens(20) {
                    // It is late, or lost before or after the server.
                    lands += self.seconds(30);
                    returns = Some(lands).filter(|_| self.random.next().is_multiple_of(2));
                }
                if self.happens(40) {
                    lands += Duration::from_secs(1 << 30);
                }
                self.replicas[place].flights.push(Flight { asker, id, request, lands, returns, answer: None });
            }
            // What is given up may land nevertheless.
            CallAction::Abort(id) => {
                let flights = &mut self.replicas[place].flights;
                flights.iter_mut().filter(|it| it.asker == asker && it.id == id).for_each(|it| it.returns = None);
            }
        }
    }

    fn check(&self) {
        for shard in 0..COUNT {
            let working = self.replicas.iter().filter(|it| it.works(shard, self.now)).count();
            assert!(
                working <= 1,
                "{working} members work on shard {shard} after {:?}: {}",
                self.now,
                self.server.leases["it"]
            );
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.tick();
        }
    }

    /// Nothing is disturbed any more.
    fn calm(&mut self) {
        self.is_calm = true;
        for replica in &mut self.replicas {
            (replica.sleeps_until, replica.watch_stalls_until) = (self.now, self.now);
        }
    }

    fn loads(&self) -> Vec<usize> {
        let active = |it: &Replica| {
            (0..COUNT)
                .filter(|shard| it.works(*shard, self.now) && it.holder.state(*shard) == ShardState::Active)
                .count()
        };
        let mut loads: Vec<_> = self.replicas.iter().map(active).collect();
        loads.sort_unstable();
        loads
    }
}

fn runs() -> u64 {
    std::env::var("LISTWATCH_SHARD_MODELS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(15)
}

#[test]
fn members_that_are_disturbed_never_work_on_one_shard_and_share_all_in_the_end() {
    for seed in 0..runs() {
        let mut model = Model::new(seed);
        (0..3).for_each(|_| model.start());
        for _ in 0..8 {
            let time = model.seconds(40);
            model.pass(time);
            if model.draw(2) == 0 && model.replicas.len() > 1 {
                let place = model.draw(model.replicas.len() as u64) as usize;
                model.kill(place);
            } else {
                model.start();
            }
        }
        model.calm();
        model.pass(Duration::from_secs(120));
        let loads = model.loads();
        assert_eq!(loads.iter().sum::<usize>(), usize::from(COUNT), "seed {seed}: {loads:?}");
        assert!(loads[loads.len() - 1] - loads[0] <= 1, "seed {seed}: {loads:?}");
        let leases = model.server.leases.len();
        assert_eq!(leases, 1 + model.replicas.len(), "seed {seed}: leases of members that have ended are left");
        let before = model.requests;
        model.pass(Duration::from_secs(20));
        let renewals = (model.requests - before) as usize;
        assert!(renewals <= 12 * model.replicas.len(), "seed {seed}: {renewals} requests in 20 s");
    }
}

#[test]
fn the_shards_of_a_member_that_is_killed_have_another_one_within_twenty_seconds() {
    let mut model = Model::new(7);
    (0..3).for_each(|_| model.start());
    model.calm();
    model.pass(Duration::from_secs(30));
    assert_eq!(model.loads(), [4, 4, 4]);
    model.kill(1);
    model.pass(Duration::from_secs(20));
    assert_eq!(model.loads(), [6, 6]);
}

#[test]
fn a_member_that_joins_gets_its_part_after_the_drain() {
    let mut model = Model::new(3);
    model.calm();
    model.start();
    model.pass(Duration::from_secs(5));
    assert_eq!(model.loads(), [12]);
    (0..2).for_each(|_| model.start());
    model.pass(Duration::from_secs(20));
    assert_eq!(model.loads(), [4, 4, 4]);
}
