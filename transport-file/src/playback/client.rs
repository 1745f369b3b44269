use super::answer::{Answer, Part};
use super::config::PlaybackConfig;
use crate::capture::{Exchange, Index, Key};
use crate::error::CaptureError;
use crate::file::FileCursor;
use core::task::Poll;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{ReadContext, TransportError, TransportErrorKind};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// An [`ApiTransport`] that answers from a recording. [`Playback::client`](crate::Playback::client) makes one.
///
/// # Matching
///
/// The first unused exchange with the same method, path, query and body answers a request. An exchange that was
/// recorded without its body matches any body, unless one with this body follows within 16 MiB. The order of the query
/// and of the fields of a JSON body does not matter.
///
/// A request that was not recorded, or not as often, fails with an error that names it.
/// [`Summary::unrecorded`](crate::Summary::unrecorded) counts them.
///
/// # Time
///
/// A response comes after its recorded delay on the caller's clock, or at once by [`Pace::Immediate`](crate::Pace). The
/// delay counts from the first [`poll_response`](ApiTransport::poll_response), because [`open`](ApiTransport::open)
/// gets no time. A request that failed in the recording fails again.
///
/// # Cost
///
/// A response is read at its first poll, and held until it is due. If the order of requests differs from the recording,
/// a step back of more than 4 MiB reads a gzip member again, or a Zstandard file from its beginning.
///
/// A request that was not recorded reads the recording to its end. Up to eight errors tell how often a request was
/// recorded that has no response left, for which the recording is read once more.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use core::task::{Context, Poll, Waker};
/// use listwatch_core::api::{ApiRequest, ApiTransport, Method, Reply};
/// use listwatch_core::request::RequestId;
/// use listwatch_core::transport::ReadContext;
/// use listwatch_core::Instant;
/// use listwatch_transport_file::Playback;
///
/// let mut client = Playback::from_file("controller.jsonl.gz")?.client();
/// client.open(RequestId(1), &ApiRequest::new(Method::Get, "/api/v1/nodes/a"));
/// let (mut cx, mut now) = (Context::from_waker(Waker::noop()), Instant::ZERO);
/// loop {
///     match client.poll_response(RequestId(1), ReadContext { cx: &mut cx, now, max_wait: None }) {
///         Poll::Ready(Reply::Idle { until: Some(until) }) => now = until,
///         Poll::Ready(Reply::Answered(response)) => return Ok(println!("status {}", response.status)),
///         other => panic!("{other:?}"),
///     }
/// }
/// # }
/// ```
pub struct PlaybackClient {
    config: PlaybackConfig,
    /// `None` for a file without requests.
    index: Option<Index>,
    cursor: FileCursor,
    open: HashMap<RequestId, OpenCall>,
}

/// How many bytes of read lines are kept for overlapping responses.
const LOOKBACK: usize = 4 << 20;

/// An open request.
enum OpenCall {
    /// Answered by this exchange.
    Recorded(Index, Arc<Exchange>),
    /// The recorded client aborted it. No response comes.
    Aborted,
    Due(Instant, Reply),
    /// Nothing recorded answers it.
    Failed(TransportError),
}

impl PlaybackClient {
    pub(crate) fn new(config: PlaybackConfig, index: Option<Index>, cursor: FileCursor) -> Self {
        Self { config, index, cursor: cursor.with_lookback(LOOKBACK), open: HashMap::new() }
    }

    /// Finds the answer to a request.
    fn find(&self, request: &ApiRequest) -> OpenCall {
        let exact = Key::of_call(request);
        let Some(index) = &self.index else { return OpenCall::Failed(unrecorded(request, "the file has no requests")) };
        let (calls, bare) = (index.calls(), Key::of_bare_call(request));
        let exchange = match index.take_call(exact, bare) {
            Ok(Some(exchange)) => exchange,
            Ok(None) => {
                calls.unrecorded.fetch_add(1, Ordering::Relaxed);
                return OpenCall::Failed(unrecorded(request, &why_not(index.count(exact))));
            }
            Err(error) => return OpenCall::Failed(unreadable(&error)),
        };
        // The next record tells whether the connection failed.
        index.await_record(&exchange, exchange.place.line);
        let count = if exchange.is_refused() { &calls.refused } else { &calls.answered };
        count.fetch_add(1, Ordering::Relaxed);
        OpenCall::Recorded(index.clone(), exchange)
    }

    /// Reads the response of an exchange, with its delay after the request; `None` if the recorded client aborted it.
    fn read(&mut self, index: Index, exchange: Arc<Exchange>) -> Option<(Duration, Reply)> {
        let mut answer = Answer::recorded(exchange, index, self.config);
        let mut response = ApiResponse::new(0, Vec::new());
        loop {
            let delay = answer.peek(&mut self.cursor).0;
            let failed = |error| Some((delay, Reply::Failed(error)));
            match answer.pop() {
                Some(Part::Head(head)) => {
                    (response.status, response.retry_after) = (head.status, head.retry_after);
                }
                Some(Part::Data(chunk)) => response.body.extend(chunk.into_bytes()),
                Some(Part::End) => return Some((delay, Reply::Answered(response))),
                Some(Part::GivenUp { .. }) => return None,
                Some(Part::Failed(error)) => return failed(error),
                Some(Part::Broken(error)) => {
                    return failed(unreadable(&error));
                }
                Some(Part::RecordingEnd) | None => {
                    let detail = "the recording ends before the response";
                    return failed(TransportError::new(TransportErrorKind::Reset, detail));
                }
            }
        }
    }
}

impl ApiTransport for PlaybackClient {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.open.insert(id, self.find(request));
    }

    fn poll_response(&mut self, id: RequestId, context: ReadContext<'_, '_>) -> Poll<Reply> {
        let (due, reply) = match self.open.remove(&id) {
            None => return Poll::Ready(Reply::Idle { until: None }),
            Some(OpenCall::Failed(error)) => return Poll::Ready(Reply::Failed(error)),
            Some(OpenCall::Aborted) => {
                self.open.insert(id, OpenCall::Aborted);
                return Poll::Ready(Reply::Idle { until: None });
            }
            Some(OpenCall::Due(due, reply)) => (due, reply),
            Some(OpenCall::Recorded(index, exchange)) => {
                let Some((delay, reply)) = self.read(index, exchange) else {
                    self.open.insert(id, OpenCall::Aborted);
                    return Poll::Ready(Reply::Idle { until: None });
                };
                (self.config.due(context.now, delay), reply)
            }
        };
        if context.now >= due {
            return Poll::Ready(reply);
        }
        self.open.insert(id, OpenCall::Due(due, reply));
        Poll::Ready(Reply::Idle { until: Some(due) })
    }

    fn abort(&mut self, id: RequestId) {
        self.open.remove(&id);
    }
}

fn unrecorded(request: &ApiRequest, why: &str) -> TransportError {
    let detail = format!("unrecorded: {} {request}: {why}", request.method.name());
    TransportError::new(TransportErrorKind::Other, detail)
}

/// Why a request has no answer that was recorded so often.
fn why_not(recorded: Option<u64>) -> String {
    match recorded {
        Some(0) => "the recording has no such request with this body".into(),
        Some(1) => "its only response was used before".into(),
        Some(more) => format!("its {more} responses were used before"),
        None => "the recording has no response left to it".into(),
    }
}

fn unreadable(error: &CaptureError) -> TransportError {
    TransportError::new(TransportErrorKind::Protocol, error.to_string())
}

listwatch_core::summary!("PlaybackClient" for PlaybackClient, |it| {
    path: it.cursor.path(), open: it.open.len(), opened_files: it.cursor.opened(),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Index;
    use core::task::{Context, Waker};
    use listwatch_core::api::Method;

    /// Plays requests whose responses overlap, each with the next two, and returns how often the file was opened.
    fn opened(count: u64) -> u64 {
        let mut lines = vec![r#"{"t":0,"id":0,"request":{"method":"GET","path":"/api/v1/pods"}}"#.to_owned()];
        for id in 1..=count {
            let path = format!("/api/v1/nodes/n{id}");
            lines.push(format!(
                r#"{{"t":{id},"id":{id},"request":{{"method":"DELETE","path":"{path}","body":"{{}}"}}}}"#
            ));
            if let Some(id) = id.checked_sub(2).filter(|id| *id > 0) {
                lines.push(format!(r#"{{"t":{id},"id":{id},"response":{{"status":200}}}}"#));
                lines.push(format!(r#"{{"t":{id},"id":{id},"end":"eof"}}"#));
            }
        }
        let path = std::env::temp_dir().join(format!("listwatch-client-{count}-{}", std::process::id()));
        std::fs::write(&path, lines.join("\n")).unwrap();
        let cursor = || FileCursor::new(path.as_path().into(), usize::MAX);
        let index = Index::open(&path.as_path().into(), usize::MAX, false).unwrap();
        let mut client = PlaybackClient::new(PlaybackConfig::new(), Some(index), cursor());
        for id in 1..=count - 2 {
            let mut request = ApiRequest::new(Method::Delete, format!("/api/v1/nodes/n{id}"));
            request.body = b"{}".to_vec();
            client.open(RequestId(id), &request);
            let mut cx = Context::from_waker(Waker::noop());
            let now = Instant::ZERO + Duration::from_secs(3600);
            let context = ReadContext { cx: &mut cx, now, max_wait: None };
            assert!(matches!(client.poll_response(RequestId(id), context), Poll::Ready(Reply::Answered(_))), "{id}");
        }
        std::fs::remove_file(path).unwrap();
        client.cursor.opened()
    }

    #[test]
    fn answers_that_overlap_are_played_without_reading_the_file_again() {
        assert_eq!((opened(10), opened(1_000)), (1, 1));
    }
}
