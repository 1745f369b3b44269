//! A transport over streams of chunks.

use super::{Incoming, ListerWatcher, ReadContext, ResponseHead, TransportError, TransportErrorKind};
use crate::request::{Request, RequestId};
use alloc::boxed::Box;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use futures_core::Stream;

/// The limit of empty chunks that one poll takes, so that other tasks run.
const BUDGET: usize = 64;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamPart<B> {
    /// The status and the headers. An answer without them counts as a 200.
    Head(ResponseHead),
    /// Bytes of the body.
    Data(B),
}

/// A [`ListerWatcher`] over a function that answers a request with a stream of parts.
///
/// The function must not block: the first poll of the stream makes the connection. The end of a stream is the proper
/// end of the body; a body that breaks off ends with an error. An abort drops the stream, so its drop must close the
/// connection.
///
/// ```
/// use core::pin::Pin;
/// use core::task::{Context, Poll, Waker};
/// use listwatch_core::request::{Request, RequestId};
/// use listwatch_core::transport::{Incoming, StreamPart, StreamTransport};
/// use listwatch_core::{Instant, ListerWatcher};
/// use listwatch_core::transport::{ReadContext, TransportError};
///
/// struct Chunks(std::vec::IntoIter<&'static str>);
///
/// impl futures_core::Stream for Chunks {
///     type Item = Result<StreamPart<&'static str>, TransportError>;
///
///     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
///         Poll::Ready(self.0.next().map(|chunk| Ok(StreamPart::Data(chunk))))
///     }
/// }
///
/// let mut transport = StreamTransport::new(|_: &Request| Chunks(vec!["{\"items\":", "[]}"].into_iter()));
/// let (id, mut cx, mut buf) = (RequestId(1), Context::from_waker(Waker::noop()), [0; 64]);
/// transport.open(id, &Request::parse("/api/v1/pods"));
/// let mut next = || {
///     transport.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None }, &mut buf)
/// };
/// assert!(matches!(next(), Poll::Ready(Incoming::Head { head, .. }) if head.status == 200));
/// assert_eq!(next(), Poll::Ready(Incoming::Data { id, len: 9 }));
/// assert_eq!(next(), Poll::Ready(Incoming::Data { id, len: 3 }));
/// assert_eq!(next(), Poll::Ready(Incoming::End { id }));
/// ```
#[derive(Debug)]
pub struct StreamTransport<F, S, B> {
    connect: F,
    open: Option<Answer<S, B>>,
}

/// The answer to the open request.
#[derive(Debug)]
struct Answer<S, B> {
    id: RequestId,
    stream: Pin<Box<S>>,
    has_begun: bool,
    /// The chunk that did not fit, and how much of it was delivered.
    rest: Option<(B, usize)>,
}

impl<F, S, B> StreamTransport<F, S, B>
where
    F: FnMut(&Request) -> S,
    S: Stream<Item = Result<StreamPart<B>, TransportError>>,
    B: AsRef<[u8]>,
{
    /// Answers each request by this function.
    pub fn new(connect: F) -> Self {
        Self { connect, open: None }
    }
}

impl<F, S, B> ListerWatcher for StreamTransport<F, S, B>
where
    F: FnMut(&Request) -> S,
    S: Stream<Item = Result<StreamPart<B>, TransportError>>,
    B: AsRef<[u8]>,
{
    fn open(&mut self, id: RequestId, request: &Request) {
        // The old connection closes before the new one opens.
        self.open = None;
        self.open = Some(Answer { id, stream: Box::pin((self.connect)(request)), has_begun: false, rest: None });
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some(answer) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let incoming = ready!(answer.poll_next(context.cx, buf));
        if matches!(incoming, Incoming::End { .. } | Incoming::Failed { .. }) {
            self.open = None;
        }
        Poll::Ready(incoming)
    }

    fn abort(&mut self, id: RequestId) {
        self.open.take_if(|answer| answer.id == id);
    }
}

impl<S: Stream<Item = Result<StreamPart<B>, TransportError>>, B: AsRef<[u8]>> Answer<S, B> {
    fn poll_next(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Incoming> {
        for _ in 0..BUDGET {
            if let Some(len) = self.copy(buf) {
                return Poll::Ready(Incoming::Data { id: self.id, len });
            }
            match ready!(self.stream.as_mut().poll_next(cx)) {
                Some(Ok(StreamPart::Head(_))) if self.has_begun => return Poll::Ready(self.failed("a second head")),
                Some(Ok(StreamPart::Head(head))) => return Poll::Ready(self.begin(head)),
                Some(Ok(StreamPart::Data(chunk))) => {
                    self.rest = Some((chunk, 0));
                    if !self.has_begun {
                        return Poll::Ready(self.begin(ResponseHead { status: 200, ..ResponseHead::default() }));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Incoming::Failed { id: self.id, error }),
                None if self.has_begun => return Poll::Ready(Incoming::End { id: self.id }),
                None => return Poll::Ready(self.failed("no answer")),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn begin(&mut self, head: ResponseHead) -> Incoming {
        self.has_begun = true;
        Incoming::Head { id: self.id, head }
    }

    fn failed(&self, detail: &str) -> Incoming {
        Incoming::Failed { id: self.id, error: TransportError::new(TransportErrorKind::Protocol, detail) }
    }

    /// Delivers from the current chunk; `None` if nothing of it is left.
    fn copy(&mut self, buf: &mut [u8]) -> Option<usize> {
        let (chunk, delivered) = self.rest.as_mut()?;
        let left = &chunk.as_ref()[*delivered..];
        let len = left.len().min(buf.len());
        buf[..len].copy_from_slice(&left[..len]);
        *delivered += len;
        if len == left.len() {
            self.rest = None;
        }
        Some(len).filter(|len| *len > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;
    use alloc::rc::Rc;
    use alloc::string::String;
    use alloc::sync::Arc;
    use alloc::task::Wake;
    use alloc::vec::Vec;
    use core::cell::RefCell;
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use core::task::Waker;

    type Item = Result<StreamPart<&'static str>, TransportError>;

    /// Gives what was put in, and waits while that is nothing; notes for what it was asked, and that it was dropped.
    struct Line(Rc<RefCell<Script>>);

    #[derive(Default)]
    struct Script {
        polls: Vec<Poll<Option<Item>>>,
        asked: Vec<String>,
        dropped: usize,
    }

    impl Stream for Line {
        type Item = Item;

        fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Item>> {
            let polls = &mut self.0.borrow_mut().polls;
            if polls.is_empty() { Poll::Pending } else { polls.remove(0) }
        }
    }

    impl Drop for Line {
        fn drop(&mut self) {
            self.0.borrow_mut().dropped += 1;
        }
    }

    fn item(part: StreamPart<&'static str>) -> Poll<Option<Item>> {
        Poll::Ready(Some(Ok(part)))
    }

    fn answer(status: u16) -> Poll<Option<Item>> {
        item(StreamPart::Head(ResponseHead { status, ..ResponseHead::default() }))
    }

    /// A transport with request 7 open, answered by these parts.
    fn opened(polls: Vec<Poll<Option<Item>>>) -> (impl ListerWatcher, Rc<RefCell<Script>>) {
        let script = Rc::new(RefCell::new(Script { polls, ..Script::default() }));
        let shared = script.clone();
        let mut transport = StreamTransport::new(move |request: &Request| {
            shared.borrow_mut().asked.push(alloc::format!("{request}"));
            Line(shared.clone())
        });
        transport.open(RequestId(7), &Request::parse("/api/v1/pods?limit=5"));
        (transport, script)
    }

    fn next(transport: &mut impl ListerWatcher, buf: &mut [u8]) -> Poll<Incoming> {
        let mut cx = Context::from_waker(Waker::noop());
        transport.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None }, buf)
    }

    /// All that comes until there is nothing more at once, without the head.
    fn drained(transport: &mut impl ListerWatcher) -> (String, Vec<Incoming>) {
        let (mut text, mut others, mut buf) = (String::new(), Vec::new(), [0; 4]);
        while let Poll::Ready(incoming) = next(transport, &mut buf) {
            match incoming {
                Incoming::Data { len, .. } => text.push_str(core::str::from_utf8(&buf[..len]).unwrap()),
                Incoming::Idle { .. } => break,
                other => others.push(other),
            }
        }
        (text, others)
    }

    const ID: RequestId = RequestId(7);

    #[test]
    fn chunks_of_any_size_come_whole_through_a_small_buffer() {
        let chunks = ["abcdefghij", "", "kl"].map(|chunk| item(StreamPart::Data(chunk)));
        let (mut transport, script) =
            opened([answer(410)].into_iter().chain(chunks).chain([Poll::Ready(None)]).collect());
        let (text, others) = drained(&mut transport);
        assert_eq!(text, "abcdefghijkl");
        let head = ResponseHead { status: 410, ..ResponseHead::default() };
        assert_eq!(others, [Incoming::Head { id: ID, head }, Incoming::End { id: ID }]);
        assert_eq!(script.borrow().asked, ["/api/v1/pods?limit=5"]);
        assert_eq!(script.borrow().dropped, 1);
    }

    #[test]
    fn an_answer_without_a_head_is_a_200() {
        let (mut transport, _) = opened([item(StreamPart::Data("ab"))].into());
        let mut buf = [0; 4];
        let head = ResponseHead { status: 200, ..ResponseHead::default() };
        assert_eq!(next(&mut transport, &mut buf), Poll::Ready(Incoming::Head { id: ID, head }));
        assert_eq!(next(&mut transport, &mut buf), Poll::Ready(Incoming::Data { id: ID, len: 2 }));
        assert_eq!(next(&mut transport, &mut buf), Poll::Pending);
    }

    #[test]
    fn an_error_ends_the_answer_and_closes_the_stream() {
        let error = TransportError::new(TransportErrorKind::Reset, "cut");
        let broken = Poll::Ready(Some(Err(error.clone())));
        let (mut transport, script) =
            opened([answer(200), item(StreamPart::Data("a")), broken, item(StreamPart::Data("b"))].into());
        let (text, others) = drained(&mut transport);
        assert_eq!(text, "a");
        assert_eq!(others[1..], [Incoming::Failed { id: ID, error }]);
        assert_eq!(script.borrow().dropped, 1);
    }

    #[test]
    fn a_stream_that_is_no_answer_is_a_protocol_error() {
        for polls in [[Poll::Ready(None)].to_vec(), [answer(200), answer(200)].to_vec()] {
            let (mut transport, _) = opened(polls);
            let last = drained(&mut transport).1.pop();
            assert!(matches!(last, Some(Incoming::Failed { error, .. }) if error.kind == TransportErrorKind::Protocol));
        }
    }

    #[test]
    fn only_the_open_request_can_be_aborted() {
        let (mut transport, script) = opened([answer(200)].into());
        transport.abort(RequestId(6));
        assert_eq!(script.borrow().dropped, 0);
        transport.abort(ID);
        assert_eq!(script.borrow().dropped, 1);
        assert_eq!(next(&mut transport, &mut [0; 4]), Poll::Ready(Incoming::Idle { until: None }));
    }

    #[test]
    fn a_stream_of_empty_chunks_gives_others_their_turn() {
        let chunks = (0..10_000).map(|_| item(StreamPart::Data("")));
        let (mut transport, script) = opened([answer(200)].into_iter().chain(chunks).collect());
        let mut buf = [0; 4];
        let _head = next(&mut transport, &mut buf);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let context = ReadContext { cx: &mut Context::from_waker(&waker), now: Instant::ZERO, max_wait: None };
        assert_eq!(transport.poll_read(context, &mut buf), Poll::Pending);
        let left = script.borrow().polls.len();
        assert!(left > 9_000, "{left} of 10000 chunks are left when the others get their turn");
        assert!(woken.0.load(Relaxed), "it goes on by itself");
    }

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }
}
