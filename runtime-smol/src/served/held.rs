use super::places::Answering;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use smol::future::pending;
use smol::net::TcpStream;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

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
