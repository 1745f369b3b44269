//! The wire between a client and its connection: nothing, or real sockets that should make no difference.

use super::ask::Ask;
use listwatch_core::Instant;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, TransportErrorKind};
use std::fmt::Debug;

/// Brings requests to the server, and what the connection says to the client. It takes no time.
pub trait Wire: Debug {
    /// A request is sent; what the server reads of it.
    fn open(&mut self, now: Instant, id: RequestId, request: &Request) -> Ask;

    /// A request is sent, and no connection can be made, because of `kind`. It is told as anything else is: by
    /// [`carry`](Self::carry).
    fn bar(&mut self, now: Instant, id: RequestId, request: &Request, kind: TransportErrorKind);

    /// The connection says something, with its bytes at the front of `buf`. What arrives of it is returned, and its
    /// bytes are put in their place.
    fn carry(&mut self, now: Instant, said: Incoming, buf: &mut [u8]) -> Incoming;

    /// The request is given up.
    fn abort(&mut self, id: RequestId);

    /// Nothing is sent any more, and what is open is given up.
    fn close(&mut self);
}

/// Nothing: all that is said arrives as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Direct;

impl Wire for Direct {
    fn open(&mut self, _: Instant, _: RequestId, request: &Request) -> Ask {
        request.into()
    }

    fn bar(&mut self, _: Instant, _: RequestId, _: &Request, _: TransportErrorKind) {}

    fn carry(&mut self, _: Instant, said: Incoming, _: &mut [u8]) -> Incoming {
        said
    }

    fn abort(&mut self, _: RequestId) {}

    fn close(&mut self) {}
}
