use super::answer::{Answer, Part};
use super::config::PlaybackConfig;
use crate::capture::{ClientIndex, Exchange, Exchanges, RequestDigest};
use crate::file::FileCursor;
use core::fmt;
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
/// recorded without its body matches any body. The order of the query and of the fields of a JSON body does not matter.
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
/// a step back of more than 4 MiB reads the file again from its beginning.
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
    exchanges: Arc<Exchanges>,
    index: Arc<ClientIndex>,
    /// How many exchanges of each request were tried.
    tried: HashMap<RequestDigest, usize>,
    cursor: FileCursor,
    open: HashMap<RequestId, Open>,
}

/// How many bytes of read lines are kept for overlapping responses.
const LOOKBACK: usize = 4 << 20;

/// An open request.
enum Open {
    /// Answered by the exchange at this position.
    Recorded(usize),
    /// The recorded client aborted it. No response comes.
    Aborted,
    Due(Instant, Reply),
    /// Nothing recorded answers it.
    Failed(TransportError),
}

impl PlaybackClient {
    pub(crate) fn new(
        config: PlaybackConfig,
        exchanges: Arc<Exchanges>,
        index: Arc<ClientIndex>,
        cursor: FileCursor,
    ) -> Self {
        let (tried, open, cursor) = (HashMap::new(), HashMap::new(), cursor.with_lookback(LOOKBACK));
        Self { config, exchanges, index, tried, cursor, open }
    }

    /// Takes the next exchange of a request, and returns its position.
    fn take(&mut self, digest: RequestDigest) -> Option<usize> {
        let places = self.index.places.get(&digest)?;
        let tried = self.tried.entry(digest).or_default();
        while let Some(place) = places.get(*tried) {
            *tried += 1;
            if self.exchanges.take(*place).is_some() {
                return Some(*place);
            }
        }
        None
    }

    fn unrecorded(&self, request: &ApiRequest, digest: RequestDigest) -> TransportError {
        self.exchanges.calls().unrecorded.fetch_add(1, Ordering::Relaxed);
        let recorded = self.index.places.get(&digest).map_or(0, Vec::len);
        let why = match recorded {
            0 => "the recording has no such request with this body".to_owned(),
            1 => "its only response was used before".to_owned(),
            more => format!("its {more} responses were used before"),
        };
        let detail = format!("unrecorded: {} {request}: {why}", request.method.name());
        TransportError::new(TransportErrorKind::Other, detail)
    }

    /// Reads the response of an exchange, with its delay after the request.
    fn read(&mut self, place: usize) -> (Duration, Reply) {
        let exchange = self.exchanges.get(place);
        let behind = self.exchanges.behind(exchange);
        let mut answer = Answer::recorded(exchange, behind, self.config.skip_bad_lines);
        let mut response = ApiResponse::new(0, Vec::new());
        loop {
            let delay = answer.peek(&mut self.cursor).0;
            let failed = |error| (delay, Reply::Failed(error));
            match answer.pop() {
                Some(Part::Head(head)) => {
                    (response.status, response.retry_after) = (head.status, head.retry_after);
                }
                Some(Part::Data(chunk)) => response.body.extend(chunk.into_bytes()),
                Some(Part::End) => return (delay, Reply::Answered(response)),
                Some(Part::Failed(error)) => return failed(error),
                Some(Part::Broken(error)) => {
                    return failed(TransportError::new(TransportErrorKind::Protocol, error.to_string()));
                }
                Some(Part::RecordingEnd) | None => {
                    let detail = "the recording ends before the response";
                    return failed(TransportError::new(TransportErrorKind::Reset, detail));
                }
            }
        }
    }

    fn note(&self, exchange: &Exchange) {
        let calls = self.exchanges.calls();
        let count = if exchange.is_refused() { &calls.refused } else { &calls.answered };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl ApiTransport for PlaybackClient {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        let (exact, bare) = (RequestDigest::exactly(request), RequestDigest::without_body(request));
        let open = match self.take(exact).or_else(|| self.take(bare)) {
            Some(place) => {
                let exchange = self.exchanges.get(place);
                self.note(exchange);
                match exchange.withheld(self.cursor.path()) {
                    Some(error) => Open::Failed(TransportError::new(TransportErrorKind::Other, error.to_string())),
                    None if exchange.given_up => Open::Aborted,
                    None => Open::Recorded(place),
                }
            }
            None => Open::Failed(self.unrecorded(request, exact)),
        };
        self.open.insert(id, open);
    }

    fn poll_response(&mut self, id: RequestId, context: ReadContext<'_, '_>) -> Poll<Reply> {
        let (due, reply) = match self.open.remove(&id) {
            None => return Poll::Ready(Reply::Idle { until: None }),
            Some(Open::Failed(error)) => return Poll::Ready(Reply::Failed(error)),
            Some(Open::Aborted) => {
                self.open.insert(id, Open::Aborted);
                return Poll::Ready(Reply::Idle { until: None });
            }
            Some(Open::Due(due, reply)) => (due, reply),
            Some(Open::Recorded(place)) => {
                let (delay, reply) = self.read(place);
                (self.config.due(context.now, delay), reply)
            }
        };
        if context.now >= due {
            return Poll::Ready(reply);
        }
        self.open.insert(id, Open::Due(due, reply));
        Poll::Ready(Reply::Idle { until: Some(due) })
    }

    fn abort(&mut self, id: RequestId) {
        self.open.remove(&id);
    }
}

impl fmt::Debug for PlaybackClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaybackClient")
            .field("path", self.cursor.path())
            .field("open", &self.open.len())
            .field("opened_files", &self.cursor.opened())
            .finish_non_exhaustive()
    }
}

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
        let index = Index::read(&mut cursor(), false).unwrap();
        let (exchanges, client_index) = (index.exchanges().clone(), index.client_index().clone());
        let mut client = PlaybackClient::new(PlaybackConfig::new(), exchanges, client_index, cursor());
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
