//! Operations on an informer, on the server that it follows, and on the connection between them.

use crate::sim::{
    AlwaysFull, Answer, Ask, Health, InParts, InformerOf, Observer, OnHeap, OneByOne, Refusal, Roomy, Seen, Selector,
    Server, ServerConfig, Stored, Tier, TooLarge, WatchLists, Write,
};
use arbitrary::{Arbitrary, Result, Unstructured};
use listwatch_core::cache::Cache;
use listwatch_core::fifo::Order;
use listwatch_core::informer::EventOf;
use listwatch_core::reflector::Action;
use listwatch_core::request::{Query, RequestId};
use listwatch_core::transport::{Incoming, ResponseHead, TransportError, TransportErrorKind};
use listwatch_core::{InformerConfig, Instant, Resource};
use std::time::Duration;

/// One operation. Keys are below [`Op::KEYS`].
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// An object is created or changed.
    Apply(u8, Health),
    /// An object is deleted.
    Delete(u8),
    /// An object is deleted, and another one created under its name.
    Recreate(u8),
    /// The server forgets the past.
    Compact,
    /// The server says how far the watch has come.
    Bookmark,
    /// The server ends the watch by an error in the stream.
    Break(u16),
    /// The server refuses the open request, if it has not begun to answer it.
    Refuse(u16),
    /// Up to so many bytes of the answer arrive, and before the first the head.
    Deliver(usize),
    /// The answer ends here, as it should or not.
    Close(bool),
    /// Something arrives under the number of an earlier request.
    Stray,
    /// Time passes.
    Advance(Duration),
    /// The clock that the informer sees goes back, until time passes.
    GoBack(Duration),
    /// So many events are taken.
    Take(usize),
    /// The informer's requests are sent; they are sent after every operation unless this is left to it.
    Send,
    /// The informer is stopped.
    Stop,
    /// The informer is started.
    Start,
}

impl Setup {
    fn is_by_line(self) -> bool {
        self.queue_limit >= 128
    }
}

impl Op {
    /// The number of keys.
    pub const KEYS: u8 = 4;
}

/// What a server may answer.
const STATUSES: [u16; 8] = [410, 429, 500, 503, 401, 403, 404, 422];

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (kind, byte) = (u8::arbitrary(u)?, u8::arbitrary(u)?);
        let (key, high) = (byte % Self::KEYS, usize::from(byte / Self::KEYS));
        let health = [Health::Bad, Health::Unreadable].get(high).copied().unwrap_or_default();
        let status = STATUSES[usize::from(byte) % STATUSES.len()];
        let time = Duration::from_millis(250) * u32::from(byte % 32);
        Ok(match kind % 64 {
            0..=11 => Self::Apply(key, health),
            12..=16 => Self::Delete(key),
            17..=19 => Self::Recreate(key),
            20..=21 => Self::Compact,
            22..=25 => Self::Bookmark,
            26 => Self::Break(status),
            27..=28 => Self::Refuse(status),
            29..=42 => Self::Deliver(if byte < 128 { byte.into() } else { usize::MAX }),
            43..=45 => Self::Close(byte < 128),
            46 => Self::Stray,
            47..=50 => Self::Advance(time),
            51 => Self::GoBack(time),
            52..=57 => Self::Take(if byte < 128 { byte.into() } else { usize::MAX }),
            58..=60 => Self::Send,
            61 => Self::Stop,
            _ => Self::Start,
        })
    }
}

/// How an informer is set up, its server, and who drives it.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Setup {
    by_key: bool,
    watch_list: bool,
    server_knows_watch_list: bool,
    pages_of: u8,
    /// Its lowest bits are the limit; the highest one says that bytes come line by line.
    queue_limit: u8,
    /// Requests are sent only by [`Op::Send`].
    sends_late: bool,
}

/// Runs the operations that `data` stands for, on an informer on the heap.
///
/// # Panics
/// Where an informer breaks one of its rules.
pub fn run(data: &[u8]) {
    run_in::<OnHeap>(data);
}

/// The same in fixed memory, whose size the first byte says.
///
/// # Panics
/// Where an informer breaks one of its rules.
pub fn run_fixed(data: &[u8]) {
    let Some((memory, data)) = data.split_first() else { return };
    match memory % 4 {
        0 => run_in::<Roomy>(data),
        1 => run_in::<InParts>(data),
        2 => run_in::<OneByOne>(data),
        _ => run_in::<AlwaysFull>(data),
    }
}

fn run_in<T: Tier>(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok(setup) = data.arbitrary() else { return };
    let ops: Vec<Op> = super::rest(&mut data);
    check::<T>(setup, &ops);
}

/// Runs `ops`. Then the server is healthy, everything arrives, and the cache must be what the server has.
///
/// # Panics
/// Where an informer breaks one of its rules.
pub fn check<T: Tier>(setup: Setup, ops: &[Op]) {
    let mut run = Run::<T>::new(setup);
    for op in ops {
        run.step(*op);
        run.check();
    }
    run.settle();
}

struct Run<T: Tier> {
    informer: InformerOf<T>,
    server: Server,
    answer: Answer,
    setup: Setup,
    now: Instant,
    /// What the informer is told.
    clock: Instant,
    open: Option<Open>,
    /// What the events amount to, and the rules that hold in every world.
    observer: Observer,
    /// Each version that was received, beside the number of deltas that had been queued by then: whole only where bytes
    /// come line by line.
    versions: Vec<(usize, u64)>,
    /// How many deltas were taken, likewise.
    taken: usize,
}

/// A request that was sent.
#[derive(Clone, Copy)]
struct Open {
    id: RequestId,
    begun: bool,
}

impl<T: Tier> Run<T> {
    fn new(setup: Setup) -> Self {
        let mut config = InformerConfig::default();
        config.order = if setup.by_key { Order::ByKey } else { Order::Arrival };
        config.queue_limit = usize::from(setup.queue_limit % 4) + 1;
        config.reflector.watch_list = setup.watch_list;
        config.reflector.page_size = Some(u32::from(setup.pages_of % 4)).filter(|size| *size > 0);
        config.reflector.watch_timeout = Some((Duration::from_secs(5), Duration::from_secs(10)));
        config.reflector.watch_margin = Duration::from_secs(1);
        let observer = Observer::new(Op::KEYS, Selector::default(), false, config.queue_limit);
        Self {
            informer: T::informer(Resource::new("/api/v1/things"), config),
            server: Server::new(server(setup)),
            answer: Answer::complete(Vec::new()),
            setup,
            now: Instant::ZERO,
            clock: Instant::ZERO,
            open: None,
            observer: observer.with_room(T::ROOM),
            versions: vec![(0, 0)],
            taken: 0,
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Apply(key, health) => {
                self.observer.blind |= health == Health::Unreadable;
                self.server.log.put(key, Write { health, ..Write::default() });
            }
            Op::Delete(key) => self.server.log.delete(key),
            Op::Recreate(key) => {
                self.server.log.delete(key);
                self.server.log.put(key, Write::default());
            }
            Op::Compact => self.server.compact(self.server.log.revision()),
            Op::Bookmark => self.server.bookmark(self.now, &mut self.answer),
            Op::Break(status) => {
                self.server.advance(self.now, &mut self.answer);
                self.answer.break_watch(&Refusal::of(status));
            }
            Op::Refuse(status) => {
                if self.open.is_some_and(|open| !open.begun) {
                    self.answer = Refusal::of(status).into();
                }
            }
            Op::Deliver(most) => self.deliver(most),
            Op::Close(properly) => self.close(properly),
            Op::Stray => self.stray(),
            Op::Advance(time) => self.advance(self.now + time),
            Op::GoBack(time) => {
                self.clock = Instant::from_nanos(self.now.as_nanos().saturating_sub(time.as_nanos() as u64));
                self.informer.handle_timeout(self.clock);
            }
            Op::Take(most) => _ = (0..most).take_while(|_| self.take()).count(),
            Op::Send => self.send(),
            Op::Stop => self.informer.stop(self.clock),
            Op::Start => self.informer.start(self.clock),
        }
        self.note_received();
        if !self.setup.sends_late {
            self.send();
        }
    }

    /// What holds between any two operations.
    fn check(&mut self) {
        self.observer.check::<T>(&self.informer, &self.server.log);
        self.check_applied();
    }

    /// Everything up to the applied version is in the cache; and it is the last one of which this holds.
    fn check_applied(&self) {
        let applied = number(self.informer.applied_version());
        // A list in parts is received before all of it is queued.
        if T::ROOM.is_none() && self.setup.is_by_line() && !self.setup.by_key {
            let taken = self.versions.iter().rfind(|(queued, _)| *queued <= self.taken);
            assert_eq!(Some(applied), taken.map(|(_, version)| *version), "of {:?}", self.versions);
        }
        if !self.observer.blind {
            (0..Op::KEYS).for_each(|key| self.check_applied_key(key, applied));
        }
    }

    fn check_applied_key(&self, key: u8, applied: u64) {
        let log = &self.server.log;
        let cached = self.informer.cache().read(|cache| cache.iter().find(|it| it.place() == key).map(Seen::revision));
        match log.state(key, applied) {
            Some(Stored { health: Health::Bad, .. }) => {}
            Some(stored) => {
                let received = number(self.informer.received_version());
                let is_lacking = cached.is_none() && T::ROOM.is_some_and(|room| room < Op::KEYS.into());
                let may_lack = is_lacking || log.was_gone(key, applied, received, |_| true);
                let is_newer = |version| version >= stored.revision;
                assert!(may_lack || cached.is_some_and(is_newer), "{cached:?} of {key} at {applied}: {stored:?}");
            }
            None => assert!(cached.is_none_or(|version| version > applied), "{cached:?} of {key} at {applied}"),
        }
    }

    fn note_received(&mut self) {
        let received = number(self.informer.received_version());
        if self.versions.last().is_some_and(|(_, last)| *last != received) {
            self.versions.push((self.taken + self.informer.queued(), received));
        }
    }

    fn deliver(&mut self, most: usize) {
        if !self.setup.is_by_line() {
            return self.bring(most);
        }
        let mut left = most;
        while left > 0 && self.open.is_some() && self.informer.wants_input() {
            self.server.advance(self.now, &mut self.answer);
            let unread = self.answer.unread();
            let line = unread.iter().position(|byte| *byte == b'\n').map_or(unread.len(), |end| end + 1).min(left);
            self.bring(line);
            self.note_received();
            left = if line > 0 { left - line } else { 0 };
        }
    }

    /// As a driver does, nothing is brought that the informer does not want.
    fn bring(&mut self, most: usize) {
        let Some(open) = self.open.as_mut().filter(|_| self.informer.wants_input()) else { return };
        let (id, status) = (open.id, self.answer.head().status);
        if !std::mem::replace(&mut open.begun, true) {
            let retry_after = (status == 503).then_some(Duration::from_secs(1));
            let head = ResponseHead { status, retry_after, content_type: None };
            self.informer.handle(self.clock, Incoming::Head { id, head });
        }
        let space = self.informer.space();
        let most = most.min(space.len());
        self.server.advance(self.now, &mut self.answer);
        let len = self.answer.read(&mut space[..most]);
        if len > 0 {
            self.informer.handle(self.clock, Incoming::Data { id, len });
        }
    }

    fn close(&mut self, properly: bool) {
        let Some(Open { id, .. }) = self.open.take_if(|_| self.informer.wants_input()) else { return };
        let error = TransportError::new(TransportErrorKind::Reset, "");
        let closed = if properly { Incoming::End { id } } else { Incoming::Failed { id, error } };
        self.informer.handle(self.clock, closed);
    }

    /// What comes under an old number changes nothing.
    fn stray(&mut self) {
        // The first moment after events were taken is when silence begins.
        self.informer.handle_timeout(self.clock);
        let Some(open) = self.open.filter(|open| open.id.0 > 1 && self.informer.wants_input()) else { return };
        let id = RequestId(open.id.0 - 1);
        let seen = |informer: &InformerOf<T>| {
            let version = informer.received_version().map(str::to_owned);
            (informer.phase(), version, informer.poll_timeout(), informer.queued(), informer.wants_input())
        };
        let before = seen(&self.informer);
        let head = ResponseHead { status: 200, ..ResponseHead::default() };
        self.informer.handle(self.clock, Incoming::Head { id, head });
        self.informer.handle(self.clock, Incoming::Data { id, len: 1 });
        self.informer.handle(self.clock, Incoming::End { id });
        assert_eq!(seen(&self.informer), before);
    }

    fn advance(&mut self, now: Instant) {
        (self.now, self.clock) = (now, now);
        self.informer.handle_timeout(now);
        assert!(self.informer.poll_timeout().is_none_or(|deadline| deadline > now), "a deadline is left behind");
    }

    /// Passes the requests on: at most one at a time.
    fn send(&mut self) {
        while let Some(action) = self.informer.poll_action() {
            match action {
                Action::Open(id, request) => {
                    assert!(self.open.is_none(), "{id:?} while another request is open");
                    if request.query() != Query::Watch && request.continue_token().is_none() {
                        self.observer.note_listing(&self.server.log);
                    }
                    self.answer = self.server.open(self.now, &Ask::from(&request), 0);
                    self.open = Some(Open { id, begun: false });
                }
                Action::Abort(id) => _ = self.open.take_if(|open| open.id == id),
            }
        }
    }

    fn take(&mut self) -> bool {
        let queued = self.informer.queued();
        let event = self.informer.poll_event();
        self.taken += queued.saturating_sub(self.informer.queued());
        let Some(event) = event else { return false };
        if let EventOf::Synced = event {
            assert!(self.informer.has_synced(), "synced is told too early");
        }
        self.observer.note(&event, &self.server.log);
        self.observer.check::<T>(&self.informer, &self.server.log);
        true
    }

    /// All objects are well, and everything arrives.
    fn settle(&mut self) {
        self.setup.sends_late = false;
        let log = &mut self.server.log;
        let broken: Vec<u8> = log.states(log.revision()).map(|(key, _)| key).collect();
        broken.into_iter().for_each(|key| log.put(key, Write::default()));
        if self.observer.blind {
            self.step(Op::Stop);
        }
        self.step(Op::Start);
        for _ in 0..1_000 {
            self.step(Op::Take(usize::MAX));
            self.step(Op::Deliver(usize::MAX));
            self.check();
            let told = self.take();
            let silent = self.is_silent();
            match self.open {
                None => self.advance(self.informer.poll_timeout().unwrap_or(self.now)),
                Some(_) if !silent => {}
                Some(_) if !self.answer.is_watch() => self.step(Op::Close(true)),
                Some(_) if self.answer.has_initial_events() => self.step(Op::Bookmark),
                Some(_) if told => {}
                Some(_) if self.observer.has_caught_up(&self.server.log) => return,
                // Once there is room, the state is read again.
                Some(_) => self.advance(self.informer.poll_timeout().unwrap_or(self.now)),
            }
        }
        panic!("the informer does not catch up: {:?}", self.informer);
    }

    /// Whether everything was said that there is, for ever or for now.
    fn is_silent(&mut self) -> bool {
        self.server.advance(self.now, &mut self.answer);
        self.answer.unread().is_empty()
    }
}

/// A server that says nothing by itself.
fn server(setup: Setup) -> ServerConfig {
    ServerConfig {
        keys: Op::KEYS,
        replicas: 1,
        watch_lists: if setup.server_knows_watch_list { WatchLists::Served } else { WatchLists::Refused },
        initial: Duration::ZERO,
        early_bookmarks: false,
        keeps_time: false,
        refuses_watches: true,
        waits_for_versions: false,
        too_large: TooLarge::CauseType,
        says_kinds: false,
    }
}

fn number(version: Option<&str>) -> u64 {
    version.map_or(0, |text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}")))
}
