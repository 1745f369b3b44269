//! A body that the task reads itself.

use super::body::Content;
use super::error;
use super::pipe::Piece;
use crate::clock;
use crate::connect::Wire;
use crate::permits::Permit;
use crate::reactor::{PollRead, Reactor};
use listwatch_core::transport::TransportError;
use std::fmt;
use std::io::Read;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use ureq::{Error, Timeout};

/// A body as a thread leaves it for the task.
pub(super) struct UnreadBody {
    pub(super) content: Content,
    pub(super) wire: Arc<Wire>,
    pub(super) reactor: Arc<dyn Reactor>,
    /// How long the server may send nothing.
    pub(super) idle: Option<Duration>,
    pub(super) permit: Permit,
}

impl UnreadBody {
    /// Registers the socket. The task calls this.
    pub(super) fn register(self) -> Result<PolledBody, TransportError> {
        let socket = self.wire.poll().and_then(|socket| self.reactor.register(socket));
        let socket = socket.map_err(|cause| error::of(&cause.into()))?;
        let idle = self.idle.map(|limit| IdleTimer::new(limit, self.reactor));
        Ok(PolledBody { content: self.content, socket, idle, _permit: self.permit })
    }
}

/// A body whose socket is registered with a reactor. A read that would block is repeated.
pub(super) struct PolledBody {
    content: Content,
    socket: Box<dyn PollRead>,
    idle: Option<IdleTimer>,
    _permit: Permit,
}

impl PolledBody {
    /// Reads the next bytes, or registers the waker. After an end there is no further piece.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Piece> {
        let content = &mut self.content;
        match self.socket.poll_read(cx, &mut || content.read(buf)) {
            Poll::Ready(Ok(0)) => Poll::Ready(Piece::End(Ok(()))),
            Poll::Ready(Ok(len)) => {
                self.idle.iter_mut().for_each(IdleTimer::restart);
                Poll::Ready(Piece::Data(len))
            }
            Poll::Ready(Err(cause)) => Poll::Ready(Piece::End(Err(error::of(&cause.into())))),
            Poll::Pending => match &mut self.idle {
                Some(idle) => idle.poll(cx).map(|()| Piece::End(Err(error::of(&Error::Timeout(Timeout::PerRead))))),
                None => Poll::Pending,
            },
        }
    }
}

impl fmt::Debug for UnreadBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnreadBody").finish_non_exhaustive()
    }
}

impl fmt::Debug for PolledBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolledBody").finish_non_exhaustive()
    }
}

/// A timer that ends once nothing has been read for a time. A restart costs a look at the clock.
struct IdleTimer {
    limit: Duration,
    since: Instant,
    sleep: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    reactor: Arc<dyn Reactor>,
}

impl IdleTimer {
    fn new(limit: Duration, reactor: Arc<dyn Reactor>) -> Self {
        Self { limit, since: clock::steady(), sleep: reactor.sleep(limit), reactor }
    }

    fn restart(&mut self) {
        self.since = clock::steady();
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            let left = self.limit.saturating_sub(clock::steady().saturating_duration_since(self.since));
            if left.is_zero() {
                return Poll::Ready(());
            }
            self.sleep = self.reactor.sleep(left);
        }
        Poll::Pending
    }
}
