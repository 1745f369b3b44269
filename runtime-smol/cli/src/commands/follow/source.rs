//! The connection to a cluster, recorded or not.

use core::task::Poll;
use listwatch::file::{CaptureError, Recorder, Tape};
use listwatch::http::HttpTransport;
use listwatch::request::{Query, Request, RequestId};
use listwatch::transport::ListerWatcher;
use listwatch::transport::{Incoming, ReadContext};

/// A connection to a cluster that counts its requests.
pub(super) struct Source {
    line: Line,
    pub(super) requests: Requests,
    /// Whether a request was answered, or failed.
    pub(super) answered: bool,
}

enum Line {
    Plain(HttpTransport),
    Recorded(Box<Recorder<HttpTransport>>),
}

/// The numbers of requests.
#[derive(Clone, Copy, Default)]
pub(super) struct Requests {
    pub(super) lists: u64,
    pub(super) watches: u64,
    pub(super) watch_lists: u64,
}

impl Source {
    /// A connection that is recorded on the tape, if there is one.
    pub(super) fn new(transport: HttpTransport, tape: Option<&Tape>) -> Self {
        let line = match tape {
            Some(tape) => Line::Recorded(Box::new(tape.transport(transport))),
            None => Line::Plain(transport),
        };
        Self { line, requests: Requests::default(), answered: false }
    }

    /// The error that ended the recording.
    pub(super) fn error(&self) -> Option<CaptureError> {
        match &self.line {
            Line::Plain(_) => None,
            Line::Recorded(recorder) => recorder.error(),
        }
    }

    /// Completes the recording.
    pub(super) fn finish(&mut self) -> Result<(), CaptureError> {
        match &mut self.line {
            Line::Plain(_) => Ok(()),
            Line::Recorded(recorder) => recorder.finish(),
        }
    }

    fn line(&mut self) -> &mut dyn ListerWatcher {
        match &mut self.line {
            Line::Plain(transport) => transport,
            Line::Recorded(recorder) => &mut **recorder,
        }
    }
}

impl ListerWatcher for Source {
    fn open(&mut self, id: RequestId, request: &Request) {
        *match request.query() {
            Query::List => &mut self.requests.lists,
            Query::Watch => &mut self.requests.watches,
            Query::WatchList => &mut self.requests.watch_lists,
        } += 1;
        self.line().open(id, request);
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let polled = self.line().poll_read(turn, buf);
        self.answered |= matches!(polled, Poll::Ready(Incoming::Head { .. } | Incoming::Failed { .. }));
        polled
    }

    fn abort(&mut self, id: RequestId) {
        self.line().abort(id);
    }
}
