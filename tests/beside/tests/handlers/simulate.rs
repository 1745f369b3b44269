//! Exchanges out of seeds: what a simulated server answers to an informer, and what goes wrong between them.
//!
//! Left out is what the two take differently on purpose, and what other suites are about: objects that cannot be decoded,
//! states that are older than what was known, and restarts.

use crate::handlers::cast::{Act, Cast, Habit, Handler, What};
use crate::handlers::exchange::Exchange;
use crate::handlers::tape::Tape;
use listwatch_core::fifo::Order;
use listwatch_core::{InformerConfig, Instant, Resource};
use listwatch_tests::sim::{
    Client, Connection, Dice, Fault, KeyNumber, Pieces, Server, ServerConfig, TO_ANY, TooLarge, Trace, WatchLists,
    Which, World, Write,
};
use std::time::Duration;

/// An exchange, the settings of the informer that had it, and those who listen.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) exchange: Exchange,
    pub(crate) config: InformerConfig,
    pub(crate) cast: Cast,
    pub(crate) theme: Theme,
}

/// What an exchange is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Much goes wrong, and nobody wants a resync.
    Faults,
    /// Nothing goes wrong, and nothing else happens at the time of a resync.
    Resync,
    /// Both; when client-go's resync comes is anyone's guess.
    Both,
}

/// What ends an answer too early, or leads nowhere.
const TO_SOME: [Fault; 16] = [
    Fault::CutByReset,
    Fault::CutByEnd,
    Fault::CutBySilence,
    Fault::CutByReset,
    Fault::CutByEnd,
    Fault::ShortWatch,
    Fault::StreamGone,
    Fault::StreamError,
    Fault::StreamThrottled,
    Fault::Compacted,
    Fault::NoBookmarks,
    Fault::NoInitialEnd,
    Fault::TokenExpired,
    Fault::RepeatedPage,
    Fault::EmptyPages,
    Fault::TokensInTurn,
];

/// The scene of a seed.
pub(crate) fn scene(seed: u64) -> Scene {
    let mut dice = Dice::new(seed);
    let theme = match dice.below(10) {
        0..5 => Theme::Faults,
        5..8 => Theme::Resync,
        _ => Theme::Both,
    };
    let config = config(&mut dice, theme);
    let resource = resource(&mut dice);
    let server = server(&mut dice, theme);
    let tape = Tape::default();
    let mut client = Client::new(resource.clone(), config, server.keys, Dice::new(dice.throw()), Trace::new(false));
    (client.wire, client.driven) = (Box::new(tape.clone()), true);
    if theme == Theme::Resync {
        client.pieces = Some(Pieces { most: usize::MAX, latency: Duration::ZERO, pause: Duration::ZERO });
    }
    let mut play = Play { world: World::new(Server::new(server), vec![client]), dice, theme, keys: server.keys };
    let tick = Duration::from_secs(play.dice.pick(&[10, 30]));
    play.run(tick);
    let exchange = tape.exchange(resource, play.world.now);
    let cast = cast(&mut play.dice, &exchange, theme, tick, &["a", "b"]);
    Scene { exchange, config, cast, theme }
}

fn config(dice: &mut Dice, theme: Theme) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.order = dice.pick(&[Order::Arrival, Order::Arrival, Order::ByKey]);
    let reflector = &mut config.reflector;
    reflector.watch_list = dice.chance(50);
    reflector.page_size = dice.pick(&[None, Some(1), Some(2), Some(5), Some(500)]);
    reflector.max_pages = 60;
    let seconds = |least, most| Some((Duration::from_secs(least), Duration::from_secs(most)));
    reflector.watch_timeout = match theme {
        Theme::Resync => seconds(300, 600),
        Theme::Faults | Theme::Both => dice.pick(&[seconds(5, 10), seconds(60, 120), seconds(300, 600)]),
    };
    reflector.answer_timeout = Some(Duration::from_secs(10));
    reflector.seed = Some(dice.throw());
    config
}

fn resource(dice: &mut Dice) -> Resource {
    let resource = Resource::new("/api/v1/pods");
    match dice.below(6) {
        0 => resource.with_label_selector("app in (a,b)"),
        1 => resource.with_field_selector("spec.nodeName!=n1"),
        _ => resource,
    }
}

fn server(dice: &mut Dice, theme: Theme) -> ServerConfig {
    ServerConfig {
        watch_lists: dice.pick(&[WatchLists::Served, WatchLists::Served, WatchLists::Refused]),
        initial: match theme {
            Theme::Resync => Duration::ZERO,
            Theme::Faults | Theme::Both => Duration::from_millis(dice.pick(&[0, 100, 8_000])),
        },
        early_bookmarks: dice.chance(30),
        refuses_watches: dice.chance(50),
        too_large: dice.pick(&[TooLarge::CauseType, TooLarge::CauseMessage, TooLarge::Message]),
        says_kinds: true,
        ..ServerConfig::sound(dice.pick(&[1, 3, 6, 12]))
    }
}

/// An exchange on its way.
struct Play {
    world: World,
    dice: Dice,
    theme: Theme,
    keys: KeyNumber,
}

impl Play {
    fn run(&mut self, tick: Duration) {
        for key in 0..self.keys {
            if self.dice.chance(60) {
                self.write(key);
            }
        }
        self.client().informer.start(Instant::ZERO);
        for _ in 0..3 + self.dice.below(15) {
            let next = self.next(tick);
            self.world.advance(next);
            if self.theme != Theme::Resync && self.dice.chance(40) {
                self.strike();
            } else {
                self.change();
            }
        }
        // The last stream that client-go reads may end a second late.
        let end = self.next(tick) + Duration::from_secs(self.dice.pick(&[2, 60, 300]));
        self.world.advance(end);
    }

    /// When the next thing happens: where resyncs matter, not near one.
    fn next(&mut self, tick: Duration) -> Instant {
        let now = self.world.now;
        match self.theme {
            Theme::Faults => now + self.dice.between(Duration::ZERO, Duration::from_secs(30)),
            Theme::Both | Theme::Resync => {
                let ticks = now.as_nanos() / tick.as_nanos() as u64 + self.dice.below(2);
                let within = self.dice.between(tick / 10, tick * 8 / 10);
                now.max(Instant::ZERO + tick * ticks as u32 + within)
            }
        }
    }

    fn client(&mut self) -> &mut Client {
        &mut self.world.clients[0]
    }

    fn write(&mut self, key: KeyNumber) {
        let (app, node) = (self.dice.below(4) as u8, self.dice.below(3) as u8);
        self.world.server.log.put(key, Write { app, node, ..Write::default() });
    }

    /// Somebody writes something.
    fn change(&mut self) {
        for _ in 0..=self.dice.below(4) {
            let key = self.dice.below(self.keys.into()) as KeyNumber;
            match self.dice.below(10) {
                0..6 => self.write(key),
                6..8 => self.world.server.log.delete(key),
                8 => {
                    self.world.server.log.delete(key);
                    self.write(key);
                }
                _ => self.world.server.log.skip(1 + self.dice.below(3)),
            }
        }
        self.world.stir();
    }

    /// Something goes wrong, now or with one of the next requests.
    fn strike(&mut self) {
        let which = self.dice.pick(&[Which::Any, Which::Any, Which::States]);
        let fault = if self.dice.chance(40) { self.dice.pick(&TO_ANY) } else { self.dice.pick(&TO_SOME) };
        self.client().script.arm(fault, which);
        if self.dice.chance(20) {
            let revision = self.world.server.log.revision();
            self.world.server.compact(revision);
        }
        // Faults that wait for a request need one.
        if self.dice.chance(70) {
            self.disturb();
        }
    }

    /// Something happens to the connection that is open.
    fn disturb(&mut self) {
        let (now, throw) = (self.world.now, self.dice.below(10));
        let fault = self.dice.pick(&[Fault::StreamGone, Fault::StreamError, Fault::StreamThrottled]);
        let Some(open) = self.client().connection_mut().filter(|open| open.is_alive()) else { return };
        match throw {
            0..4 => Connection::reset(open),
            4 => open.fall_silent(),
            5..8 if open.is_watched() => {
                fault.refusal().iter().for_each(|refusal| open.answer_mut().break_watch(refusal));
            }
            _ if open.is_watched() => open.end_at(now),
            _ => {}
        }
    }
}

/// Handlers of an exchange, some of which leave out the objects of one of `apps`.
pub(crate) fn cast(dice: &mut Dice, exchange: &Exchange, theme: Theme, tick: Duration, apps: &[&'static str]) -> Cast {
    let handlers: Vec<_> = (0..1 + dice.below(4)).map(|_| handler(dice, theme, tick, apps)).collect();
    let mut script = Vec::new();
    for number in 0..handlers.len() {
        let joins = if dice.chance(50) { None } else { Some(moment(dice, exchange, theme, tick)) };
        script.push(Act { at: joins, what: What::Join(number) });
        let leaves = moment(dice, exchange, Theme::Faults, tick);
        if dice.chance(30) && Some(leaves) > joins {
            script.push(Act { at: Some(leaves), what: What::Leave(number) });
        }
    }
    for _ in 0..1 + dice.below(4) {
        script.push(Act { at: Some(moment(dice, exchange, Theme::Faults, tick)), what: What::Look });
    }
    script.push(Act { at: Some(exchange.until), what: What::Look });
    script.sort_by_key(|act| act.at);
    let resync = if theme == Theme::Faults { Duration::ZERO } else { dice.pick(&[Duration::ZERO, tick, tick]) };
    Cast { resync, handlers, script }
}

fn handler(dice: &mut Dice, theme: Theme, tick: Duration, apps: &[&'static str]) -> Handler {
    let sips = 1 + dice.below(3) as u32;
    Handler {
        resync: if theme == Theme::Faults {
            None
        } else {
            dice.pick(&[None, Some(Duration::ZERO), Some(tick), Some(tick * 3 / 2), Some(tick * 2)])
        },
        without: Some(dice.pick(apps)).filter(|_| dice.chance(50)),
        quiet: dice.chance(20),
        coalesces: theme == Theme::Faults && dice.chance(20),
        habit: if theme == Theme::Faults {
            dice.pick(&[Habit::Eager, Habit::Sips(sips), Habit::Late])
        } else {
            Habit::Eager
        },
    }
}

/// A time at which somebody comes or goes: that of something that happens, or any; where resyncs matter, just before one,
/// so that the two agree on what has happened by then.
fn moment(dice: &mut Dice, exchange: &Exchange, theme: Theme, tick: Duration) -> Instant {
    let until = exchange.until.as_nanos();
    if theme == Theme::Resync {
        let ticks = 1 + dice.below(until / tick.as_nanos() as u64 + 1);
        return Instant::from_nanos((Instant::ZERO + tick * ticks as u32).as_nanos() - 1).min(exchange.until);
    }
    let pieces: Vec<_> = exchange.asked.iter().flat_map(|asked| &asked.pieces).collect();
    let moment = match pieces.is_empty() || dice.chance(20) {
        true => Instant::from_nanos(dice.below(until + 1)),
        false => dice.pick(&pieces).0,
    };
    // More may come at the same moment. At the end of a line, both have read all that came.
    let before = pieces.iter().take_while(|(at, _)| *at <= moment).count();
    let is_whole = |place: &usize| {
        let (at, bytes) = pieces[*place];
        bytes.ends_with(b"\n") && pieces.get(place + 1).is_none_or(|(next, _)| next > at)
    };
    match before.checked_sub(1).filter(|last| !is_whole(last)) {
        None => moment,
        Some(last) => (last..pieces.len()).find(is_whole).map_or(exchange.until, |place| pieces[place].0),
    }
}
