//! A tape as a transport, and an informer that follows it: the same with an allocator and without one.

use crate::large::{LARGE, Repeated};
use crate::line::Shown;
use crate::tape::{Answer, Query, Source, Tape};
use core::task::{Context, Poll, Waker};
use listwatch_core::cache::Cache;
use listwatch_core::decode::Decode;
use listwatch_core::informer::{DriverIn, EventOf, InformerIn, Pumped};
use listwatch_core::reflector::FailureClass;
use listwatch_core::request::{self, Request, RequestId};
use listwatch_core::storage::Mem;
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead, TransportError, TransportErrorKind};
use listwatch_core::{InformerConfig, Instant, ListerWatcher, Resource};

/// Plays a tape. A request without an answer ends it.
#[derive(Debug)]
pub struct Player {
    tape: Tape,
    /// The object that the first watch behind the tape brings.
    large: Option<Repeated>,
    open: Option<Open>,
    is_over: bool,
}

/// The answer that is played.
#[derive(Debug)]
struct Open {
    id: RequestId,
    answer: Answer,
    large: Option<Repeated>,
    next: Next,
}

/// What comes next of an answer.
#[derive(Clone, Copy, Debug)]
enum Next {
    Head,
    Body,
}

impl Player {
    /// Plays this tape from its beginning.
    #[must_use]
    pub fn new(tape: Tape) -> Self {
        Self { tape, large: None, open: None, is_over: false }
    }

    /// Plays this tape, and then an object that is larger than the memory of a device.
    #[must_use]
    pub fn with_large(tape: Tape) -> Self {
        Self { large: Some(LARGE), ..Self::new(tape) }
    }

    fn answer(&mut self, query: Query) -> Option<(Answer, Option<Repeated>)> {
        let played = self.tape.next(query).map(|answer| (answer, None));
        played.or_else(|| {
            let large = self.large.take_if(|_| query == Query::Watch)?;
            Some((Answer { status: 200, ended: true, body: b"" }, Some(large)))
        })
    }
}

/// A transport whose answers end.
pub trait Ends: ListerWatcher {
    /// Whether a request had no answer.
    fn is_over(&self) -> bool;
}

impl Ends for Player {
    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl ListerWatcher for Player {
    fn open(&mut self, id: RequestId, request: &Request) {
        let query = if request.query() == request::Query::List { Query::List } else { Query::Watch };
        self.open = self.answer(query).map(|(answer, large)| Open { id, answer, large, next: Next::Head });
        self.is_over = self.open.is_none();
    }

    fn poll_read(&mut self, _: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some(Open { id, answer, large, next }) = &mut self.open else {
            return Poll::Ready(Incoming::Idle { until: None });
        };
        let id = *id;
        if matches!(next, Next::Head) && answer.status != 0 {
            *next = Next::Body;
            let head = ResponseHead { status: answer.status, ..ResponseHead::default() };
            return Poll::Ready(Incoming::Head { id, head });
        }
        let len = match large {
            Some(large) => large.read(buf),
            None => answer.body.read(buf),
        };
        if len > 0 {
            return Poll::Ready(Incoming::Data { id, len });
        }
        let ended = answer.ended;
        self.open = None;
        Poll::Ready(if ended {
            Incoming::End { id }
        } else {
            Incoming::Failed { id, error: TransportError::new(TransportErrorKind::Reset, "") }
        })
    }

    fn abort(&mut self, _: RequestId) {
        self.open = None;
    }
}

/// The configuration of an informer that follows a tape. A tape has neither watch-lists nor times.
#[must_use]
pub fn config() -> InformerConfig {
    let mut config = InformerConfig::default();
    let reflector = &mut config.reflector;
    reflector.watch_list = false;
    (reflector.watch_timeout, reflector.answer_timeout, reflector.bookmark_overdue) = (None, None, None);
    config
}

/// The resource whose name the requests have.
pub const PODS: Resource = Resource::constant("/api/v1/pods", "", "");

/// Follows a tape to its end. `told` is called with each change, and `piece` after each piece of an answer.
///
/// # Errors
/// The first one of `told` or `piece`. If an object cannot be decoded.
pub fn follow<D: Decode<Object: Shown>, L: Ends, C: Cache<D::Object>, M: Mem>(
    driver: &mut DriverIn<D, L, C, M>,
    mut told: impl FnMut(&EventOf<D::Object>) -> Result<(), &'static str>,
    mut piece: impl FnMut(&C) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    let mut now = Instant::ZERO;
    driver.informer_mut().start(now);
    loop {
        let pumped = pump(driver, now);
        while let Some(event) = next(driver) {
            match &event {
                EventOf::Undecodable(_) => return Err("an object could not be decoded"),
                EventOf::Failed(report) if report.failure.class() == FailureClass::DoesNotFit => {
                    return Err("the cache is full");
                }
                _ if event.object().is_some() => told(&event)?,
                _ => {}
            }
        }
        piece(driver.informer().cache())?;
        if pumped == Pumped::Waiting {
            match driver.poll_timeout() {
                _ if driver.transport().is_over() => return Ok(()),
                Some(at) => now = at,
                None => return Err("the informer waits for nothing"),
            }
        }
    }
}

// Reading is deep, and events are large: each has a frame of its own, which is left before the other one is entered.
#[inline(never)]
fn pump<D: Decode, L: Ends, C: Cache<D::Object>, M: Mem>(driver: &mut DriverIn<D, L, C, M>, now: Instant) -> Pumped {
    driver.pump(now, &mut Context::from_waker(Waker::noop()))
}

#[inline(never)]
fn next<D: Decode, L, C: Cache<D::Object>, M: Mem>(driver: &mut DriverIn<D, L, C, M>) -> Option<EventOf<D::Object>> {
    driver.informer_mut().poll_event()
}

/// An informer that follows what a transport brings.
pub fn driver<D: Decode, L: Ends, C: Cache<D::Object>, M: Mem>(
    transport: L,
    decoder: D,
    cache: C,
) -> DriverIn<D, L, C, M> {
    DriverIn::new(InformerIn::with_decoder(PODS, config(), decoder, cache), transport)
}
