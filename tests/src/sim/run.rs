//! One run: a seed's world, with a hundred faults and the quiet after them.

use super::client::Client;
use super::dice::Dice;
use super::log::Write;
use super::object::{Health, KeyNumber};
use super::server::Server;
use super::setup::Setup;
use super::tally::Tally;
use super::tier::{OnHeap, Tier};
use super::trace::Trace;
use super::weather::Weather;
use super::wire::{Direct, Wire};
use super::world::World;
use listwatch_core::Instant;
use listwatch_core::informer::InformerStatus;
use listwatch_core::reflector::FailureClass;
use std::time::Duration;

/// A run on its way.
#[derive(Debug)]
pub struct Run<T: Tier = OnHeap> {
    pub(super) world: World<T>,
    pub(super) setup: Setup,
    weather: Weather,
    dice: Dice,
    next_change: Instant,
    next_fault: Instant,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was met.
    pub tally: Tally,
    /// A hash over everything that happened.
    pub hash: u64,
}

/// How many faults a run has at least.
pub const FAULTS: u64 = 100;
/// How long the informer has to come back to health, and to the state of the server.
const QUIET: Duration = Duration::from_secs(2 * 3600);
/// How long it has to stay so.
const REST: Duration = Duration::from_secs(100);
/// How often that is looked at.
const STEP: Duration = Duration::from_secs(10);

impl Run {
    /// The run of `seed`; what goes over the wire is recorded if `captured`.
    #[must_use]
    pub fn new(seed: u64, captured: bool) -> Self {
        Self::over(Box::new(Direct), seed, captured)
    }

    /// The same, with something between the client and its connection.
    #[must_use]
    pub fn over(wire: Box<dyn Wire>, seed: u64, captured: bool) -> Self {
        Self::in_tier(wire, seed, captured)
    }
}

impl<T: Tier> Run<T> {
    /// The same, with the informer of any tier.
    #[must_use]
    pub fn in_tier(wire: Box<dyn Wire>, seed: u64, captured: bool) -> Self {
        let mut dice = Dice::new(seed);
        let setup = Setup::draw(&mut dice);
        let server = Server::new(setup.server);
        let (resource, keys) = (setup.resource.clone(), setup.server.keys);
        let mut client = Client::in_tier(resource, setup.informer, keys, Dice::new(dice.throw()), Trace::new(captured));
        client.wire = wire;
        let weather = Weather::new(setup.restored);
        let world = World::new(server, vec![client]);
        Self { world, setup, weather, dice, next_change: Instant::ZERO, next_fault: Instant::ZERO }
    }

    /// Runs to the end, and checks every step.
    ///
    /// # Panics
    /// Where the informer breaks one of its rules.
    pub fn finish(&mut self) -> Outcome {
        self.begin();
        while self.client().tally.delivered() < FAULTS {
            self.go_on();
        }
        self.settle();
        self.client().close();
        self.outcome()
    }

    /// The server has objects, and the informer starts.
    pub(super) fn begin(&mut self) {
        for key in 0..self.setup.server.keys {
            if self.dice.chance(60) {
                self.write(key);
            }
        }
        self.client().informer.start(Instant::ZERO);
    }

    /// When the next change or fault comes.
    pub(super) fn next(&self) -> Instant {
        self.next_change.min(self.next_fault)
    }

    /// What went over the wire so far.
    #[must_use]
    pub fn capture(&self) -> Option<&str> {
        self.world.clients[0].trace.capture()
    }

    pub(super) fn client(&mut self) -> &mut Client<T> {
        &mut self.world.clients[0]
    }

    fn outcome(&self) -> Outcome {
        let client = &self.world.clients[0];
        let seconds = self.world.now.as_nanos() / 1_000_000_000;
        let mut tally = client.tally.clone();
        (tally.runs, tally.seconds, tally.is_bounded) = (1, seconds, T::ROOM.is_some());
        Outcome { tally, hash: client.trace.hash() }
    }

    /// Lets time pass up to the next change, or the next fault, and makes it.
    pub(super) fn go_on(&mut self) {
        let next = self.next();
        self.world.advance(next);
        if self.next_change <= next {
            self.change();
            self.next_change = next + self.dice.between(Duration::ZERO, self.setup.calm);
        } else {
            self.weather.strike(&mut self.world, &mut self.dice);
            self.next_fault = next + self.dice.between(Duration::from_secs(1), Duration::from_secs(90));
        }
    }

    /// Somebody writes something.
    fn change(&mut self) {
        for _ in 0..=self.dice.below(3) {
            let key = self.dice.below(self.setup.server.keys.into()) as KeyNumber;
            match self.dice.below(10) {
                0..6 => self.write(key),
                6..8 => self.world.server.log.delete(key),
                8 => {
                    self.world.server.log.delete(key);
                    self.write(key);
                }
                _ => {
                    let others = 1 + self.dice.below(3);
                    self.world.server.log.skip(others);
                }
            }
        }
    }

    fn write(&mut self, key: KeyNumber) {
        let health = self.setup.health[usize::from(self.dice.chance(10))];
        self.client().observer.blind |= health.is_blinding();
        let (app, node) = (self.dice.below(4) as u8, self.dice.below(3) as u8);
        self.world.server.log.put(key, Write { app, node, health });
    }

    /// Nothing goes wrong any more: in the end the informer is well, and has what the server has.
    fn settle(&mut self) {
        Weather::clear(&mut self.world);
        self.heal();
        if self.client().observer.blind {
            self.hide_a_deletion();
        }
        if self.client().observer.needs_restart {
            let now = self.world.now;
            self.client().restart(now);
        }
        let (end, mut rested) = (self.world.now + QUIET, Duration::ZERO);
        // What it has may be what the server will have, before it has seen what lies between.
        while rested < REST {
            assert!(self.world.now < end, "not well after {QUIET:?}: {:?}", self.world.clients[0].informer);
            self.world.advance(self.world.now + STEP);
            let goes_on = self.is_caught_up() && (rested > Duration::ZERO || self.is_well());
            rested = if goes_on { rested + STEP } else { Duration::ZERO };
        }
    }

    /// An object is deleted, and nothing of the event can be read.
    fn hide_a_deletion(&mut self) {
        self.world.server.log.put(0, Write::default());
        self.world.advance(self.world.now + 2 * REST);
        self.world.server.log.put(0, Write { health: Health::Unreadable, ..Write::default() });
        self.world.server.log.delete(0);
        self.world.stir();
    }

    /// What could not be decoded is written again.
    fn heal(&mut self) {
        let log = &mut self.world.server.log;
        let broken: Vec<KeyNumber> = log
            .states(log.revision())
            .filter(|(_, object)| object.health != Health::Good)
            .map(|(key, _)| key)
            .collect();
        broken.into_iter().for_each(|key| log.put(key, Write::default()));
    }

    fn is_caught_up(&self) -> bool {
        self.world.clients[0].observer.has_caught_up(&self.world.server.log)
    }

    fn is_well(&self) -> bool {
        let client = &self.world.clients[0];
        let status = client.informer.status(self.world.now);
        let is_full = matches!(status, InformerStatus::Failing { class: FailureClass::DoesNotFit, .. });
        client.is_at_rest() && self.is_caught_up() && (is_full || matches!(status, InformerStatus::Synced { .. }))
    }
}
