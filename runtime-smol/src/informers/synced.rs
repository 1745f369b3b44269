//! The wait for an informer's first state, and what it says where there is none.

use super::board::Board;
use super::runners::Runners;
use super::stream_status::{StreamStatus, not_run};
use crate::clock::{Clock, Sleep};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use listwatch_core::informer::{self, InformerStatus};
use listwatch_core::reflector::FailureClass;
use listwatch_core::sync::StdLock;
use std::sync::Arc;

/// Waits until every stream of an informer has its first state in the cache; see
/// [`InformerHandle::synced`](crate::InformerHandle::synced).
#[must_use = "a future does nothing unless it is polled"]
pub struct HandleSynced {
    streams: Vec<Awaited>,
    denied: WhenDenied,
    runners: Arc<Runners>,
    clock: Clock,
    deadline: Option<Sleep>,
    is_late: bool,
}

/// What the wait for a stream makes of a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenDenied {
    /// The wait fails.
    Fail,
    /// The others are enough, if there are any.
    GoOn,
}

/// A stream that is waited for.
struct Awaited {
    board: Arc<Board>,
    synced: informer::Synced<StdLock>,
    is_denied: bool,
}

impl Awaited {
    fn new(board: &Arc<Board>, synced: informer::Synced<StdLock>) -> Self {
        Self { board: Arc::clone(board), synced, is_denied: false }
    }
}

impl HandleSynced {
    pub(super) fn new(boards: &[Arc<Board>], runners: Arc<Runners>, clock: Clock) -> Self {
        let streams = boards.iter().map(|board| Awaited::new(board, board.synced())).collect();
        Self { streams, denied: WhenDenied::Fail, runners, clock, deadline: None, is_late: false }
    }

    /// The wait of a controller, which waits for a resource that the server does not know yet.
    pub(super) fn for_start(boards: &[Arc<Board>], denied: WhenDenied, runners: Arc<Runners>, clock: Clock) -> Self {
        let streams = boards.iter().map(|board| Awaited::new(board, board.patiently_synced())).collect();
        Self { streams, denied, runners, clock, deadline: None, is_late: false }
    }

    /// Gives up when `time` is over, with the status of that moment.
    pub fn within(mut self, time: Duration) -> Self {
        self.deadline = Some(self.clock.sleep(time));
        self
    }

    /// The streams that have no first state now.
    pub(crate) fn not_synced(&self) -> StreamsNotSynced {
        let streams = self.streams.iter().filter(|stream| !stream.board.has_synced());
        let streams = streams.map(|stream| stream.board.status()).collect();
        StreamsNotSynced { streams, is_run: self.runners.is_any() }
    }

    /// Whether the time is over, or each stream has its first state or a failure that a retry alone cannot mend.
    pub(crate) fn is_settled(&self) -> bool {
        let is_settled = |status| match status {
            InformerStatus::Failing { class, .. } => class.requires_intervention(),
            InformerStatus::Stopped => true,
            _ => false,
        };
        self.is_late
            || self.streams.iter().all(|Awaited { board, .. }| board.has_synced() || is_settled(board.status().status))
    }

    /// Polls all streams, also after a failure, so that each of them wakes the task.
    fn poll_streams(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
        let (mut all, mut failed) = (true, false);
        for stream in &mut self.streams {
            match Pin::new(&mut stream.synced).poll(cx) {
                Poll::Ready(Ok(())) => stream.is_denied = false,
                Poll::Ready(Err(error)) if self.denied == WhenDenied::GoOn && is_denied(&error.status) => {
                    stream.is_denied = true;
                }
                Poll::Ready(Err(_)) => failed = true,
                Poll::Pending => all &= stream.is_denied,
            }
        }
        // If all are denied, there are no others that can go on.
        failed |= self.streams.iter().all(|stream| stream.is_denied);
        match (failed, all) {
            (true, _) => Poll::Ready(Err(())),
            (false, true) => Poll::Ready(Ok(())),
            (false, false) => Poll::Pending,
        }
    }
}

fn is_denied(status: &InformerStatus) -> bool {
    matches!(status, InformerStatus::Failing { class: FailureClass::Forbidden, .. })
}

impl Future for HandleSynced {
    type Output = Result<(), StreamsNotSynced>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(synced) = this.poll_streams(cx) {
            return Poll::Ready(synced.map_err(|()| this.not_synced()));
        }
        if let Some(deadline) = this.deadline.as_mut().filter(|_| !this.is_late) {
            ready!(Pin::new(deadline).poll(cx));
            this.is_late = true;
        }
        if this.is_late { Poll::Ready(Err(this.not_synced())) } else { Poll::Pending }
    }
}

impl fmt::Debug for HandleSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandleSynced").finish_non_exhaustive()
    }
}

/// The streams of an informer that have no first state, and why. [`Debug`](fmt::Debug) is the same as
/// [`Display`](fmt::Display), for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamsNotSynced {
    /// The streams, each with its last failure and what an operator can do. The other streams have synced.
    pub streams: Vec<StreamStatus>,
    /// Whether a task ran the informers; see [`Informers::run`](crate::Informers::run).
    pub is_run: bool,
}

impl fmt::Display for StreamsNotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not synced: ")?;
        for (place, stream) in self.streams.iter().enumerate() {
            let separator = if place > 0 { "\nnot synced: " } else { "" };
            write!(f, "{separator}{stream}")?;
        }
        f.write_str(not_run(&self.streams, self.is_run))
    }
}

impl fmt::Debug for StreamsNotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for StreamsNotSynced {}
