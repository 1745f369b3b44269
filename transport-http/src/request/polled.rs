//! A body that the task reads itself.

use super::error;
use crate::clock;
use crate::connect::VeiledBody;
use crate::permits::Permit;
use crate::reactor::{PollRead, Reactor};
use listwatch_core::transport::TransportError;
use std::io::Read;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use ureq::{Error, Timeout};

/// A body as a thread leaves it for the task.
pub(crate) struct UnreadBody {
    pub(super) body: VeiledBody,
    pub(super) reactor: Arc<dyn Reactor>,
    /// How long the server may send nothing.
    pub(super) idle: Option<Duration>,
    pub(super) permit: Arc<Permit>,
}

impl UnreadBody {
    /// Registers the socket. The task calls this.
    pub(crate) fn register(self) -> Result<PolledBody, TransportError> {
        let Self { body, reactor, idle, permit } = self;
        let wire = body.wire().ok_or(Error::ConnectionFailed).map_err(|cause| error::of(&cause))?;
        let socket = wire.poll().and_then(|socket| reactor.register(socket));
        let socket = socket.map_err(|cause| error::of(&cause.into()))?;
        Ok(PolledBody { body, socket, idle: idle.map(|limit| IdleTimer::new(limit, reactor)), _permit: permit })
    }
}

/// A body whose socket is registered with a reactor. A read that would block is repeated.
pub(crate) struct PolledBody {
    body: VeiledBody,
    socket: Box<dyn PollRead>,
    idle: Option<IdleTimer>,
    _permit: Arc<Permit>,
}

impl PolledBody {
    /// Reads the next bytes, none at the end, or registers the waker.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize, TransportError>> {
        let body = &mut self.body;
        let read = self.socket.poll_read(cx, &mut || body.read(buf));
        match (&mut self.idle, read) {
            (Some(idle), Poll::Pending) => idle.poll(cx).map(|()| Err(error::of(&Error::Timeout(Timeout::PerRead)))),
            (idle, read) => {
                idle.iter_mut().for_each(IdleTimer::restart);
                read.map_err(|cause| error::of(&cause.into()))
            }
        }
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
