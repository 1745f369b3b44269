//! The faults of a run, and their times.

use super::client::Client;
use super::dice::Dice;
use super::fault::Fault;
use super::network::{Connection, Pieces};
use super::script::Which;
use super::tier::Tier;
use super::world::World;
use listwatch_core::Instant;
use std::time::Duration;

/// What the weather of a run remembers.
#[derive(Debug)]
pub(super) struct Weather {
    /// The backup to which the store will go back.
    backup: Option<u64>,
    /// The store may go back once.
    may_restore: bool,
}

/// What can happen to any request.
pub const TO_ANY: [Fault; 25] = [
    Fault::BadRequest,
    Fault::Unauthorized,
    Fault::Forbidden,
    Fault::NotFound,
    Fault::Gone,
    Fault::Unprocessable,
    Fault::TooManyRequests,
    Fault::Throttled,
    Fault::InternalError,
    Fault::Unavailable,
    Fault::GatewayTimeout,
    Fault::Conflict,
    Fault::Redirected,
    Fault::TooLargeByType,
    Fault::TooLargeByCause,
    Fault::TooLargeByMessage,
    Fault::HtmlOk,
    Fault::HtmlBadGateway,
    Fault::EmptyBody,
    Fault::Silence,
    Fault::ConnectionRefused,
    Fault::Untrusted,
    Fault::Delay,
    Fault::DuplicateClose,
    Fault::EarlyEnd,
];
const CUTS: [Fault; 3] = [Fault::CutByReset, Fault::CutByEnd, Fault::CutBySilence];
/// What ends a watch.
const TO_WATCHES: [Fault; 7] = [
    Fault::ShortWatch,
    Fault::StreamGone,
    Fault::StreamError,
    Fault::StreamThrottled,
    Fault::Compacted,
    Fault::NoBookmarks,
    Fault::EarlyEnd,
];
/// What can happen to the state as a whole.
const TO_STATES: [Fault; 7] = [
    Fault::NoInitialEnd,
    Fault::TokenExpired,
    Fault::RepeatedPage,
    Fault::OldState,
    Fault::EmptyPages,
    Fault::TokensInTurn,
    Fault::EndlessPages,
];

impl Weather {
    pub(super) fn new(may_restore: bool) -> Self {
        Self { backup: None, may_restore }
    }

    /// Something goes wrong, now or with one of the next requests.
    pub(super) fn strike<T: Tier>(&mut self, world: &mut World<T>, dice: &mut Dice) {
        let now = world.now;
        match dice.below(100) {
            0..30 => arm(&mut world.clients[0], dice.pick(&TO_ANY), Which::Any),
            30..42 => arm(&mut world.clients[0], dice.pick(&CUTS), dice.pick(&[Which::Any, Which::States])),
            42..54 => arm(&mut world.clients[0], dice.pick(&TO_WATCHES), Which::Any),
            54..62 => arm(&mut world.clients[0], dice.pick(&TO_STATES), Which::Any),
            62..66 => pause(&mut world.clients[0], now, dice),
            66..72 => freeze(world, dice),
            72..75 => world.server.compact(world.server.log.revision()),
            75..79 => self.restore(world),
            79..81 => restart(&mut world.clients[0], now),
            81..84 if world.clients[0].stray(now) => world.clients[0].tally.fault(Fault::LateBytes),
            84..86 => go_back(&mut world.clients[0], now),
            86..90 => die(&mut world.clients[0], now),
            90..93 => drift(&mut world.clients[0], now),
            _ => {}
        }
        // Faults that wait for a request need one.
        if dice.chance(70) {
            disturb(&mut world.clients[0], now, dice);
        }
    }

    /// Nothing goes wrong any more.
    pub(super) fn clear<T: Tier>(world: &mut World<T>) {
        world.server.replicas.iter_mut().for_each(|replica| replica.freeze(false));
        let client = &mut world.clients[0];
        client.script.clear();
        // A line of a byte a second can be behind for hours, however well all is: seed 270 once was.
        client.pieces = Some(Pieces::default());
        client.connection_mut().into_iter().for_each(Connection::speed_up);
        client.pause(world.now);
    }

    /// Far enough that what is written later does not reach the versions that are lost.
    fn restore<T: Tier>(&mut self, world: &mut World<T>) {
        let log = &mut world.server.log;
        match self.backup.take() {
            None if std::mem::take(&mut self.may_restore) => {
                self.backup = Some(log.revision());
                log.skip(1_000_000);
            }
            Some(backup) => {
                world.server.restore(backup);
                world.clients[0].tally.fault(Fault::Restore);
                world.clients[0].connection_mut().into_iter().for_each(Connection::reset);
            }
            None => {}
        }
    }
}

fn arm<T: Tier>(client: &mut Client<T>, fault: Fault, which: Which) {
    client.script.arm(fault, which);
}

fn pause<T: Tier>(client: &mut Client<T>, now: Instant, dice: &mut Dice) {
    client.pause(now + dice.between(Duration::from_secs(1), Duration::from_secs(90)));
}

fn freeze<T: Tier>(world: &mut World<T>, dice: &mut Dice) {
    let frozen = dice.chance(60);
    let replica = dice.below(world.server.replicas.len() as u64) as usize;
    world.server.replicas[replica].freeze(frozen);
}

fn restart<T: Tier>(client: &mut Client<T>, now: Instant) {
    client.tally.fault(Fault::Restart);
    client.restart(now);
}

fn die<T: Tier>(client: &mut Client<T>, now: Instant) {
    client.tally.fault(Fault::Killed);
    client.die_and_return(now);
}

fn drift<T: Tier>(client: &mut Client<T>, now: Instant) {
    client.tally.fault(Fault::Drift);
    client.informer.note_drift(now, 1);
}

fn go_back<T: Tier>(client: &mut Client<T>, now: Instant) {
    client.tally.fault(Fault::ClockBack);
    client.go_back(now);
}

/// Something happens to the connection that is open.
fn disturb<T: Tier>(client: &mut Client<T>, now: Instant, dice: &mut Dice) {
    let Some(connection) = client.connection_mut().filter(|connection| connection.is_alive()) else { return };
    let watched = connection.is_watched();
    let fault = match dice.below(10) {
        0..4 => {
            connection.reset();
            Fault::Reset
        }
        4 => {
            connection.fall_silent();
            Fault::HalfOpen
        }
        5..8 if watched => {
            let fault = dice.pick(&[Fault::StreamGone, Fault::StreamError, Fault::StreamThrottled]);
            fault.refusal().iter().for_each(|refusal| connection.answer_mut().break_watch(refusal));
            fault
        }
        _ if watched => {
            connection.end_at(now);
            Fault::EarlyEnd
        }
        _ => return,
    };
    client.tally.fault(fault);
}
