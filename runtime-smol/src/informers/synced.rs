//! The wait for an informer's first state, and what it says where there is none.

use super::board::Board;
use super::runners::Runners;
use super::stream_status::{StreamStatus, not_run};
use crate::clock::{Clock, Sleep};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use listwatch_core::informer;
use listwatch_core::sync::StdLock;
use std::sync::Arc;

/// Waits until every stream of an informer has its first state in the cache; see
/// [`InformerHandle::synced`](crate::InformerHandle::synced).
#[must_use = "a future does nothing unless it is polled"]
pub struct HandleSynced {
    streams: Vec<(Arc<Board>, informer::Synced<StdLock>)>,
    runners: Arc<Runners>,
    clock: Clock,
    deadline: Option<Sleep>,
}

impl HandleSynced {
    pub(super) fn new(boards: &[Arc<Board>], runners: Arc<Runners>, clock: Clock) -> Self {
        let streams = boards.iter().map(|board| (Arc::clone(board), board.synced())).collect();
        Self { streams, runners, clock, deadline: None }
    }

    /// Gives up when `time` is over, with the status of that moment.
    pub fn within(mut self, time: Duration) -> Self {
        self.deadline = Some(self.clock.sleep(time));
        self
    }

    fn not_synced(&self) -> StreamsNotSynced {
        let streams = self.streams.iter().filter(|(board, _)| !board.has_synced());
        let streams = streams.map(|(board, _)| board.status()).collect();
        StreamsNotSynced { streams, is_run: self.runners.is_any() }
    }
}

impl Future for HandleSynced {
    type Output = Result<(), StreamsNotSynced>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut all = true;
        for (_, synced) in &mut this.streams {
            match Pin::new(synced).poll(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(Err(this.not_synced())),
                Poll::Pending => all = false,
            }
        }
        if all {
            return Poll::Ready(Ok(()));
        }
        let Some(deadline) = &mut this.deadline else { return Poll::Pending };
        ready!(Pin::new(deadline).poll(cx));
        Poll::Ready(Err(this.not_synced()))
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
