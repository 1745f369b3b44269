//! The lists and watches of an informer.

use super::fault::Fault;
use super::line::{BY_TEST, Line, Returned, WAY, broken};
use super::network::Passage;
use super::server::Call;
use super::shared::Answer;
use super::watch::WatchProgress;
use core::task::{Context, Poll};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher};

/// A [`ListerWatcher`] to a simulated cluster. [`SimulatedCluster::transport`](crate::SimulatedCluster::transport) makes
/// one.
#[derive(Debug)]
pub struct ClusterTransport {
    line: Line,
    open: Option<Open>,
    /// Whether the objects have a namespace, if the informer knows.
    is_namespaced: Option<bool>,
}

/// The open request.
#[derive(Debug)]
struct Open {
    id: RequestId,
    request: Request,
    /// How often all connections had been broken when it arrived.
    disconnections: u64,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The caller has not looked for the answer yet.
    Asked,
    /// On its way to the server, which it reaches then.
    Going(Instant),
    /// Held up on its way.
    Late(Instant),
    /// Waiting for the cache that it reads.
    Waiting(Instant),
    /// The answer is on its way back.
    Coming(Instant, Answer),
    Failing(Instant, TransportErrorKind),
    /// The head has arrived; so much of the body was read.
    Body(Answer, usize),
    Silent,
}

impl ClusterTransport {
    pub(super) fn new(line: Line, is_namespaced: Option<bool>) -> Self {
        Self { line, open: None, is_namespaced }
    }
}

impl Open {
    fn advance(
        &mut self,
        line: &Line,
        is_namespaced: Option<bool>,
        now: Instant,
        cx: &Context<'_>,
        buf: &mut [u8],
    ) -> Incoming {
        let id = self.id;
        if line.is_dead() {
            return Incoming::Idle { until: None };
        }
        if self.is_broken(line) {
            return Incoming::Failed { id, error: broken(TransportErrorKind::Reset, "by disconnect") };
        }
        loop {
            match std::mem::replace(&mut self.stage, Stage::Silent) {
                Stage::Asked => self.stage = Stage::Going(now + WAY),
                Stage::Going(due) if due <= now => self.stage = self.arrive(line, is_namespaced, now),
                Stage::Late(due) if due <= now => self.stage = self.asked(line, is_namespaced, now),
                Stage::Waiting(due) if due <= now => self.stage = self.answered(line, is_namespaced, now, None),
                Stage::Coming(due, answer) if due <= now => {
                    let head = answer.head.clone();
                    self.stage = Stage::Body(answer, 0);
                    return Incoming::Head { id, head };
                }
                Stage::Failing(due, kind) if due <= now => {
                    return Incoming::Failed { id, error: broken(kind, BY_TEST) };
                }
                Stage::Body(mut answer, mut read) => {
                    let incoming = next(id, &mut answer, &mut read, line, now, cx, buf);
                    self.stage = Stage::Body(answer, read);
                    return incoming;
                }
                stage => {
                    let until = match &stage {
                        Stage::Going(due)
                        | Stage::Late(due)
                        | Stage::Waiting(due)
                        | Stage::Coming(due, _)
                        | Stage::Failing(due, _) => Some(*due),
                        _ => None,
                    };
                    self.stage = stage;
                    return Incoming::Idle { until };
                }
            }
        }
    }

    fn is_broken(&self, line: &Line) -> bool {
        let has_arrived = matches!(self.stage, Stage::Waiting(_) | Stage::Coming(..) | Stage::Body(..) | Stage::Silent);
        has_arrived && self.disconnections != line.disconnections()
    }

    fn arrive(&mut self, line: &Line, is_namespaced: Option<bool>, now: Instant) -> Stage {
        self.disconnections = line.disconnections();
        let target = self.request.to_string();
        match line.passage(now, None, &self.call(&target)) {
            Passage::Open => self.asked(line, is_namespaced, now),
            Passage::Late(time) => Stage::Late(now + time),
            Passage::Fails(fault) => self.answered(line, is_namespaced, now, Some(fault)),
            Passage::Never => Stage::Silent,
        }
    }

    fn asked(&mut self, line: &Line, is_namespaced: Option<bool>, now: Instant) -> Stage {
        self.disconnections = line.disconnections();
        let target = self.request.to_string();
        match line.waits(now, &self.call(&target)) {
            Some(time) => Stage::Waiting(now + time),
            None => self.answered(line, is_namespaced, now, None),
        }
    }

    fn answered(&mut self, line: &Line, is_namespaced: Option<bool>, now: Instant, fault: Option<Fault>) -> Stage {
        self.disconnections = line.disconnections();
        let target = self.request.to_string();
        match line.read(now, &self.call(&target), is_namespaced, fault) {
            Returned::Answer(time, answer) => Stage::Coming(now + time, *answer),
            Returned::Broken(kind) => Stage::Failing(now + WAY, kind),
            Returned::Silence => Stage::Silent,
        }
    }

    fn call<'a>(&self, target: &'a str) -> Call<'a> {
        Call { method: "GET", target, accept: self.request.accept(), content_type: "", body: b"" }
    }
}

/// The next bytes of a body, or its end, or when to look again.
fn next(
    id: RequestId,
    answer: &mut Answer,
    read: &mut usize,
    line: &Line,
    now: Instant,
    cx: &Context<'_>,
    buf: &mut [u8],
) -> Incoming {
    let mut progress = WatchProgress::Over;
    if *read == answer.body.len()
        && let Some(watch) = &mut answer.watch
    {
        answer.body.clear();
        *read = 0;
        progress = watch.poll(line.there(now), cx, &mut answer.body);
    }
    let unread = &answer.body[*read..];
    if !unread.is_empty() {
        let len = unread.len().min(buf.len());
        buf[..len].copy_from_slice(&unread[..len]);
        *read += len;
        return Incoming::Data { id, len };
    }
    match progress {
        WatchProgress::Over => Incoming::End { id },
        WatchProgress::Open(until) => Incoming::Idle { until: until.map(|until| line.here(until)) },
    }
}

impl ListerWatcher for ClusterTransport {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.open = Some(Open { id, request: request.clone(), disconnections: 0, stage: Stage::Asked });
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some(open) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let incoming = open.advance(&self.line, self.is_namespaced, turn.now, turn.cx, buf);
        if matches!(incoming, Incoming::End { .. } | Incoming::Failed { .. }) {
            self.open = None;
        }
        Poll::Ready(incoming)
    }

    fn abort(&mut self, id: RequestId) {
        self.open.take_if(|open| open.id == id);
    }
}
