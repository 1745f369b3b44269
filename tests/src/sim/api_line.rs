//! The line between a client of single requests and a simulated server.

use super::api_server::ApiServer;
use super::dice::Dice;
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
#[derive(Clone, Copy, Debug, Default)]
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
}

/// A request under way.
#[derive(Debug)]
struct Call {
    request: ApiRequest,
    stage: Stage,
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
        let below = |chances: &[u64]| throw < chances.iter().sum();
        match troubles {
            Troubles { silence, .. } if below(&[silence]) => Fate::Silent(arrives),
            Troubles { silence, reset, .. } if below(&[silence, reset]) => Fate::Reset(arrives),
            Troubles { silence, reset, throttled, .. } if below(&[silence, reset, throttled]) => Fate::Refused(429),
            Troubles { silence, reset, throttled, error, .. } if below(&[silence, reset, throttled, error]) => {
                Fate::Refused(500)
            }
            _ => Fate::Answered,
        }
    }

    /// The request has arrived, as far as it does.
    fn arrive(
        &self,
        now: Instant,
        request: &ApiRequest,
        fate: Fate,
    ) -> Option<Result<ApiResponse, TransportErrorKind>> {
        let done = || self.server.with(|inside| inside.store.handle(now, request));
        match fate {
            Fate::Answered => Some(Ok(done())),
            Fate::Refused(code) => {
                let refusal = Refusal::of(code);
                Some(Ok(ApiResponse::new(refusal.status, refusal.body)))
            }
            Fate::Silent(arrives) => {
                arrives.then(done);
                None
            }
            Fate::Reset(arrives) => {
                arrives.then(done);
                Some(Err(TransportErrorKind::Reset))
            }
        }
    }

    /// Lets a request go on, as far as it does by now.
    fn advance(&mut self, id: RequestId, now: Instant, call: &mut Call) -> Reply {
        loop {
            match std::mem::replace(&mut call.stage, Stage::Silent) {
                Stage::Asked => {
                    let number = RequestId(FIRST + id.0);
                    self.server.lock().trace.call(now, number, &call.request);
                    call.stage = Stage::Going(now + self.way(), self.fate());
                }
                Stage::Going(due, fate) if due <= now => {
                    let back = now + self.way();
                    if let Some(answer) = self.arrive(now, &call.request, fate) {
                        call.stage = Stage::Coming(back, answer);
                    }
                }
                Stage::Coming(due, answer) if due <= now => return self.over(id, now, answer),
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

    fn over(&self, id: RequestId, now: Instant, answer: Result<ApiResponse, TransportErrorKind>) -> Reply {
        let (id, trace) = (RequestId(FIRST + id.0), &mut self.server.lock().trace);
        match answer {
            Ok(response) => {
                trace.head(now, id, &ResponseHead { status: response.status, ..ResponseHead::default() });
                trace.data(now, id, &response.body);
                trace.end(now, id, None);
                Reply::Answered(response)
            }
            Err(kind) => {
                let error = TransportError::new(kind, "");
                trace.end(now, id, Some(&error));
                Reply::Failed(error)
            }
        }
    }
}

impl ApiTransport for ApiLine {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.open.insert(id, Call { request: request.clone(), stage: Stage::Asked });
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
        let Some(call) = self.open.remove(&id) else { return };
        let (now, number) = ((self.now.0)(), RequestId(FIRST + id.0));
        match call.stage {
            Stage::Asked => self.server.lock().trace.call(now, number, &call.request),
            Stage::Going(due, fate) if self.dice.chance(50) => drop(self.arrive(due, &call.request, fate)),
            Stage::Going(..) | Stage::Coming(..) | Stage::Silent => {}
        }
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
