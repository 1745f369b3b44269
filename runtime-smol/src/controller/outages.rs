//! The failures of a source's streams, until each has recovered.

use crate::informers::{InformerHandle, StreamName};
use core::task::{Context, Poll};
use listwatch_core::Instant;

/// The streams of a source that were reported as failing: one entry each.
#[derive(Default)]
pub(super) struct Outages(Vec<(StreamName, Instant)>);

impl Outages {
    /// A failure of the stream was reported.
    pub(super) fn begin(&mut self, stream: StreamName, now: Instant) {
        if !self.has(&stream) {
            self.0.push((stream, now));
        }
    }

    /// Whether a failure of the stream was reported, and it has not recovered since.
    pub(super) fn has(&self, stream: &StreamName) -> bool {
        self.0.iter().any(|(known, _)| known == stream)
    }

    /// The next stream that has recovered, and since when it failed.
    pub(super) fn poll_recovered<T>(
        &mut self,
        handle: &InformerHandle<T>,
        cx: &Context<'_>,
    ) -> Poll<(StreamName, Instant)> {
        let over = |(stream, since): &(StreamName, Instant)| handle.poll_recovered(stream, *since, cx).is_ready();
        match self.0.iter().position(over) {
            Some(place) => Poll::Ready(self.0.swap_remove(place)),
            None => Poll::Pending,
        }
    }
}
