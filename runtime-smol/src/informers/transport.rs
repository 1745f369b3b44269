//! The transport of a stream, made when its first request is sent.

use super::world::{AnyTransport, World};
use core::task::Poll;
use listwatch_core::api::Method;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::text::SharedText;
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{ListerWatcher, Resource};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A stream's own transport in its world. So the program's function that makes it is called where a panic is caught.
pub(crate) struct StreamTransport {
    world: World,
    resource: Resource,
    /// That of the stream on a tape.
    name: Option<Arc<str>>,
    opened: Option<AnyTransport>,
    /// The request whose answer has not begun.
    unanswered: Option<RequestId>,
    /// The bytes of all bodies.
    received: Arc<AtomicU64>,
}

impl StreamTransport {
    pub(super) fn new(world: &World, resource: Resource, name: Option<Arc<str>>) -> Self {
        Self { world: world.clone(), resource, name, opened: None, unanswered: None, received: Arc::default() }
    }
}

impl StreamTransport {
    /// Adds up the bytes of bodies there.
    pub(super) fn counting(self, received: &Arc<AtomicU64>) -> Self {
        Self { received: Arc::clone(received), ..self }
    }

    /// The open request is answered, or over without an answer.
    fn count(&mut self, status: Option<u16>) {
        if self.unanswered.take().is_some() {
            self.world.client().requests().count(Method::Get, status);
        }
    }
}

impl ListerWatcher for StreamTransport {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.count(None);
        self.unanswered = Some(id);
        let transport = || self.world.transport(&self.resource, self.name.as_ref());
        self.opened.get_or_insert_with(transport).open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        match &mut self.opened {
            Some(opened) => {
                let read = opened.poll_read(context, buf);
                match &read {
                    Poll::Ready(Incoming::Head { head, .. }) => self.count(Some(head.status)),
                    Poll::Ready(Incoming::Data { len, .. }) => {
                        self.received.fetch_add(u64::try_from(*len).unwrap_or(u64::MAX), Ordering::Relaxed);
                    }
                    Poll::Ready(Incoming::Failed { id, .. }) if self.unanswered == Some(*id) => self.count(None),
                    _ => {}
                }
                read
            }
            None => Poll::Ready(Incoming::Idle { until: None }),
        }
    }

    fn abort(&mut self, id: RequestId) {
        if self.unanswered == Some(id) {
            self.count(None);
        }
        self.opened.iter_mut().for_each(|opened| opened.abort(id));
    }

    fn waits_for(&self) -> Option<SharedText> {
        self.opened.as_ref()?.waits_for()
    }
}
