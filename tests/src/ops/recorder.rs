//! Operations on a recorder of Events, whose server answers anything.

use crate::sim::{EventServer, event_count, read_event};
use arbitrary::{Arbitrary, Unstructured};
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, CallAction, Method};
use listwatch_core::recorder::{EventRecorder, ObjectReference, Occurrence, RecorderConfig};
use listwatch_core::request::RequestId;
use listwatch_core::time::WallTime;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    /// Milliseconds pass.
    Later(u16),
    /// Time passes until the machine wants to be called.
    Wait,
    /// The wall clock shows this, in microseconds since 1970.
    Clock(i64),
    /// An occurrence of this object and this reason.
    Record(u8, u8),
    /// The same one, many times.
    Repeat(u8, u8),
    /// The first open request is answered as the server would.
    Serve,
    /// The last one is.
    ServeLast,
    /// Each open request is.
    ServeAll,
    /// The server does what it is asked, and the answer is lost.
    Lose,
    /// An open request is answered with this status.
    Refuse(u8, u16),
    /// An answer to another request.
    Stray(u8),
    /// The server forgets an Event.
    Forget(u8),
    Stop,
}

/// Runs the operations that `data` stands for.
///
/// # Panics
/// If a rule does not hold.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let mut it = Recorded::new(data.arbitrary().unwrap_or_default());
    for op in super::rest::<Op>(&mut data) {
        it.act(op);
        it.drain();
    }
    it.end();
}

/// As many series and waiting Events, so that both are full at times.
const REMEMBERED: usize = 12;
const QUEUE: usize = 5;
const BURST: u32 = 4;
const REFILL: Duration = Duration::from_secs(300);
/// Time does not reach its end.
const DAY: Duration = Duration::from_secs(86_400);

struct Recorded {
    recorder: EventRecorder,
    now: Instant,
    wall: WallTime,
    open: Vec<(RequestId, ApiRequest)>,
    server: EventServer,
    /// When creations were sent that are no repetitions, by object.
    created: BTreeMap<String, Vec<Instant>>,
    /// The names in requests.
    names: BTreeMap<String, u64>,
    recorded: u64,
    /// Occurrences after the stop.
    late: u64,
    /// How many requests the recorder made.
    requests: usize,
    /// The recorder cannot know what became of a request, or of an Event.
    is_doubtful: bool,
    is_stopped: bool,
}

impl Recorded {
    fn new(seed: u8) -> Self {
        let mut config = RecorderConfig::new("foo", "foo-0");
        (config.seed, config.remembered, config.queue, config.burst) = (seed.into(), REMEMBERED, QUEUE, BURST);
        config.refill = REFILL;
        Self {
            recorder: EventRecorder::new(config).expect("the configuration is valid"),
            now: Instant::ZERO,
            wall: WallTime::UNIX_EPOCH,
            open: Vec::new(),
            server: EventServer::default(),
            created: BTreeMap::new(),
            names: BTreeMap::new(),
            recorded: 0,
            late: 0,
            requests: 0,
            is_doubtful: false,
            is_stopped: false,
        }
    }

    fn act(&mut self, op: Op) {
        match op {
            Op::Later(millis) => self.pass(self.now + Duration::from_millis(millis.into())),
            Op::Wait => self.pass(self.recorder.poll_timeout().unwrap_or(self.now).min(self.now + DAY)),
            Op::Clock(micros) => self.wall = WallTime::from_unix_micros(micros),
            Op::Record(object, reason) => self.record(object, reason),
            Op::Repeat(object, reason) => (0..50).for_each(|_| self.record(object, reason)),
            Op::Serve => self.serve(0, Ok),
            Op::ServeLast => self.serve(self.open.len().saturating_sub(1), Ok),
            Op::ServeAll => (0..self.open.len()).for_each(|_| self.serve(0, Ok)),
            Op::Lose => {
                self.is_doubtful |= !self.open.is_empty();
                self.serve(0, |_| Err(TransportError::new(TransportErrorKind::Reset, "lost")));
            }
            Op::Refuse(which, status) if !self.open.is_empty() => {
                let (id, _) = self.open.swap_remove(usize::from(which) % self.open.len());
                self.recorder.handle_answer(self.now, id, Ok(ApiResponse::new(status, *b"no")));
            }
            Op::Refuse(..) => {}
            Op::Stray(id) => {
                let id = RequestId(u64::from(id) << 32);
                self.recorder.handle_answer(self.now, id, Ok(ApiResponse::new(200, *b"{}")));
            }
            Op::Forget(which) => self.is_doubtful |= self.server.forget(which.into()),
            Op::Stop => {
                self.is_stopped = true;
                self.recorder.stop(self.now);
            }
        }
    }

    fn pass(&mut self, to: Instant) {
        self.now = self.now.max(to);
        self.recorder.handle_timeout(self.now);
    }

    fn record(&mut self, object: u8, reason: u8) {
        self.recorded += 1;
        self.late += u64::from(self.is_stopped);
        let foo = ObjectReference::new("example.com/v1", "Foo", Some("web"), &format!("foo-{}", object % 4));
        let occurrence = Occurrence::normal(foo, &format!("Reason{}", reason % 8));
        self.recorder.record(self.now, self.wall, occurrence);
    }

    /// The server does what an open request asks.
    fn serve(&mut self, which: usize, answer: impl Fn(ApiResponse) -> Result<ApiResponse, TransportError>) {
        if which < self.open.len() {
            let (id, request) = self.open.remove(which);
            let served = answer(self.server.serve(&request));
            self.recorder.handle_answer(self.now, id, served);
        }
    }

    /// Takes what the machine wants, and checks the rules.
    fn drain(&mut self) {
        while let Some(action) = self.recorder.poll_action(self.now) {
            match action {
                CallAction::Open { id, request } => self.note(id, request),
                CallAction::Abort(id) => {
                    self.is_doubtful = true;
                    self.open.retain(|(open, _)| *open != id);
                }
                _ => {}
            }
        }
        assert!(self.open.len() <= 8, "more than eight requests");
        if let Some(next) = self.recorder.poll_timeout() {
            assert!(next > self.now, "a timeout is due after it was handled");
        }
        assert!(core::iter::from_fn(|| self.recorder.poll_problem()).count() <= 16, "more than sixteen problems");
        let counts = self.recorder.counts();
        assert_eq!(counts.recorded, self.recorded);
        assert!(self.lost() <= self.recorded, "more was lost than recorded: {counts:?}");
        let (reached, lost) = (self.server.reached(), self.lost());
        assert!(!self.is_exact() || reached + lost <= self.recorded, "{reached} reached the server: {counts:?}");
    }

    fn lost(&self) -> u64 {
        let counts = self.recorder.counts();
        counts.filtered + counts.dropped + counts.refused + counts.failed
    }

    /// Whether no occurrence may be both lost and written. The request of a dropped series may still reach the server.
    fn is_exact(&self) -> bool {
        !self.is_doubtful && self.recorder.counts().dropped == self.late
    }

    /// A request is opened. A name is new, or it is that of an Event which is written again.
    fn note(&mut self, id: RequestId, request: ApiRequest) {
        self.requests += 1;
        let (name, body) = read_event(&request);
        let is_busy = self.open.iter().any(|(_, open)| read_event(open).0 == name);
        assert!(!is_busy, "two requests for {name} are open");
        let before = self.names.insert(name.clone(), event_count(&body));
        assert!(before <= Some(event_count(&body)), "the count of {name} goes back");
        if request.method == Method::Post && before.is_none() && body["series"].is_null() {
            self.note_created(body["regarding"]["name"].as_str().expect("a name"));
        }
        self.open.push((id, request));
    }

    /// A first occurrence takes a token.
    fn note_created(&mut self, object: &str) {
        let created = self.created.entry(object.into()).or_default();
        created.push(self.now);
        let burst = usize::try_from(BURST).expect("it is small");
        // A collision of names, or a bucket that gave way to another one, is no part of these runs.
        if let Some(first) = created.len().checked_sub(burst + 1).map(|at| created[at]) {
            assert!(self.now.saturating_since(first) >= REFILL, "more than {BURST} Events of {object} at once");
        }
    }

    /// The program ends, with a server that is well: all is written or counted, in few requests.
    fn end(&mut self) {
        let before = self.requests;
        self.act(Op::Stop);
        self.drain();
        for _ in 0..64 {
            self.act(if self.open.is_empty() { Op::Wait } else { Op::ServeAll });
            self.drain();
        }
        assert!(self.recorder.is_done() && self.is_stopped, "the recorder does not end: {:?}", self.recorder);
        // A series makes three, if it finds its Event created, and then forgotten.
        assert!(self.requests - before <= 3 * REMEMBERED, "more series than may be remembered");
        let (reached, lost, counts) = (self.server.reached(), self.lost(), self.recorder.counts());
        assert!(reached + lost >= self.recorded, "{reached} of {} reached the server: {counts:?}", self.recorded);
        assert!(!self.is_exact() || reached + lost == self.recorded, "{reached} reached the server: {counts:?}");
    }
}
