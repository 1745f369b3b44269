//! The transport of a stream, made when its first request is sent.

use super::world::{AnyTransport, World};
use core::task::Poll;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{ListerWatcher, Resource};
use std::sync::Arc;

/// A stream's own transport in its world. So the program's function that makes it is called where a panic is caught.
pub(crate) struct StreamTransport {
    world: World,
    resource: Resource,
    /// That of the stream on a tape.
    name: Option<Arc<str>>,
    opened: Option<AnyTransport>,
}

impl StreamTransport {
    pub(super) fn new(world: &World, resource: Resource, name: Option<Arc<str>>) -> Self {
        Self { world: world.clone(), resource, name, opened: None }
    }
}

impl ListerWatcher for StreamTransport {
    fn open(&mut self, id: RequestId, request: &Request) {
        let transport = || self.world.transport(&self.resource, self.name.as_ref());
        self.opened.get_or_insert_with(transport).open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        match &mut self.opened {
            Some(opened) => opened.poll_read(context, buf),
            None => Poll::Ready(Incoming::Idle { until: None }),
        }
    }

    fn abort(&mut self, id: RequestId) {
        self.opened.iter_mut().for_each(|opened| opened.abort(id));
    }
}
