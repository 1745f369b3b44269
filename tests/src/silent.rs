//! A server that never answers.

use core::task::Poll;
use listwatch_core::ListerWatcher;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};

/// The transport to a server that never answers.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl ListerWatcher for Silent {
    fn open(&mut self, _: RequestId, _: &Request) {}

    fn poll_read(&mut self, _: ReadContext<'_, '_>, _: &mut [u8]) -> Poll<Incoming> {
        Poll::Ready(Incoming::Idle { until: None })
    }

    fn abort(&mut self, _: RequestId) {}
}
