//! An audit after the other of a client's cache, over a network of its own.

use super::tally::AuditTally;
use super::truth::{Judged, Truth};
use crate::sim::answer::Answer;
use crate::sim::ask::Ask;
use crate::sim::client::Client;
use crate::sim::dice::Dice;
use crate::sim::fault::Fault;
use crate::sim::server::Server;
use crate::sim::weather::TO_ANY;
use crate::sim::world::World;
use listwatch_core::api::{ApiRequest, ApiResponse};
use listwatch_core::audit::{Audit, AuditConfig, Replica};
use listwatch_core::object::{Version, compare_versions};
use listwatch_core::time::earliest;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use listwatch_core::{Instant, Key, Resource};
use std::cmp::Ordering;
use std::time::Duration;

/// Audits the client of a world.
#[derive(Debug)]
pub(super) struct Auditor {
    dice: Dice,
    /// How many of a hundred events a proxy loses.
    losses: u64,
    /// How many of a hundred requests something happens to.
    faults: u64,
    next: Instant,
    running: Option<Running>,
    pub(super) tally: AuditTally,
}

/// An audit on its way.
#[derive(Debug)]
struct Running {
    audit: Audit,
    flight: Option<Flight>,
    /// How often the client had been killed when it began.
    killed: u64,
    truth: Truth,
    judged: Option<Judged>,
}

/// A request, or its answer.
#[derive(Debug)]
enum Flight {
    Going(Instant, ApiRequest),
    Coming(Instant, Result<ApiResponse, TransportError>),
}

/// After this time without an answer, the client of the audit gives a request up.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Auditor {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0xa0d1_7000);
        let losses = dice.pick(&[0, 0, 1, 5, 30]);
        let faults = dice.pick(&[0, 5, 20]);
        Self { dice, losses, faults, next: Instant::ZERO, running: None, tally: AuditTally::default() }
    }

    pub(super) fn losses(&self) -> u64 {
        self.losses
    }

    /// When it has to do something.
    pub(super) fn poll_timeout(&self) -> Instant {
        let Some(running) = &self.running else { return self.next };
        let arrives = running.flight.as_ref().map(|(Flight::Going(at, _) | Flight::Coming(at, _))| *at);
        earliest(arrives, running.audit.poll_timeout()).unwrap_or(self.next)
    }

    /// Does what is due.
    pub(super) fn turn(&mut self, world: &mut World, resource: &Resource) {
        let now = world.now;
        let killed = world.clients[0].tally.faults[Fault::Killed as usize];
        let mut running = self.running.take().unwrap_or_else(|| self.begin(world, resource, killed));
        if running.killed != killed {
            self.tally.interrupt();
            return self.rest(now);
        }
        match running.flight.take() {
            Some(Flight::Going(at, request)) if at <= now => {
                let answer = self.answer(now, &request, &mut world.server, running.audit.is_confirming());
                let delay = if answer.is_ok() { self.delay() } else { TIMEOUT };
                running.flight = Some(Flight::Coming(now + delay, answer));
            }
            Some(Flight::Coming(at, answer)) if at <= now => {
                running.truth.note_page(&world.clients[0]);
                running.audit.handle_answer(now, &Cache(&world.clients[0]), answer);
            }
            flight => running.flight = flight,
        }
        running.audit.handle_timeout(now, &Cache(&world.clients[0]));
        if let Some(request) = running.audit.poll_request() {
            assert!(running.flight.is_none(), "a second request is open");
            running.flight = Some(Flight::Going(now + self.delay(), request));
        }
        self.look(running, world);
    }

    /// Notes what the audit decides on, and checks what it says.
    fn look(&mut self, mut running: Running, world: &World) {
        let client = &world.clients[0];
        let result = running.audit.poll_result();
        let is_judged = running.judged.is_some() || !(running.audit.is_confirming() || result.is_some());
        if !is_judged {
            running.judged = Some(Judged::of(client, &world.server.log));
        }
        let Some(result) = result else {
            self.running = Some(running);
            return;
        };
        self.tally.note(&result);
        if let (Ok(report), Some(judged)) = (&result, &running.judged)
            && let Some(owed) = running.truth.check(report, judged, client, &world.server.log)
        {
            self.tally.check(owed);
        }
        self.rest(world.now);
    }

    fn rest(&mut self, now: Instant) {
        self.running = None;
        self.next = now + self.dice.between(Duration::from_secs(1), Duration::from_secs(200));
    }

    fn begin(&mut self, world: &World, resource: &Resource, killed: u64) -> Running {
        let mut config = AuditConfig::default();
        config.page_size = self.dice.pick(&[0, 1, 2, 5, 500]);
        config.max_pages = 60;
        config.restarts = self.dice.pick(&[0, 3]);
        let truth = Truth::new(resource, &world.server.log);
        Running { audit: Audit::new(resource.clone(), config), flight: None, killed, truth, judged: None }
    }

    fn delay(&mut self) -> Duration {
        Duration::from_millis(self.dice.pick(&[0, 3, 3, 400, 9_000]))
    }

    /// What a server says, or what stands before it.
    fn answer(
        &mut self,
        now: Instant,
        request: &ApiRequest,
        server: &mut Server,
        is_second: bool,
    ) -> Result<ApiResponse, TransportError> {
        let ask = Ask::parse(&request.to_string(), request.accept);
        let replica = self.dice.below(server.replicas.len() as u64) as usize;
        if !self.dice.chance(self.faults) {
            return Ok(response(&server.open(now, &ask, replica)));
        }
        let token = ask.request.continue_token();
        let answer = match (self.dice.below(10), token) {
            (0, _) => return Err(TransportError::new(TransportErrorKind::Timeout, "no answer")),
            (1, _) => return Err(TransportError::new(TransportErrorKind::Reset, "broken")),
            (2..4, Some(token)) => server.repeated_page(token),
            (4..8, Some(_)) => {
                server.log.skip(1);
                server.compact(server.log.revision());
                server.open(now, &ask, replica)
            }
            (2..4, None) => {
                let kind = self.dice.pick(&["empty:0", "turn:0", "endless:0"]);
                server.endless_page(&ask, kind).unwrap_or_else(|| panic!("{kind} leads nowhere"))
            }
            (4..8, None) => {
                // A second list that is a little older than the newest state proves nothing, and nothing tells.
                let back = if is_second { 1_000 } else { 1 + self.dice.below(20) };
                server.old_list(&ask, server.log.revision().saturating_sub(back).max(1))
            }
            _ => match self.dice.pick(&TO_ANY).refusal() {
                Some(refusal) => refusal.into(),
                None => server.open(now, &ask, replica),
            },
        };
        // A list without an end goes on where it was.
        let answer = match token.and_then(|token| server.endless_page(&ask, token)) {
            Some(page) => page,
            None => answer,
        };
        Ok(response(&answer))
    }
}

fn response(answer: &Answer) -> ApiResponse {
    ApiResponse::new(answer.head().status, answer.unread())
}

/// The client's cache.
struct Cache<'c>(&'c Client);

impl Replica for Cache<'_> {
    fn applied(&self) -> Option<Version> {
        let (noted, applied) = (self.0.noted.applied.clone()?, self.0.informer.applied_version()?);
        let is_older = compare_versions(&noted, applied).is_ok_and(Ordering::is_lt);
        Some(if is_older { noted } else { applied.into() })
    }

    fn find(&self, key: &Key) -> Option<(Key, Version)> {
        let object = self.0.informer.cache().get(key)?;
        Some((object.key().clone(), object.meta().resource_version().into()))
    }

    fn for_each(&self, f: &mut dyn FnMut(&Key, &str)) {
        self.0.informer.cache().iter().for_each(|object| f(object.key(), object.meta().resource_version()));
    }

    fn undecodable(&self, key: &Key) -> Option<Version> {
        self.0.noted.undecodable.get(&format!("{key:?}")).cloned()
    }
}
