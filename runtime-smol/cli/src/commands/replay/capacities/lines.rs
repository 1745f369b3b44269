//! The lines of watches, measured as they pass.

use core::task::Poll;
use listwatch::file::Playback;
use listwatch::request::{Query, Request, RequestId};
use listwatch::transport::{Incoming, ListerWatcher, ReadContext};

/// A playback, and the longest line that a watch of it has sent.
pub(super) struct Lines {
    playback: Playback,
    is_watch: bool,
    line: usize,
    longest: usize,
}

impl Lines {
    pub(super) fn new(playback: Playback) -> Self {
        Self { playback, is_watch: false, line: 0, longest: 0 }
    }

    pub(super) fn playback(&self) -> &Playback {
        &self.playback
    }

    /// The bytes of the longest line, without its end.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    fn pass(&mut self, bytes: &[u8]) {
        for (number, piece) in bytes.split(|byte| *byte == b'\n').enumerate() {
            self.line = piece.len() + if number == 0 { self.line } else { 0 };
            self.longest = self.longest.max(self.line);
        }
    }
}

impl ListerWatcher for Lines {
    fn open(&mut self, id: RequestId, request: &Request) {
        (self.is_watch, self.line) = (request.query() != Query::List, 0);
        self.playback.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let incoming = self.playback.poll_read(context, buf);
        if let (Poll::Ready(Incoming::Data { len, .. }), true) = (&incoming, self.is_watch) {
            self.pass(&buf[..*len]);
        }
        incoming
    }

    fn abort(&mut self, id: RequestId) {
        self.playback.abort(id);
    }
}
