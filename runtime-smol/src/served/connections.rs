use super::places::{Answering, Place, Places};
use async_executor::Executor;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
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

/// What requests are answered by.
pub trait Site: Clone + Send + Sync + 'static {
    /// The bodies of answers.
    type Body: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static;

    /// Answers a request. While it waits for the body of the request, its connection may have to leave for another.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// How the bytes of requests come out of a connection: plainly, or by TLS.
pub trait Opening: Clone + Send + Sync + 'static {
    /// The bytes of requests, and of answers.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Opens a connection, within the time that its first head may take.
    fn open(&self, stream: TcpStream) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// Without TLS.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Opening for Plain {
    type Stream = TcpStream;

    async fn open(&self, stream: TcpStream) -> io::Result<TcpStream> {
        Ok(stream)
    }
}

/// Answers the requests on all connections of a listener, for ever.
pub async fn serve(
    listener: TcpListener,
    executor: &Executor<'static>,
    limits: Limits,
    opening: impl Opening,
    site: impl Site,
) -> Infallible {
    let places = Places::new(limits.connections);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let place = places.take().await;
                executor.spawn(connection(stream, place, limits, opening.clone(), site.clone())).detach();
            }
            // Too many open files, for example: other connections may end.
            Err(_) => drop(Timer::after(Duration::from_millis(100)).await),
        }
    }
}

/// A connection ends by its client, or by a limit.
async fn connection(stream: TcpStream, place: Place, limits: Limits, opening: impl Opening, site: impl Site) {
    let _slower_without = stream.set_nodelay(true);
    let place = Arc::new(place);
    let service = service_fn(|mut request: Request<Incoming>| {
        let (place, site, client) = (Arc::clone(&place), site.clone(), stream.clone());
        async move {
            place.asked();
            request.extensions_mut().insert(Arrival(Arc::clone(&place)));
            let answer = site.answer(request).await;
            let answering = place.answering();
            Ok::<_, Infallible>(answer.map(|body| Held::new(body, client, answering)))
        }
    });
    let mut server = http1::Builder::new();
    // A client may send no more after its request. Hyper then reads no end of it, so each watch does.
    server.half_close(true);
    server.timer(SmolTimer::new()).header_read_timeout(limits.idle);
    server.max_header_size(limits.head).max_buf_size(2 * limits.head);
    let connection = async {
        let Ok(stream) = opening.open(stream.clone()).await else { return };
        drop(server.serve_connection(FuturesIo::new(Patient::new(stream, limits.stalled)), service).await);
    };
    let leaves = or(place.left(), silent(&place, limits.first_head));
    let _ended_by_the_client = or(connection, leaves).await;
}

/// In the extensions of each request: by it, a site keeps the connection while it computes an answer.
#[derive(Clone)]
pub struct Arrival(Arc<Place>);

impl Arrival {
    /// The whole request is there. Its connection stays until the value is dropped.
    pub fn keep(&self) -> impl Send + use<> {
        self.0.answering()
    }
}

listwatch_core::summary!("Arrival" for Arrival);

/// Waits until the first request of a connection is late.
async fn silent(place: &Place, patience: Duration) {
    Timer::after(patience).await;
    if place.has_asked() {
        pending::<()>().await;
    }
}

/// What clients may take of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections at a time. The one that is idle longest gives its place to another.
    pub connections: usize,
    /// The most bytes of the head of a request.
    pub head: usize,
    /// How long the first head of a connection may take.
    pub first_head: Duration,
    /// How long a connection may be without a request, and how long the head of one may take.
    pub idle: Duration,
    /// How long a client may take no byte of its answer.
    pub stalled: Duration,
}

/// Waits until a client sends no more. While it has sent another request, that is unknown.
async fn gone(client: TcpStream) {
    if client.peek(&mut [0]).await.is_ok_and(|bytes| bytes > 0) {
        pending::<()>().await;
    }
}

/// The body of an answer, whose connection is not idle before its end. A watch ends when its client sends no more.
pub(super) struct Held<B> {
    body: B,
    gone: Pin<Box<dyn Future<Output = ()> + Send>>,
    _answering: Answering,
}

impl<B> Held<B> {
    pub(super) fn new(body: B, client: TcpStream, answering: Answering) -> Self {
        Self { body, gone: Box::pin(gone(client)), _answering: answering }
    }
}

impl<B: Body<Data = Bytes, Error = Infallible> + Unpin> Body for Held<B> {
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

/// A socket whose peer has to take a byte in time.
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    stalled: Option<Timer>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
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

/// Whether a request names this server by an address, or as `localhost`. A page that turns its own name to this address
/// (DNS rebinding) does not, and other pages send `Origin`.
pub fn is_for_this_server(headers: &HeaderMap, uri: &Uri) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_without_a_request_leaves_its_place() {
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

    #[test]
    fn a_server_is_named_by_an_address_or_as_localhost() {
        for host in ["127.0.0.1", "127.0.0.1:8001", "localhost", "LocalHost:80", "[::1]", "[::1]:8001", "10.0.0.7:80"] {
            assert!(is_own_name(host), "{host}");
        }
        for host in ["", "example.com", "example.com:8001", "127.0.0.1.example.com", "localhost.example.com:1"] {
            assert!(!is_own_name(host), "{host}");
        }
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
