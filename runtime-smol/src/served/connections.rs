use super::held::Held;
use super::limits::Limits;
use super::patient::Patient;
use super::places::{Place, Places};
use async_executor::Executor;
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use smol::Timer;
use smol::future::{or, pending};
use smol::net::{TcpListener, TcpStream};
use smol_hyper::rt::{FuturesIo, SmolTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// What requests are answered by.
pub trait Site: Clone + Send + Sync + 'static {
    /// A request that was read.
    type Asked: Send;
    /// The bodies of answers.
    type Body: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static;

    /// Reads a request, unless it is refused. Meanwhile its connection may have to leave for another.
    fn read(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Self::Asked, Response<Self::Body>>> + Send;

    /// Answers a request.
    fn answer(&self, asked: Self::Asked) -> Response<Self::Body>;
}

/// Answers the requests on all connections of a listener, for ever.
pub async fn serve(listener: TcpListener, executor: &Executor<'static>, limits: Limits, site: impl Site) -> Infallible {
    let places = Places::new(limits.connections);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let place = places.take().await;
                executor.spawn(connection(stream, place, limits, site.clone())).detach();
            }
            // Too many open files, for example: other connections may end.
            Err(_) => drop(Timer::after(Duration::from_millis(100)).await),
        }
    }
}

/// A connection ends by its client, or by a limit.
async fn connection(stream: TcpStream, place: Place, limits: Limits, site: impl Site) {
    let _slower_without = stream.set_nodelay(true);
    let place = Arc::new(place);
    let service = service_fn(|request| {
        let (place, site, client) = (Arc::clone(&place), site.clone(), stream.clone());
        async move {
            place.asked();
            let asked = site.read(request).await;
            let answering = place.answering();
            let answer = asked.map_or_else(|refused| refused, |asked| site.answer(asked));
            Ok::<_, Infallible>(answer.map(|body| Held::new(body, client, answering)))
        }
    });
    let mut server = http1::Builder::new();
    // A client may send no more after its request. Hyper then reads no end of it, so each watch does.
    server.half_close(true);
    server.timer(SmolTimer::new()).header_read_timeout(limits.idle);
    server.max_header_size(limits.head).max_buf_size(2 * limits.head);
    let connection = server.serve_connection(FuturesIo::new(Patient::new(stream.clone(), limits.stalled)), service);
    let leaves = or(place.left(), silent(&place, limits.first_head));
    let _ended_by_the_client = or(async { drop(connection.await) }, leaves).await;
}

/// Waits until the first request of a connection is late.
async fn silent(place: &Place, patience: Duration) {
    Timer::after(patience).await;
    if place.has_asked() {
        pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
