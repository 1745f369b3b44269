//! The records that a candidate writes, and which of those that it sees are its own.

use super::{LeaderElector, before};
use crate::api::ApiCall;
use crate::election::elector::Intent;
use crate::election::lease::{self, Known, MAX_INT32, Record};
use crate::time::{Instant, WallTime};
use core::time::Duration;
use serde_json::Value;

impl LeaderElector {
    /// When the write that made this record was sent, if this life did.
    pub(super) fn written(&self, record: &Record) -> Option<Instant> {
        let own = record.holder.as_deref() == Some(&self.config.identity);
        own.then(|| self.sent.at(record.renewed)).flatten()
    }

    pub(super) fn holds(&self) -> bool {
        self.known.as_ref().is_some_and(|known| self.written(&known.record).is_some())
    }

    /// Whether a candidate may take this lease.
    pub(super) fn is_free(&self, known: &Known) -> bool {
        known.record.holder.is_none()
            || self.written(&known.record).is_some()
            || known.expiry(self.config.lease_duration) <= self.now
    }

    pub(super) fn request(&mut self, intent: Intent, wall: WallTime) -> ApiCall<Value> {
        if intent == Intent::Read {
            return self.api.get(&self.name);
        }
        let record = if intent == Intent::Release { self.released(wall) } else { self.renewed(wall) };
        let known = self.known.as_ref().map(|known| known.lease.clone());
        let is_new = known.is_none();
        let mut lease = known.unwrap_or_else(|| lease::created(&self.namespace, &self.name));
        lease::label(&mut lease, &self.config.labels);
        record.write(&mut lease);
        if is_new { self.api.create(&lease) } else { self.api.replace(&self.name, &lease) }
    }

    /// The record that acquires or renews the lease.
    pub(super) fn renewed(&mut self, wall: WallTime) -> Record {
        let known = self.known.as_ref().map(|known| &known.record);
        let (renewed, known) = (known.and_then(|known| known.renewed), known.map(|known| known.transitions));
        self.sent.forget(before(self.now, self.config.renew_deadline), renewed);
        let renewed = self.sent.note(self.now, wall);
        let (acquired, transitions) = match self.term() {
            Some(term) => (term.token.acquired, term.token.transitions),
            None => (Some(renewed), known.map_or(0, |count| count.saturating_add(1).min(MAX_INT32 as u32))),
        };
        let (holder, duration) = (Some(self.config.identity.clone()), Some(self.config.lease_duration));
        Record { holder, duration, acquired, renewed: Some(renewed), transitions }
    }

    /// The record that releases the lease: it expires after a second, for candidates that look at nothing else.
    pub(super) fn released(&self, wall: WallTime) -> Record {
        let transitions = self.known.as_ref().map_or(0, |known| known.record.transitions);
        let (acquired, renewed, duration) = (Some(wall), Some(wall), Some(Duration::from_secs(1)));
        Record { holder: None, duration, acquired, renewed, transitions }
    }
}
