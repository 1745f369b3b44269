//! Writes that are sent only while a gate lets them.

use super::pending::Pending;
use crate::mutex::Mutex;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Poll, Waker};
use listwatch_core::api::{ApiResponse, RequestLine, SendGate};
use listwatch_core::transport::TransportError;
use std::sync::Arc;

/// Decides which requests a client sends, and knows which of them are open.
pub(crate) trait Gate: Send + Sync {
    /// Lets a write in; what is asked again when it leaves.
    ///
    /// # Errors
    /// The reason why it is not sent.
    fn enter(self: Arc<Self>, write: &Arc<OpenWrite>) -> Result<SendGate, TransportError>;

    /// The write is over.
    fn leave(&self, write: &Arc<OpenWrite>);
}

/// A write that a gate has let in, and that is not over yet.
pub(crate) struct OpenWrite {
    line: RequestLine,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Aborts the request; `None` before it is sent, and once it is aborted.
    abort: Option<Abort>,
    waker: Option<Waker>,
    /// Why the gate took it back.
    revoked: Option<TransportError>,
}

type Abort = Box<dyn FnOnce() + Send>;

impl OpenWrite {
    pub(super) fn new(line: RequestLine) -> Arc<Self> {
        Arc::new(Self { line, state: Mutex::default() })
    }

    /// Which write it is.
    pub(crate) fn line(&self) -> &RequestLine {
        &self.line
    }

    /// Aborts the write. Once this has returned, nothing of it leaves any more, although its task may not be polled.
    pub(crate) fn revoke(&self, why: TransportError) {
        let mut state = self.state.lock();
        state.revoked.get_or_insert(why);
        let (abort, waker) = (state.abort.take(), state.waker.take());
        // The abort is the transport's, and the waker the executor's.
        drop(state);
        abort.into_iter().for_each(|abort| abort());
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether it may leave.
    pub(crate) fn check(&self) -> Result<(), TransportError> {
        self.state.lock().revoked.clone().map_or(Ok(()), Err)
    }

    /// The request is sent from now on.
    fn on_sent(&self, abort: Abort) {
        let mut state = self.state.lock();
        if state.revoked.is_none() {
            state.abort = Some(abort);
            return;
        }
        drop(state);
        abort();
    }

    fn set_waker(&self, waker: &Waker) {
        let waker = waker.clone();
        let before = self.state.lock().waker.replace(waker);
        // Its drop may drop the task.
        drop(before);
    }
}

/// A write's place behind its gates, until it is dropped.
pub(super) struct Entry {
    entered: Vec<Arc<dyn Gate>>,
    write: Arc<OpenWrite>,
}

impl Entry {
    /// Enters each gate; what is asked when the write leaves.
    pub(super) fn enter(gates: &[Arc<dyn Gate>], line: RequestLine) -> Result<(Self, SendGate), TransportError> {
        let (mut entry, mut asked) = (Self { entered: Vec::new(), write: OpenWrite::new(line) }, Vec::new());
        for gate in gates {
            asked.push(Arc::clone(gate).enter(&entry.write)?);
            entry.entered.push(Arc::clone(gate));
        }
        Ok((entry, SendGate::new(move || asked.iter().try_for_each(SendGate::check))))
    }

    /// Waits for the answer, unless a gate takes the write back.
    pub(super) async fn answer(self, mut pending: Pending) -> Result<ApiResponse, TransportError> {
        pending.aborting().into_iter().for_each(|abort| self.write.on_sent(abort));
        poll_fn(|cx| {
            // First: the gate may take the write back meanwhile.
            self.write.set_waker(cx.waker());
            let polled = Pin::new(&mut pending).poll(cx).map_err(TransportError::from);
            match self.write.check() {
                Err(revoked) if !matches!(polled, Poll::Ready(Ok(_))) => Poll::Ready(Err(revoked)),
                _ => polled,
            }
        })
        .await
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.entered.iter().for_each(|gate| gate.leave(&self.write));
    }
}
