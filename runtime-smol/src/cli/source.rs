//! Where the bytes of `watch` come from, and where they are written down.

use core::task::Poll;
use listwatch_runtime_smol::ListerWatcher;
use listwatch_runtime_smol::file::{CaptureError, Recorder};
use listwatch_runtime_smol::http::HttpTransport;
use listwatch_runtime_smol::request::{Query, Request, RequestId};
use listwatch_runtime_smol::transport::{Incoming, ReadContext};

/// A connection to a cluster, recorded or not, that counts its requests.
pub(crate) struct Source {
    line: Line,
    pub(crate) requests: Requests,
    /// Whether anything was ever answered.
    pub(crate) answered: bool,
}

enum Line {
    Plain(HttpTransport),
    Recorded(Box<Recorder<HttpTransport>>),
}

/// How many requests were made.
#[derive(Clone, Copy, Default)]
pub(crate) struct Requests {
    pub(crate) lists: u64,
    pub(crate) watches: u64,
    pub(crate) watch_lists: u64,
}

impl Source {
    pub(crate) fn plain(transport: HttpTransport) -> Self {
        Self::over(Line::Plain(transport))
    }

    pub(crate) fn recorded(recorder: Recorder<HttpTransport>) -> Self {
        Self::over(Line::Recorded(Box::new(recorder)))
    }

    fn over(line: Line) -> Self {
        Self { line, requests: Requests::default(), answered: false }
    }

    /// Why nothing can be recorded any more.
    pub(crate) fn error(&self) -> Option<&CaptureError> {
        match &self.line {
            Line::Plain(_) => None,
            Line::Recorded(recorder) => recorder.error(),
        }
    }

    /// Ends the recording.
    pub(crate) fn finish(&mut self) -> Result<(), CaptureError> {
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
