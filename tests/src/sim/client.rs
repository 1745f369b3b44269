//! An informer, the connection under it, the reader of its events, and the observer that checks all of it.

mod rebirth;

use super::answer::Answer;
use super::ask::Ask;
use super::dice::Dice;
use super::fault::Fault;
use super::network::{Connection, Pieces};
use super::observer::Observer;
use super::script::Script;
use super::selector::Selector;
use super::server::Server;
use super::tally::Tally;
use super::tier::{InformerOf, ObjectOf, OnHeap, Seen, Tier};
use super::trace::Trace;
use super::wire::{Direct, Wire};
use listwatch_core::informer::EventOf;
use listwatch_core::object::Version;
use listwatch_core::reflector::{Action, Failure, Phase};
use listwatch_core::request::{Query, Request, RequestId, Verb};
use listwatch_core::time::earliest;
use listwatch_core::transport::{Incoming, ResponseHead, TransportErrorKind};
use listwatch_core::{InformerConfig, Instant, Resource};
use rebirth::Memory;
use std::collections::BTreeMap;
use std::time::Duration;

/// A client of the simulated server.
#[derive(Debug)]
pub struct Client<T: Tier = OnHeap> {
    /// What is tested.
    pub informer: InformerOf<T>,
    /// What it is checked by.
    pub observer: Observer,
    /// What it met.
    pub tally: Tally,
    /// What happened.
    pub trace: Trace,
    /// What will go wrong.
    pub script: Script,
    /// In what pieces answers come; drawn for each connection if there is none.
    pub pieces: Option<Pieces>,
    /// What its requests and their answers go over.
    pub wire: Box<dyn Wire>,
    /// Time passes for the informer after its events were taken too, as its driver has it.
    pub driven: bool,
    connection: Option<Connection>,
    dice: Dice,
    last_id: RequestId,
    /// Who takes events does so only after this.
    pause: Option<Instant>,
    /// How many events are taken one by one, with a pause after each.
    sips: u64,
    /// When the server is to be asked again at the earliest, as it said.
    not_before: Instant,
    /// There were events during this pause.
    missed: bool,
    /// The connection that was given up last had something to read.
    unread: bool,
    /// The next end comes twice.
    twice: bool,
    frame_limit: usize,
    memory: Memory<ObjectOf<T>>,
    pub(super) noted: Noted,
}

/// What an audit of the client reads beside its cache.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// The version that was applied when every event had been taken.
    pub(super) applied: Option<Version>,
    /// The last state of each object that could not be decoded: key and version.
    pub(super) undecodable: BTreeMap<String, Version>,
}

impl Client {
    /// A client that has not begun. The server has `keys` objects at most.
    ///
    /// # Panics
    /// Where the selectors make no sense.
    #[must_use]
    pub fn new(resource: Resource, config: InformerConfig, keys: u8, dice: Dice, trace: Trace) -> Self {
        Self::in_tier(resource, config, keys, dice, trace)
    }
}

impl<T: Tier> Client<T> {
    /// The same, with the informer of any tier.
    ///
    /// # Panics
    /// Where the selectors make no sense.
    #[must_use]
    pub fn in_tier(resource: Resource, config: InformerConfig, keys: u8, dice: Dice, trace: Trace) -> Self {
        let selector = Selector::of(&resource).unwrap_or_else(|| panic!("{resource:?} cannot be selected"));
        let observer = Observer::new(keys, selector, resource.is_metadata_only(), config.queue_limit);
        let observer = observer.with_room(T::ROOM);
        let memory = Memory::new(resource.clone(), config);
        Self {
            informer: T::informer(resource, config),
            observer,
            tally: Tally::default(),
            trace,
            script: Script::default(),
            pieces: None,
            wire: Box::new(Direct),
            driven: false,
            connection: None,
            dice,
            last_id: RequestId::default(),
            pause: None,
            sips: 0,
            not_before: Instant::ZERO,
            missed: false,
            unread: false,
            twice: false,
            frame_limit: config.decode.frame_limit,
            memory,
            noted: Noted::default(),
        }
    }

    /// The connection, if a request is open.
    pub fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut()
    }

    /// Whether nothing is left but to watch.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let at_rest = |connection: &Connection| connection.is_watched() && connection.waits_since().is_none();
        self.informer.queued() == 0 && self.connection.as_ref().is_some_and(at_rest)
    }

    /// When something happens by itself.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let reading = self.connection.as_ref().filter(|_| self.informer.wants_input());
        earliest(earliest(self.informer.poll_timeout(), self.pause), reading.and_then(Connection::poll_timeout))
    }

    /// Does what can be done at `now`, and checks everything after each step.
    ///
    /// # Panics
    /// Where the informer breaks one of its rules.
    pub fn turn(&mut self, now: Instant, server: &mut Server) {
        self.pause = self.pause.filter(|pause| *pause > now);
        loop {
            self.let_time_pass(now);
            self.send(now, server);
            self.take_events(now, server);
            if self.driven {
                self.informer.handle_timeout(now);
            }
            self.send(now, server);
            // What was not due while events were to be taken first may be due now.
            if self.informer.poll_timeout().is_some_and(|due| due <= now) {
                continue;
            }
            self.observer.check::<T>(&self.informer, &server.log);
            self.save(now);
            if !self.receive(now, server) {
                return;
            }
        }
    }

    /// What is due is handled, and what is not is not; both as often as one likes.
    fn let_time_pass(&mut self, now: Instant) {
        if self.informer.poll_timeout().is_some_and(|due| due <= now) {
            self.tally.inputs += 1;
            self.informer.handle_timeout(now);
            assert!(self.informer.poll_timeout().is_none_or(|due| due > now), "a deadline is left behind at {now:?}");
        }
        if self.dice.chance(2) {
            self.informer.handle_timeout(now);
            let before = self.seen();
            self.informer.handle_timeout(now);
            assert_eq!(self.seen(), before, "a timeout that is not due changed something");
        }
    }

    /// What can be seen of the informer without changing it.
    fn seen(&self) -> impl PartialEq + std::fmt::Debug + use<T> {
        let informer = &self.informer;
        let version = informer.received_version().map(str::to_owned);
        (informer.phase(), version, informer.poll_timeout(), informer.queued(), informer.wants_input())
    }

    fn send(&mut self, now: Instant, server: &mut Server) {
        let mut actions = 0;
        while let Some(action) = self.informer.poll_action() {
            actions += 1;
            assert!(actions <= 2, "more than one request is given up and one opened");
            match action {
                Action::Open(id, request) => self.open(now, id, &request, server),
                Action::Abort(id) => {
                    let open = self.connection.take_if(|open| open.id() == id);
                    let open = open.unwrap_or_else(|| panic!("{id:?} is given up, but it is not open"));
                    self.wire.abort(id);
                    self.unread = open.waits_since().is_some_and(|since| since < now);
                    self.trace.note(&[now.as_nanos(), id.0, 5]);
                }
            }
        }
    }

    fn open(&mut self, now: Instant, id: RequestId, request: &Request, server: &mut Server) {
        assert!(self.connection.is_none(), "{id:?} while another request is open");
        assert!(now >= self.not_before, "{id:?} comes before the time that the server asked for");
        assert!(id > std::mem::replace(&mut self.last_id, id), "{id:?} comes twice");
        self.tally.requests += 1;
        self.trace.request(now, id, request);
        if request.query() != Query::Watch && request.continue_token().is_none() {
            self.observer.note_listing(&server.log);
        }
        let fault = self.script.next(now, request.query(), request.continue_token().is_some());
        let connection = self.connect(now, id, request, fault, server);
        self.connection = Some(connection);
    }

    fn connect(
        &mut self,
        now: Instant,
        id: RequestId,
        request: &Request,
        fault: Option<Fault>,
        server: &mut Server,
    ) -> Connection {
        let fault = fault.filter(|fault| *fault != Fault::OldState || names_a_version(request));
        let replica = self.dice.below(server.replicas.len() as u64) as usize;
        let barrier = fault.and_then(Fault::barrier);
        let answer = match barrier {
            Some(kind) => {
                self.wire.bar(now, id, request, kind);
                Answer::complete(Vec::new())
            }
            None => {
                let ask = self.wire.open(now, id, request);
                self.answer(now, &ask, fault, replica, server)
            }
        };
        let pieces = self.pieces.unwrap_or_else(|| Pieces::draw(&mut self.dice));
        let mut connection = Connection::new(now, id, answer, pieces);
        if let Some(kind) = barrier {
            connection.fail(kind);
        }
        if let Some(fault) = fault {
            self.spoil(now, &mut connection, fault);
            self.tally.fault(fault);
        }
        connection
    }

    /// What the server says, or what stands before it.
    fn answer(&mut self, now: Instant, ask: &Ask, fault: Option<Fault>, replica: usize, server: &mut Server) -> Answer {
        let behind = server.replicas[replica].is_behind(&server.log);
        // What is gone was there before it was asked for.
        if matches!(fault, Some(Fault::Compacted | Fault::TokenExpired)) {
            server.log.skip(1);
            server.compact(server.log.revision());
        }
        let mut answer = server.open(now, ask, replica);
        if behind && server.replicas[replica].is_behind(&server.log) {
            self.tally.fault(Fault::StaleReplica);
        }
        let endless = fault.and_then(Fault::endless).or_else(|| ask.request.continue_token());
        if let Some(page) = endless.and_then(|token| server.endless_page(ask, token)) {
            answer = page;
        }
        if let Some(refusal) = fault.filter(|fault| !fault.is_in_stream()).and_then(Fault::refusal) {
            answer = refusal.into();
        }
        if let (Some(Fault::RepeatedPage), Some(token)) = (fault, ask.request.continue_token()) {
            answer = server.repeated_page(token);
        }
        if fault == Some(Fault::OldState) {
            let back = 1 + self.dice.below(20);
            answer = server.old_list(ask, server.log.revision().saturating_sub(back).max(1));
        }
        if matches!(fault, Some(Fault::NoBookmarks | Fault::NoInitialEnd)) {
            answer.withhold_bookmarks();
        }
        answer
    }

    /// What goes wrong on the way.
    fn spoil(&mut self, now: Instant, connection: &mut Connection, fault: Fault) {
        match fault {
            Fault::Redirected => connection.fail(TransportErrorKind::Protocol),
            Fault::Silence => connection.fall_silent(),
            Fault::Delay => connection.delay(self.dice.between(Duration::from_secs(2), Duration::from_secs(50))),
            Fault::CutByReset | Fault::CutByEnd | Fault::CutBySilence => {
                let most = if self.dice.chance(50) { 60 } else { 2_000 };
                connection.cut_after(self.dice.below(most) as usize, fault);
            }
            Fault::EarlyEnd => connection.end_at(now + self.dice.between(Duration::ZERO, Duration::from_secs(4))),
            Fault::ShortWatch => connection.end_at(now + Duration::from_secs(2)),
            Fault::DuplicateClose => self.twice = true,
            Fault::StreamGone | Fault::StreamError | Fault::StreamThrottled => {
                fault.refusal().iter().for_each(|refusal| connection.answer_mut().break_watch(refusal));
            }
            _ => {}
        }
    }

    /// Takes in one piece of what has come, if it is wanted.
    fn receive(&mut self, now: Instant, server: &mut Server) -> bool {
        let Some(connection) = self.connection.as_mut().filter(|_| self.informer.wants_input()) else { return false };
        let space = self.informer.space();
        let bound = 4 * (self.frame_limit + (32 << 10));
        assert!(space.len() <= bound, "{} bytes are buffered for frames of {}", space.len(), self.frame_limit);
        let Some(said) = connection.poll(now, server, &mut self.dice, space) else { return false };
        let incoming = self.wire.carry(now, said, space);
        match &incoming {
            Incoming::Head { id, head } => {
                self.trace.head(now, *id, head);
                self.not_before = now + head.retry_after.unwrap_or_default();
            }
            Incoming::Data { id, len } => self.trace.data(now, *id, &space[..*len]),
            Incoming::End { id } => self.trace.end(now, *id, None),
            Incoming::Failed { id, error } => self.trace.end(now, *id, Some(error)),
            Incoming::Idle { .. } => {}
        }
        let over = matches!(incoming, Incoming::End { .. } | Incoming::Failed { .. });
        let again = (over && std::mem::take(&mut self.twice)).then(|| incoming.clone());
        if over {
            self.connection = None;
        }
        self.feed(now, incoming);
        if let Some(again) = again {
            self.informer.handle(now, again);
        }
        true
    }

    /// Hands on one input. What is being listed is told to nobody before it is complete.
    fn feed(&mut self, now: Instant, incoming: Incoming) {
        self.tally.inputs += 1;
        let listing = |informer: &InformerOf<T>| informer.phase() == Phase::Listing;
        let (was_listing, queued) = (listing(&self.informer), self.informer.queued());
        let broken = matches!(incoming, Incoming::Failed { .. });
        self.informer.handle(now, incoming);
        let in_parts = T::ROOM.is_some();
        if !in_parts && was_listing && (listing(&self.informer) || broken && self.informer.phase() == Phase::BackingOff)
        {
            assert_eq!(self.informer.queued(), queued, "a list that is not complete is told");
        }
    }

    fn take_events(&mut self, now: Instant, server: &Server) {
        if self.pause.is_some() {
            let waiting = self.informer.queued() > 0 || !self.informer.wants_input();
            if waiting && !std::mem::replace(&mut self.missed, true) {
                self.tally.fault(Fault::SlowReader);
            }
            return;
        }
        while let Some(event) = self.informer.poll_event() {
            self.note(now, &event, server);
            if self.sips > 0 {
                self.sips -= 1;
                self.pause = Some(now + self.dice.between(Duration::ZERO, Duration::from_secs(20)));
                return;
            }
        }
        assert!(self.informer.poll_event().is_none(), "there was nothing to tell, and now there is");
        self.noted.applied = self.informer.applied_version().map(Version::from);
    }

    fn note(&mut self, now: Instant, event: &EventOf<ObjectOf<T>>, server: &Server) {
        self.tally.told += 1;
        self.trace.note(&[now.as_nanos(), 6, event_number(event)]);
        if let EventOf::Failed(report) = event {
            self.tally.failure(report);
            let unread = self.unread && matches!(report.failure, Failure::Stalled { .. });
            assert!(!unread, "a server is called silent whose answer was not read");
        }
        if let EventOf::Undecodable(undecodable) = event {
            let readable = undecodable.key.is_some();
            if let (Some(key), Some(version)) = (&undecodable.key, &undecodable.version) {
                self.noted.undecodable.insert(format!("{key:?}"), version.clone());
            }
            self.observer.needs_restart |= !readable && self.informer.phase() != Phase::Watching;
            self.tally.fault(if readable { Fault::Undecodable } else { Fault::Unreadable });
        }
        self.observer.note(event, &server.log);
    }

    /// Takes no events until then.
    pub fn pause(&mut self, until: Instant) {
        (self.pause, self.missed, self.sips) = (Some(until), false, self.dice.below(8));
    }

    /// The informer is stopped and started again.
    pub fn restart(&mut self, now: Instant) {
        self.informer.stop(now);
        self.not_before = now;
        while let Some(Action::Abort(id)) = self.informer.poll_action() {
            if self.connection.take_if(|open| open.id() == id).is_some() {
                self.wire.abort(id);
            }
        }
        self.informer.start(now);
    }

    /// Leaves its server for good.
    pub fn close(&mut self) {
        self.connection = None;
        self.wire.close();
    }

    /// Head, bytes and end come under the number of an earlier request, and change nothing.
    ///
    /// # Panics
    /// Where they do.
    pub fn stray(&mut self, now: Instant) -> bool {
        let open = self.connection.as_ref().map(Connection::id);
        let stray = RequestId(self.last_id.0.saturating_sub(u64::from(open == Some(self.last_id))));
        if stray.0 == 0 || !self.informer.wants_input() {
            return false;
        }
        self.informer.handle_timeout(now);
        let before = self.seen();
        let head = ResponseHead { status: 200, ..ResponseHead::default() };
        self.informer.handle(now, Incoming::Head { id: stray, head });
        let late = b"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"pod-000\"}}}\n";
        self.informer.space()[..late.len()].copy_from_slice(late);
        self.informer.handle(now, Incoming::Data { id: stray, len: late.len() });
        self.informer.handle(now, Incoming::End { id: stray });
        assert_eq!(self.seen(), before, "bytes under an old number changed something");
        true
    }

    /// The clock goes back for a moment, which changes nothing.
    ///
    /// # Panics
    /// Where it does.
    pub fn go_back(&mut self, now: Instant) {
        self.informer.handle_timeout(now);
        let before = self.seen();
        let earlier = Instant::from_nanos(now.as_nanos().saturating_sub(self.dice.below(1 << 36)));
        self.informer.handle_timeout(earlier);
        assert_eq!(self.seen(), before, "a clock that goes back changed something");
    }
}

/// Whether a list is asked to be not older than something. One that is not is as new as can be, or nobody could tell.
fn names_a_version(request: &Request) -> bool {
    match &request.verb {
        Verb::List { resource_version, .. } => resource_version.as_deref().is_some_and(|version| version != "0"),
        Verb::Watch { .. } => false,
    }
}

/// What an event says, as a number.
fn event_number<V: Seen>(event: &EventOf<V>) -> u64 {
    let kind = match event {
        EventOf::Added { initial, .. } => 1 + u64::from(*initial),
        EventOf::Updated { .. } => 3,
        EventOf::Recreated { .. } => 4,
        EventOf::Deleted { final_state_known, .. } => 5 + u64::from(*final_state_known),
        EventOf::Synced => 7,
        EventOf::Undecodable(_) => 8,
        EventOf::Failed(report) => 9 + u64::from(report.attempts) * 16,
        _ => 0,
    };
    let version = event.object().map(Seen::revision);
    kind + version.unwrap_or_default() * 1_000_003
}
