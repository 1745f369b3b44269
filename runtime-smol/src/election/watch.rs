//! The lease as a watch brings it.

use crate::events::Events;
use crate::informers::{StreamTransport, World, events_of_one};
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream as _;
use listwatch_core::informer::InformerStatus;
use listwatch_core::object::ObjectHandle;
use listwatch_core::reflector::{FailureClass, FailureReport};
use listwatch_core::{Event, Instant, Resource};
use serde_json::Value;

/// Follows one lease.
pub(super) struct LeaseWatch {
    events: Box<Events<Value, StreamTransport>>,
}

/// What a watch tells.
pub(super) enum Watched {
    /// The lease; `None` if it was deleted.
    Lease(Option<Value>),
    /// The server does not let it be watched.
    Denied(Box<FailureReport>),
    /// Its state may have changed.
    Status,
}

impl LeaseWatch {
    pub(super) fn new(world: &World, leases: Resource, name: &str) -> Self {
        Self { events: Box::new(events_of_one(world, leases, name)) }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Watched> {
        Pin::new(&mut *self.events).poll_next(cx).map(|event| match event {
            Some(
                Event::Added { object, .. } | Event::Updated { new: object, .. } | Event::Recreated { new: object, .. },
            ) => Watched::Lease(Some(whole(&object))),
            Some(Event::Deleted { .. }) => Watched::Lease(None),
            Some(Event::Failed(report)) if is_denied(&report) => Watched::Denied(Box::new(report)),
            _ => Watched::Status,
        })
    }

    /// Whether it tells each change now.
    pub(super) fn is_current(&self, now: Instant) -> bool {
        matches!(self.events.driver().informer().status(now), InformerStatus::Synced { .. })
    }
}

fn is_denied(report: &FailureReport) -> bool {
    matches!(report.failure.class(), FailureClass::Forbidden | FailureClass::NotFound)
}

/// The items of a list lack what says their kind.
fn whole(object: &ObjectHandle<Value>) -> Value {
    let mut lease = Value::clone(object);
    if let Some(lease) = lease.as_object_mut() {
        lease.insert("apiVersion".to_owned(), "coordination.k8s.io/v1".into());
        lease.insert("kind".to_owned(), "Lease".into());
    }
    lease
}
