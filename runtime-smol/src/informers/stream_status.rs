//! What a stream does now, and what went wrong with it, for people.

use super::audit::{AuditCounts, StreamAudit};
use crate::names::StreamName;
#[cfg(feature = "tracing")]
use crate::traced::{REFLECTOR, event_at, selector, told};
use core::fmt;
use core::time::Duration;
use listwatch_core::Event;
#[cfg(feature = "tracing")]
use listwatch_core::Resource;
use listwatch_core::decode::DecodeError;
use listwatch_core::informer::InformerStatus;
use listwatch_core::object::{Key, Version};
use listwatch_core::reflector::{FailureClass, FailureReport, Operation};
use listwatch_core::text::{Counted, Printable, SharedText};
use listwatch_core::time::Span;
use std::sync::Arc;
#[cfg(feature = "tracing")]
use tracing::Level;

/// What one list-and-watch of an informer does at a moment. How far it is in its store is its
/// [`StreamProgress`](listwatch_core::cache::StreamProgress).
///
/// [`Display`](fmt::Display) writes it in one line: `pods in namespace web: synced at version 7, last update 4 s ago`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamStatus {
    /// The stream.
    pub name: StreamName,
    /// The status of its informer.
    pub status: InformerStatus,
    /// The last failure of a request, also after recovery.
    pub failure: Option<Arc<FailureReport>>,
    /// How many objects could not be decoded.
    pub undecodable: u64,
    /// How many times the program's own code panicked in the stream: a decoder, an index function, a transport.
    pub panics: u64,
    /// The message of the last panic.
    pub panic: Option<Arc<str>>,
    /// For how long a subscriber that [waits](listwatch_core::informer::Subscription::wait) has held the stream back,
    /// where one does now. The cache gets no change meanwhile.
    pub held_back: Option<Duration>,
    /// What in this process the open request waits for before it is sent, where it does now: a cluster limits how many
    /// are open.
    pub waits_for: Option<SharedText>,
    /// The last [audit](super::audit), if there was one.
    pub audit: Option<Arc<StreamAudit>>,
    /// The number of audits, by their results.
    pub(crate) audits: AuditCounts,
    /// The time since the end of the last one.
    pub(crate) audit_age: Option<Duration>,
    /// The numbers of failures by their class and operation.
    pub(crate) failures: Vec<((FailureClass, Operation), u64)>,
    /// How many times the whole state was read.
    pub(crate) lists: u32,
    /// The number of objects in the store, unless other streams have objects in it.
    pub(crate) objects: Option<usize>,
    /// The bytes of lists and watches, as the transport delivered them.
    pub received_bytes: u64,
    /// The versions of the last status that had them: the cache keeps its state while requests fail.
    pub(crate) received: Option<Version>,
    pub(crate) applied: Option<Version>,
}

impl StreamStatus {
    /// What an operator can do, where the server denies the request or does not know the resource: the command that
    /// checks the RBAC rules, or lists the resources.
    pub fn help(&self) -> Option<String> {
        let report = self.failure.as_ref().filter(|_| self.is_failing())?;
        self.name.help(report.failure.class(), report.operation)
    }

    /// There are few classes and operations.
    pub(super) fn count(&mut self, report: &FailureReport) {
        let reason = (report.failure.class(), report.operation);
        match self.failures.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.failures.push((reason, 1)),
        }
    }

    /// What the stream does now. The versions of the last state that was synced stay.
    pub(super) fn set(&mut self, status: InformerStatus) {
        if let InformerStatus::Synced { received, applied, .. } = &status {
            (self.received, self.applied) = (received.clone(), applied.clone());
        }
        self.status = status;
    }

    pub(crate) fn is_failing(&self) -> bool {
        matches!(self.status, InformerStatus::Failing { .. })
    }
}

impl fmt::Display for StreamStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.status)?;
        if let Some(report) = self.failure.as_ref().filter(|_| !self.status.is_synced() || self.is_failing()) {
            write!(f, "; the last failure: {}", report.failure)?;
        }
        if self.undecodable > 0 {
            write!(f, "; {} could not be decoded", Counted(self.undecodable, "object", "objects"))?;
        }
        if let Some(panic) = &self.panic {
            write!(f, "; {}, the last: {}", Counted(self.panics, "panic", "panics"), Printable::new(panic))?;
        }
        if let Some(held_back) = self.held_back {
            write!(f, "; held back by a subscriber for {}", Span(held_back))?;
        }
        if let Some(obstacle) = &self.waits_for {
            write!(f, "; its request waits: {}", Printable::new(obstacle))?;
        }
        self.help().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

/// What a wait for streams says where no task runs the informers, and so has not started one of them.
pub(super) fn not_run(streams: &[StreamStatus], is_run: bool) -> &'static str {
    let is_idle = |stream: &StreamStatus| stream.status == InformerStatus::Idle;
    if is_run || !streams.iter().any(is_idle) {
        return "";
    }
    "; no task runs the informers: spawn `Informers::run`"
}

/// What went wrong in a stream. The stream goes on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum StreamError<'a> {
    /// A request failed. The informer retries.
    Failed(&'a FailureReport),
    /// An object could not be decoded. The cache keeps the state before it.
    Undecodable(&'a DecodeError<Key>),
    /// The program's own code panicked: a decoder, an index function, a transport, the drop of an object. The stream goes
    /// on; after any but a drop, with a delay.
    Panicked(&'a str),
}

impl<'a> StreamError<'a> {
    /// What an event says of an error.
    pub(super) fn of<T>(event: &'a Event<T>) -> Option<Self> {
        match event {
            Event::Failed(report) => Some(Self::Failed(report)),
            Event::Undecodable(error) => Some(Self::Undecodable(error)),
            _ => None,
        }
    }
}

/// For the subscriber of the program.
#[cfg(feature = "tracing")]
impl StreamError<'_> {
    /// Tells what else went wrong in a stream. The informer's events have told the failures of requests.
    pub(super) fn trace(&self, resource: &Resource) {
        let (level, key) = match self {
            Self::Failed(_) => return,
            Self::Undecodable(undecodable) => (Level::WARN, undecodable.key.as_ref()),
            Self::Panicked(_) => (Level::ERROR, None),
        };
        told(|| {
            event_at!(
                level,
                target: REFLECTOR,
                resource = display(Printable::new(resource.path())),
                label_selector = selector(resource.label_selector()),
                field_selector = selector(resource.field_selector()),
                key = key.map(|key| display(Printable::new(key.as_str()))),
                "{}",
                Printable::new(self)
            );
        });
    }
}

impl fmt::Display for StreamError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(report) => report.fmt(f),
            Self::Undecodable(error) => write!(f, "not in the cache, or as it was before: {error}"),
            Self::Panicked(message) => write!(f, "panicked: {}", Printable::new(message)),
        }
    }
}
