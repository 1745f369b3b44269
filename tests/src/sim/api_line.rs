//! The line between a client of single requests and a simulated server.

use super::api_server::ApiServer;
use super::dice::Dice;
use super::ledger::WriteId;
use super::refusal::Refusal;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{ReadContext, ResponseHead, TransportError, TransportErrorKind};
use std::collections::BTreeMap;
use std::fmt;
use std::task::Poll;
use std::time::Duration;

/// An [`ApiTransport`] to an [`ApiServer`]: each way takes its time, by the clock of the caller, and things go wrong.
#[derive(Debug)]
pub struct ApiLine {
    server: ApiServer,
    dice: Dice,
    troubles: Troubles,
    now: Time,
    open: BTreeMap<RequestId, Call>,
}

/// What goes wrong, each so many times in a hundred, and how long a way takes.
#[derive(Clone, Copy, Debug)]
pub struct Troubles {
    /// Up to how long each way takes.
    pub latency: Duration,
    /// There is no answer, and nobody says so; the request may have been done.
    pub silence: u64,
    /// The connection breaks; the request may have been done.
    pub reset: u64,
    /// The server has too much to do.
    pub throttled: u64,
    /// A server that is ill.
    pub error: u64,
    /// The server has too much to do, and says when to come back.
    pub postponed: u64,
    /// A conflict, although the version is the newest.
    pub conflict: u64,
    /// The answer comes late, but it comes.
    pub late: u64,
    /// Up to how late.
    pub lateness: Duration,
}

impl Troubles {
    /// Nothing goes wrong, and each way takes a step.
    pub const NONE: Self = Self {
        latency: Duration::ZERO,
        silence: 0,
        reset: 0,
        throttled: 0,
        error: 0,
        postponed: 0,
        conflict: 0,
        late: 0,
        lateness: Duration::ZERO,
    };
}

/// A request under way.
#[derive(Debug)]
struct Call {
    request: ApiRequest,
    stage: Stage,
    /// Which start of the server it was sent to.
    start: u64,
    /// What it has written.
    write: Option<WriteId>,
}

#[derive(Debug)]
enum Stage {
    /// Nobody has looked for the answer yet.
    Asked,
    /// On its way to the server, with what becomes of it then.
    Going(Instant, Fate),
    /// On its way back.
    Coming(Instant, Result<ApiResponse, TransportErrorKind>),
    /// There will be no answer.
    Silent,
}

/// What becomes of a request that has arrived, or has not.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Answered,
    Refused(u16),
    Postponed,
    Late,
    /// It arrives or does not, and there is no answer.
    Silent(bool),
    Reset(bool),
}

/// Answers come in steps between which changes are told, so that the order of the two can be seen in a capture, which has
/// whole milliseconds.
const STEP: Duration = Duration::from_millis(5);

/// The requests of clients count from here in a capture, where those of informers have the numbers before.
const FIRST: u64 = 1_000_000;

impl ApiLine {
    /// A transport for a client of `server`, with these faults. `now` is the client's clock, for requests that it gives up.
    #[must_use]
    pub fn new(server: &ApiServer, dice: Dice, troubles: Troubles, now: impl Fn() -> Instant + Send + 'static) -> Self {
        Self { server: server.clone(), dice, troubles, now: Time(Box::new(now)), open: BTreeMap::new() }
    }

    /// How long one way takes: so many [`STEP`]s.
    fn way(&mut self) -> Duration {
        let most = self.troubles.latency.as_nanos() / STEP.as_nanos();
        STEP * (1 + self.dice.below(most.max(1) as u64) as u32)
    }

    fn fate(&mut self) -> Fate {
        let (troubles, throw, arrives) = (self.troubles, self.dice.below(100), self.dice.chance(50));
        let chances = [
            (troubles.silence, Fate::Silent(arrives)),
            (troubles.reset, Fate::Reset(arrives)),
            (troubles.throttled, Fate::Refused(429)),
            (troubles.error, Fate::Refused(500)),
            (troubles.postponed, Fate::Postponed),
            (troubles.conflict, Fate::Refused(409)),
            (troubles.late, Fate::Late),
        ];
        let mut below = 0;
        let fate = chances.into_iter().find_map(|(chance, fate)| {
            below += chance;
            (throw < below).then_some(fate)
        });
        let mut inside = self.server.lock();
        let fate = fate.filter(|_| !inside.is_calm()).unwrap_or(Fate::Answered);
        inside.met(&format!("{fate:?}"));
        fate
    }

    /// The request has arrived, as far as it does.
    fn arrive(&self, now: Instant, call: &mut Call, fate: Fate) -> Option<Result<ApiResponse, TransportErrorKind>> {
        let request = &call.request;
        let refused = |refusal: Refusal| {
            let _drift = self.server.lock().note(now, request);
            Some(Ok(ApiResponse::new(refusal.status, refusal.body).with_retry_after(refusal.retry_after)))
        };
        let done = || self.server.with(|inside| inside.handle(now, request));
        if self.server.lock().is_away(now) {
            return Some(Err(TransportErrorKind::Refused));
        }
        match fate {
            Fate::Answered | Fate::Late => {
                let (response, write) = done();
                call.write = write;
                Some(Ok(response))
            }
            Fate::Refused(code) => refused(Refusal::of(code)),
            Fate::Postponed => refused(Refusal::throttled(3, true)),
            Fate::Silent(arrives) => {
                self.lose(arrives.then(done).and_then(|(_, write)| write));
                None
            }
            Fate::Reset(arrives) => {
                self.lose(arrives.then(done).and_then(|(_, write)| write));
                Some(Err(TransportErrorKind::Reset))
            }
        }
    }

    /// The answer to a write will not arrive.
    fn lose(&self, write: Option<WriteId>) {
        write.into_iter().for_each(|write| self.server.lock().ledger.lost(write));
    }

    /// Lets a request go on, as far as it does by now.
    fn advance(&mut self, id: RequestId, now: Instant, call: &mut Call) -> Reply {
        loop {
            match std::mem::replace(&mut call.stage, Stage::Silent) {
                Stage::Asked => {
                    let number = RequestId(FIRST + id.0);
                    let mut inside = self.server.lock();
                    inside.trace.call(now, number, &call.request);
                    call.start = inside.start();
                    drop(inside);
                    call.stage = Stage::Going(now + self.way(), self.fate());
                }
                Stage::Going(due, fate) if due <= now => {
                    let late = matches!(fate, Fate::Late).then(|| self.dice.between(STEP, self.troubles.lateness));
                    let back = now + self.way() + late.unwrap_or_default();
                    if let Some(answer) = self.arrive(now, call, fate) {
                        call.stage = Stage::Coming(back, answer);
                    }
                }
                Stage::Coming(due, answer) if due <= now => return self.over(id, now, call, answer),
                stage => {
                    let until = match &stage {
                        Stage::Going(due, _) | Stage::Coming(due, _) => Some(*due),
                        Stage::Asked | Stage::Silent => None,
                    };
                    call.stage = stage;
                    return Reply::Idle { until };
                }
            }
        }
    }

    fn over(
        &self,
        id: RequestId,
        now: Instant,
        call: &mut Call,
        answer: Result<ApiResponse, TransportErrorKind>,
    ) -> Reply {
        let (id, write, mut inside) = (RequestId(FIRST + id.0), call.write.take(), self.server.lock());
        let is_broken = call.start != inside.start();
        let answer = if is_broken { Err(TransportErrorKind::Reset) } else { answer };
        let trace = &mut inside.trace;
        match answer {
            Ok(response) => {
                let (status, retry_after) = (response.status, response.retry_after);
                trace.head(now, id, &ResponseHead { status, retry_after, ..ResponseHead::default() });
                trace.data(now, id, &response.body);
                trace.end(now, id, None);
                write.into_iter().for_each(|write| inside.ledger.answered(write));
                Reply::Answered(response)
            }
            Err(kind) => {
                let error = TransportError::new(kind, "");
                trace.end(now, id, Some(&error));
                write.into_iter().for_each(|write| inside.ledger.lost(write));
                Reply::Failed(error)
            }
        }
    }
}

impl ApiTransport for ApiLine {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.open.insert(id, Call { request: request.clone(), stage: Stage::Asked, start: 0, write: None });
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        let Some(mut call) = self.open.remove(&id) else { return Poll::Ready(Reply::Idle { until: None }) };
        let reply = self.advance(id, turn.now, &mut call);
        if matches!(reply, Reply::Idle { .. }) {
            self.open.insert(id, call);
        }
        Poll::Ready(reply)
    }

    /// What is on its way to the server may still arrive.
    fn abort(&mut self, id: RequestId) {
        let Some(mut call) = self.open.remove(&id) else { return };
        let (now, number) = ((self.now.0)(), RequestId(FIRST + id.0));
        match call.stage {
            Stage::Asked => self.server.lock().trace.call(now, number, &call.request),
            Stage::Going(_, fate) if self.dice.chance(50) => drop(self.arrive(now, &mut call, fate)),
            Stage::Going(..) | Stage::Coming(..) | Stage::Silent => {}
        }
        self.lose(call.write);
        self.server.lock().trace.given_up(now, number);
    }
}

/// The time, for what is not polled.
struct Time(Box<dyn Fn() -> Instant + Send>);

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)().fmt(f)
    }
}
