//! HTTP/1.1 on a socket, with limits.

use super::body::AnswerBody;
use super::places::{Answering, Place, Places};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use listwatch_runtime_smol::Executor;
use smol::Timer;
use smol::future::{FutureExt, or, pending};
use smol::io::{AsyncRead, AsyncWrite};
use smol::net::{TcpListener, TcpStream};
use smol_hyper::rt::{FuturesIo, SmolTimer};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The most connections at a time. The one that is idle longest gives its place to another.
const CONNECTIONS: usize = 512;

/// The most bytes of the head of a request.
const HEAD: usize = 64 * 1024;

/// The most bytes of the body of a request, as an API server takes them.
const BODY: usize = 3 * 1024 * 1024;

/// How long the first head of a connection may take.
const FIRST_HEAD: Duration = Duration::from_secs(10);

/// How long a connection may be without a request, and how long the head of one may take.
const IDLE: Duration = Duration::from_secs(90);

/// How long a client may take no byte of its answer.
const STALLED: Duration = Duration::from_secs(30);

/// A request whose body was read.
pub(super) struct Asked {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) accept: String,
    pub(super) content_type: String,
    pub(super) body: Bytes,
}

/// Answers the requests on all connections of a listener with `answer`, for ever.
pub(super) async fn serve<A>(listener: TcpListener, executor: &Executor<'static>, answer: A) -> Infallible
where
    A: Fn(Asked) -> Response<AnswerBody> + Clone + Send + Sync + 'static,
{
    let places = Places::new(CONNECTIONS);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let place = places.take().await;
                executor.spawn(connection(stream, place, answer.clone())).detach();
            }
            // Too many open files, for example: other connections may end.
            Err(_) => drop(Timer::after(Duration::from_millis(100)).await),
        }
    }
}

/// A connection ends by its client, or by a limit.
async fn connection<A>(stream: TcpStream, place: Place, answer: A)
where
    A: Fn(Asked) -> Response<AnswerBody> + Send + Sync + 'static,
{
    let _slower_without = stream.set_nodelay(true);
    let (place, answer) = (Arc::new(place), Arc::new(answer));
    let service = service_fn(|request| {
        let (place, answer, client) = (Arc::clone(&place), Arc::clone(&answer), stream.clone());
        async move {
            place.asked();
            let asked = read(request).await;
            let answering = place.answering();
            let answer = asked.map_or_else(|refused| refused, |asked| answer(asked));
            Ok::<_, Infallible>(answer.map(|body| Held { body, gone: Box::pin(gone(client)), _answering: answering }))
        }
    });
    let mut server = http1::Builder::new();
    // A client may send no more after its request. Hyper then reads no end of it, so each watch does.
    server.half_close(true);
    server.timer(SmolTimer::new()).header_read_timeout(IDLE).max_header_size(HEAD).max_buf_size(2 * HEAD);
    let connection = server.serve_connection(FuturesIo::new(Patient::new(stream.clone(), STALLED)), service);
    let _ended_by_the_client = or(async { drop(connection.await) }, or(place.left(), silent(&place, FIRST_HEAD))).await;
}

/// Waits until the first request of a connection is late.
async fn silent(place: &Place, patience: Duration) {
    Timer::after(patience).await;
    if place.has_asked() {
        pending::<()>().await;
    }
}

/// Waits until a client sends no more. While it has sent another request, that is unknown.
async fn gone(client: TcpStream) {
    if client.peek(&mut [0]).await.is_ok_and(|bytes| bytes > 0) {
        pending::<()>().await;
    }
}

/// The body of an answer, whose connection is not idle before its end. A watch ends when its client sends no more.
struct Held {
    body: AnswerBody,
    gone: Pin<Box<dyn Future<Output = ()> + Send>>,
    _answering: Answering,
}

impl Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => self.gone.as_mut().poll(cx).map(|()| None),
            frame => frame,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads a request, unless it is refused.
async fn read(request: Request<Incoming>) -> Result<Asked, Response<AnswerBody>> {
    let (head, body) = request.into_parts();
    if head.headers.get_all(HOST).iter().nth(1).is_some() {
        return Err(plain(StatusCode::BAD_REQUEST, "the request names its server more than once"));
    }
    if !is_for_this_server(&head.headers, &head.uri) {
        let message = "the request names another server, or comes from a page of a browser";
        return Err(plain(StatusCode::FORBIDDEN, message));
    }
    let text = |name: HeaderName| {
        let values = head.headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.collect::<Vec<_>>().join(",")
    };
    let body = async {
        let body = Limited::new(body, BODY).collect().await;
        body.map(|body| body.to_bytes()).map_err(|error| match error.is::<LengthLimitError>() {
            true => (StatusCode::PAYLOAD_TOO_LARGE, "too large"),
            false => (StatusCode::BAD_REQUEST, "malformed"),
        })
    };
    let late = async {
        Timer::after(IDLE).await;
        Err((StatusCode::REQUEST_TIMEOUT, "too slow"))
    };
    let refused = |(status, why)| plain(status, &format!("the body of the request is {why}"));
    let body = or(body, late).await.map_err(refused)?;
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let (accept, content_type) = (text(hyper::header::ACCEPT), text(CONTENT_TYPE));
    // Hyper sends the head of the answer alone.
    let method = if head.method == Method::HEAD { Method::GET } else { head.method };
    Ok(Asked { method: method.to_string(), target, accept, content_type, body })
}

/// Whether a request names this server by an address, or as `localhost`. A page that turns its own name to this address
/// (DNS rebinding) does not, and other pages send `Origin`.
fn is_for_this_server(headers: &HeaderMap, uri: &Uri) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).or_else(|| uri.host());
    host.is_some_and(is_own_name) && !headers.contains_key(ORIGIN)
}

fn is_own_name(host: &str) -> bool {
    let without_port = host.rsplit_once(':').map_or(host, |(name, port)| match port.parse::<u16>() {
        Ok(_) => name,
        Err(_) => host,
    });
    let address = without_port.trim_start_matches('[').trim_end_matches(']');
    without_port.eq_ignore_ascii_case("localhost")
        || host.parse::<SocketAddr>().is_ok()
        || address.parse::<IpAddr>().is_ok()
}

fn plain(status: StatusCode, message: &str) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(format!("{message}\n").into_bytes()));
    *response.status_mut() = status;
    response
}

/// A socket whose peer has to take a byte in time.
struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    stalled: Option<Timer>,
}

impl<S> Patient<S> {
    fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, stalled: None }
    }

    /// Ends a write that waits for too long.
    fn limited<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Timer::after(self.patience));
        stalled.poll(cx).map(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.limited(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_an_address_or_as_localhost() {
        for host in ["127.0.0.1", "127.0.0.1:8001", "localhost", "LocalHost:80", "[::1]", "[::1]:8001", "10.0.0.7:80"] {
            assert!(is_own_name(host), "{host}");
        }
        for host in ["", "example.com", "example.com:8001", "127.0.0.1.example.com", "localhost.example.com:1"] {
            assert!(!is_own_name(host), "{host}");
        }
    }

    /// A peer that takes nothing.
    struct Stuck;

    impl AsyncWrite for Stuck {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Pending
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn a_client_that_takes_nothing_of_its_answer_is_dropped() {
        let mut stuck = Patient::new(Stuck, Duration::from_millis(1));
        let written = smol::block_on(smol::io::AsyncWriteExt::write(&mut stuck, b"answer"));
        assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }

    /// It had 90 seconds for the head of its first request.
    #[test]
    fn a_connection_without_a_request_kept_its_place() {
        let place = Arc::new(smol::block_on(Places::new(1).take()));
        smol::block_on(silent(&place, Duration::from_millis(1)));
        place.asked();
        let leaves = async {
            silent(&place, Duration::ZERO).await;
            true
        };
        let stays = async {
            Timer::after(Duration::from_millis(20)).await;
            false
        };
        assert!(!smol::block_on(or(leaves, stays)), "its request came");
    }

    #[test]
    fn a_page_of_a_browser_is_refused() {
        let mut headers = HeaderMap::new();
        let uri = Uri::from_static("/api");
        assert!(!is_for_this_server(&headers, &uri), "without a host");
        headers.insert(HOST, hyper::header::HeaderValue::from_static("127.0.0.1:8001"));
        assert!(is_for_this_server(&headers, &uri));
        headers.insert(ORIGIN, hyper::header::HeaderValue::from_static("http://example.com"));
        assert!(!is_for_this_server(&headers, &uri));
    }
}
