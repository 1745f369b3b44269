//! The recorder of a program that is killed and started again, beside a server that is sick, over a network that loses.

mod tally;

use super::dice::Dice;
use super::event_server::{EventServer, read_event};
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, CallAction, Method};
use listwatch_core::recorder::{EventRecorder, ObjectReference, Occurrence, RecorderConfig};
use listwatch_core::request::RequestId;
use listwatch_core::time::WallTime;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
pub use tally::RecorderTally;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A program that records occurrences. The first hours are full of faults; then the server is well, and the program ends.
#[derive(Debug)]
pub struct RecorderRun {
    dice: Dice,
    now: Instant,
    program: Program,
    server: EventServer,
    weather: Weather,
    /// When the weather changes.
    changes: Instant,
    /// What is on its way, by the time at which it arrives.
    flights: BTreeMap<(Instant, u64), Flight>,
    sent: u64,
    tally: RecorderTally,
}

/// One life of the program.
#[derive(Debug)]
struct Program {
    recorder: EventRecorder,
    began: Instant,
    /// When it records next; `None` once it ends.
    records: Option<Instant>,
    /// How wrong the calendar is.
    skew: i64,
    open: BTreeSet<RequestId>,
    names: BTreeSet<String>,
    /// How many Events of each object and type were created.
    created: BTreeMap<String, u32>,
    recorded: u64,
    /// A request may have been made whose answer did not come, or the server has forgotten an Event.
    is_doubtful: bool,
}

#[derive(Debug)]
enum Flight {
    Request(RequestId, ApiRequest),
    Answer(RequestId, Result<ApiResponse, TransportError>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    Fair,
    /// Connections break, before or after the request arrives.
    Broken,
    /// Requests and answers take up to this many seconds.
    Slow(u32),
    /// The server asks for so many seconds.
    Busy(u32),
    /// The server fails.
    Sick,
    Forbidden,
}

impl RecorderRun {
    /// The run of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let program = Program::new(&mut dice, Instant::ZERO);
        let (server, weather, flights) = (EventServer::default(), Weather::Fair, BTreeMap::new());
        let (now, changes, tally) = (Instant::ZERO, Instant::ZERO, RecorderTally::default());
        Self { dice, now, program, server, weather, changes, flights, sent: 0, tally }
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// If an occurrence is neither written nor counted as lost, or if the recorder asks too much of the server.
    #[must_use]
    pub fn finish(mut self) -> RecorderTally {
        let stormy = self.dice.between(30 * MINUTE, 180 * MINUTE);
        self.run(self.now + stormy);
        (self.weather, self.changes, self.program.records) = (Weather::Fair, self.now + 600 * MINUTE, None);
        self.program.recorder.stop(self.now);
        // What hangs takes ten seconds, and three attempts follow at most.
        self.run(self.now + 15 * SECOND);
        assert!(self.program.recorder.is_done(), "the recorder does not end: {:?}", self.program.recorder);
        self.balance();
        self.tally
    }

    fn run(&mut self, end: Instant) {
        self.pump();
        loop {
            let flight = self.flights.first_key_value().map(|((at, _), _)| *at);
            let (timer, records) = (self.program.recorder.poll_timeout(), self.program.records);
            let times = [flight, timer, records, Some(self.changes)];
            let Some(next) = times.into_iter().flatten().min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            if flight == Some(next) {
                self.land();
            } else if records == Some(next) {
                self.record();
            } else if self.changes == next {
                self.change();
            } else {
                self.program.recorder.handle_timeout(self.now);
            }
            self.pump();
        }
        self.now = end;
    }

    /// Takes what the recorder wants, and checks the rules.
    fn pump(&mut self) {
        while let Some(action) = self.program.recorder.poll_action(self.now) {
            match action {
                CallAction::Open { id, request } => self.send(id, request),
                CallAction::Abort(id) => {
                    self.tally.aborted += 1;
                    self.program.is_doubtful = true;
                    self.program.open.remove(&id);
                }
                _ => {}
            }
        }
        while let Some(problem) = self.program.recorder.poll_problem() {
            assert!(!problem.to_string().is_empty());
        }
        assert!(self.program.open.len() <= 8, "more than eight requests are open");
        let next = self.program.recorder.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "a timeout is due after it was handled");
    }

    /// Each occurrence was written, or is counted as lost.
    fn balance(&mut self) {
        let counts = self.program.recorder.counts();
        let (reached, recorded) = (self.server.reached(), self.program.recorded);
        let lost = counts.filtered + counts.dropped + counts.refused + counts.failed;
        assert_eq!(counts.recorded, recorded);
        assert!(reached + lost >= recorded, "{reached} of {recorded} reached the server: {counts:?}");
        // The request of a dropped series may still reach the server.
        if !self.program.is_doubtful && counts.dropped == 0 {
            assert_eq!(reached + lost, recorded, "{counts:?}");
            self.tally.exact += 1;
        }
        self.check_tokens();
        self.tally.ended(counts);
    }

    /// Twenty-five Events of an object and type at once, and another one in each five minutes.
    fn check_tokens(&self) {
        let most = 25 + self.now.saturating_since(self.program.began).as_secs() / 300 + 1;
        for (object, created) in &self.program.created {
            assert!(u64::from(*created) <= most, "{created} Events of {object}, where {most} are allowed");
        }
    }
}

/// The program.
impl Program {
    fn new(dice: &mut Dice, now: Instant) -> Self {
        let mut config = RecorderConfig::new("example.com/foo", "foo-0");
        (config.queue, config.remembered) = (dice.pick(&[4, 1000]), dice.pick(&[8, 4096]));
        config.seed = dice.throw();
        Self {
            recorder: EventRecorder::new(config).expect("the configuration is valid"),
            began: now,
            records: Some(now),
            skew: dice.below(200_000) as i64 - 100_000,
            open: BTreeSet::new(),
            names: BTreeSet::new(),
            created: BTreeMap::new(),
            recorded: 0,
            is_doubtful: false,
        }
    }

    fn record(&mut self, now: Instant, object: u64, reason: u64) {
        let foo = ObjectReference::new("example.com/v1", "Foo", Some("web"), &format!("foo-{object}"));
        let foo = foo.uid("u-1").resource_version(&self.recorded.to_string());
        let reason = format!("Reason{reason}");
        let occurrence = if object == 0 { Occurrence::warning(foo, &reason) } else { Occurrence::normal(foo, &reason) };
        let wall = WallTime::from_unix_seconds(1_790_000_000 + self.skew) + now.saturating_since(Instant::ZERO);
        self.recorded += 1;
        self.recorder.record(now, wall, occurrence.note("it happened"));
    }
}

impl RecorderRun {
    /// One occurrence, the same one many times, or many of one object.
    fn record(&mut self) {
        let (object, reason) = (self.dice.below(5), self.dice.below(4));
        let count = 1 + self.dice.below(60);
        match self.dice.below(10) {
            0 => (0..count).for_each(|_| self.program.record(self.now, object, reason)),
            1 => (0..count).for_each(|reason| self.program.record(self.now, object, reason)),
            _ => self.program.record(self.now, object, reason),
        }
        // Now and then a program is silent until its series are over.
        let longest = self.dice.pick(&[SECOND, MINUTE, MINUTE, 40 * MINUTE]);
        self.program.records = Some(self.now + self.dice.between(MS, longest));
    }

    /// Another weather begins; or the server forgets an Event, the calendar jumps, or the program is killed.
    fn change(&mut self) {
        let seconds = 1 + self.dice.below(90) as u32;
        self.weather = match self.dice.below(10) {
            0 => Weather::Broken,
            1 => Weather::Slow(seconds / 4 + 1),
            2 => Weather::Busy(seconds),
            3 => Weather::Sick,
            4 => Weather::Forbidden,
            _ => Weather::Fair,
        };
        match self.dice.below(20) {
            0..8 => {
                let which = self.dice.below(20) as usize;
                let is_forgotten = self.server.forget(which);
                self.program.is_doubtful |= is_forgotten;
                self.tally.forgotten += u64::from(is_forgotten);
            }
            8..10 => self.program.skew = self.dice.below(200_000) as i64 - 100_000,
            10 => self.kill(),
            _ => {}
        }
        self.changes = self.now + self.dice.between(SECOND, 6 * MINUTE);
    }

    /// What the program has not written is lost. The server keeps its Events.
    fn kill(&mut self) {
        self.check_tokens();
        self.tally.killed += 1;
        self.tally.ended(self.program.recorder.counts());
        self.flights.clear();
        self.server.count_anew();
        self.program = Program::new(&mut self.dice, self.now);
    }
}

/// The network, and the server.
impl RecorderRun {
    fn send(&mut self, id: RequestId, request: ApiRequest) {
        self.tally.requests += 1;
        self.note_created(&request);
        assert!(self.program.open.insert(id), "two requests have one number");
        if self.weather == Weather::Broken && self.dice.chance(50) {
            return self.fly(Flight::Answer(id, Err(broken())));
        }
        self.fly(Flight::Request(id, request));
    }

    fn note_created(&mut self, request: &ApiRequest) {
        let (name, body) = read_event(request);
        if request.method == Method::Post && self.program.names.insert(name) {
            let object = format!("{} {}", body["type"], body["regarding"]["name"]);
            *self.program.created.entry(object).or_default() += 1;
        }
    }

    fn fly(&mut self, flight: Flight) {
        let longest = if let Weather::Slow(seconds) = self.weather { SECOND * seconds } else { 50 * MS };
        let at = self.now + self.dice.between(MS, longest);
        self.sent += 1;
        self.flights.insert((at, self.sent), flight);
    }

    fn land(&mut self) {
        let Some((_, flight)) = self.flights.pop_first() else { return };
        match flight {
            Flight::Request(id, request) => {
                let answer = self.serve(&request);
                self.fly(Flight::Answer(id, answer));
            }
            Flight::Answer(id, answer) => {
                self.program.open.remove(&id);
                self.program.recorder.handle_answer(self.now, id, answer);
            }
        }
    }

    fn serve(&mut self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        match self.weather {
            Weather::Busy(seconds) => {
                self.tally.busy += 1;
                Ok(ApiResponse::new(429, *b"{}").with_retry_after(Some(SECOND * seconds)))
            }
            Weather::Sick => Ok(ApiResponse::new(503, *b"{}")),
            Weather::Forbidden => {
                self.tally.forbidden += 1;
                Ok(ApiResponse::new(403, *b"{}"))
            }
            Weather::Broken => {
                self.server.serve(request);
                self.tally.lost_answers += 1;
                self.program.is_doubtful = true;
                Err(broken())
            }
            Weather::Fair | Weather::Slow(_) => Ok(self.server.serve(request)),
        }
    }
}

fn broken() -> TransportError {
    TransportError::new(TransportErrorKind::Reset, "broken")
}
