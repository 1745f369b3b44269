use super::{ApiCall, ApiError, ApiRequest, ApiResponse};
use crate::request::RequestId;
use crate::time::Instant;
use crate::transport::{TransportError, TransportErrorKind};
use alloc::vec::Vec;
use core::time::Duration;

/// What a machine that sends requests wants of its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallAction {
    /// Send this request now; the machine's `handle_answer` takes its answer.
    Open {
        /// The number of the request.
        id: RequestId,
        /// The request.
        request: ApiRequest,
    },
    /// Give up this request. The server may still process it.
    Abort(RequestId),
}

/// The requests of a machine that are open, and those that it has given up. `A` is what one is about.
#[derive(Debug)]
pub(crate) struct PendingCalls<T, A> {
    open: Vec<(Asked<A>, ApiCall<T>)>,
    aborted: Vec<RequestId>,
    last: RequestId,
}

/// A request that is open, or was.
#[derive(Debug)]
pub(crate) struct Asked<A> {
    pub(crate) id: RequestId,
    pub(crate) about: A,
    /// When it was sent.
    pub(crate) at: Instant,
    until: Instant,
}

impl<T, A> PendingCalls<T, A> {
    /// Opens a request, which is given up after `timeout`.
    ///
    /// # Errors
    /// If it cannot be sent.
    pub(crate) fn open(
        &mut self,
        at: Instant,
        timeout: Duration,
        call: ApiCall<T>,
        about: A,
    ) -> Result<(RequestId, CallAction), ApiError> {
        let request = call.request()?.clone();
        let id = RequestId(self.last.0 + 1);
        self.last = id;
        self.open.push((Asked { id, about, at, until: at + timeout }, call));
        Ok((id, CallAction::Open { id, request }))
    }

    /// Ends the request of this answer; `None` if it was given up.
    pub(crate) fn end(
        &mut self,
        id: RequestId,
        answer: Result<ApiResponse, TransportError>,
    ) -> Option<(Asked<A>, Result<T, ApiError>)> {
        let (asked, call) = self.take(|asked| asked.id == id)?;
        Some((asked, answer.map_err(ApiError::from).and_then(|answer| call.read(&answer))))
    }

    /// Gives up a request whose time is over.
    pub(crate) fn end_late(&mut self, now: Instant) -> Option<(Asked<A>, ApiError)> {
        let (asked, _) = self.take(|asked| asked.until <= now)?;
        self.aborted.push(asked.id);
        let late = TransportError::new(TransportErrorKind::Timeout, "no answer within request_timeout");
        Some((asked, ApiError::Transport(late)))
    }

    /// Gives up all.
    pub(crate) fn abort(&mut self) {
        self.aborted.extend(self.open.drain(..).map(|(asked, _)| asked.id));
    }

    /// The next request that was given up.
    pub(crate) fn poll_abort(&mut self) -> Option<CallAction> {
        self.aborted.pop().map(CallAction::Abort)
    }

    /// When the next request is given up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.iter().map(|(asked, _)| asked.until).min()
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    fn take(&mut self, is_it: impl Fn(&Asked<A>) -> bool) -> Option<(Asked<A>, ApiCall<T>)> {
        let at = self.open.iter().position(|(asked, _)| is_it(asked))?;
        Some(self.open.swap_remove(at))
    }
}

impl<T, A> Default for PendingCalls<T, A> {
    fn default() -> Self {
        Self { open: Vec::new(), aborted: Vec::new(), last: RequestId::default() }
    }
}
