//! The writes that leave under a term. They may go on when all other work has stopped.

use super::{Leadership, Machine, Shared};
use crate::client::{Gate, OpenWrite};
use listwatch_core::Instant;
use listwatch_core::api::SendGate;
use listwatch_core::election::FencingToken;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::Arc;
use std::task::Wake;

impl Leadership {
    /// Until when writes are waited for that go on alone.
    pub(in crate::election) fn closing(&self) -> Option<Instant> {
        self.lock().closing
    }

    /// Aborts the writes whose time is over, and takes note that no work goes on. Returns them.
    pub(in crate::election) fn give_up_late(&self) -> Vec<Arc<OpenWrite>> {
        let mut machine = self.lock();
        if machine.closing.is_none_or(|until| self.0.clock.now() < until) {
            return Vec::new();
        }
        let writes = core::mem::take(&mut machine.writes);
        drop(machine);
        // Before the release: nothing leaves after it.
        self.0.revoke(&writes);
        self.change(|machine| _ = machine.close(self.0.clock.now()));
        writes
    }
}

impl Machine {
    /// Takes note that no work goes on, once the writes are over that went on alone. Returns whether they are.
    fn close(&mut self, now: Instant) -> bool {
        let is_closed = self.closing.is_some() && self.writes.is_empty();
        if is_closed {
            self.conclude(now);
        }
        is_closed
    }
}

impl Gate for Shared {
    fn enter(self: Arc<Self>, write: &Arc<OpenWrite>) -> Result<SendGate, TransportError> {
        let mut machine = self.lock();
        let token = machine.elector.token(self.clock.now()).filter(|_| machine.closing.is_none()).cloned();
        let token = token.ok_or_else(|| self.refusal())?;
        machine.writes.push(Arc::clone(write));
        drop(machine);
        let write = Arc::clone(write);
        Ok(SendGate::new(move || write.check().and_then(|()| self.check(&token))))
    }

    fn leave(&self, write: &Arc<OpenWrite>) {
        let mut machine = self.lock();
        machine.writes.retain(|other| !Arc::ptr_eq(other, write));
        let is_closed = machine.close(self.clock.now());
        drop(machine);
        if is_closed {
            self.waiting.wake_by_ref();
        }
    }
}

impl Shared {
    /// Whether a write of this term may leave now.
    fn check(&self, term: &FencingToken) -> Result<(), TransportError> {
        let is_term = self.lock().elector.token(self.clock.now()) == Some(term);
        if is_term { Ok(()) } else { Err(self.refusal()) }
    }

    fn refusal(&self) -> TransportError {
        let why = format!("not sent: {} does not hold the lease {}", self.identity, self.lease);
        TransportError::new(TransportErrorKind::Other, why)
    }

    /// Aborts writes. The machine must not be locked: transports ask it.
    pub(super) fn revoke(&self, writes: &[Arc<OpenWrite>]) {
        let why =
            format!("given up: {} holds the lease {} no longer; it may have been made", self.identity, self.lease);
        writes.iter().for_each(|write| write.revoke(TransportError::new(TransportErrorKind::Other, why.clone())));
    }
}
