//! A transport over blocking calls.

use super::{Incoming, ListerWatcher, ReadContext, ResponseHead, TransportError};
use crate::request::{Request, RequestId};
use core::task::Poll;
use core::time::Duration;
use embedded_io::{Error, ErrorKind, Read};

/// A server behind blocking calls, such as the HTTP client of a microcontroller.
///
/// `read` reads the body of the last answer. `Ok(0)` is its proper end; an early end is an error. If a read fails with
/// [`ErrorKind::TimedOut`] or [`ErrorKind::Interrupted`], no byte is lost, and the transport reads again.
pub trait BlockingSource: Read {
    /// Sends a request and waits for the head of the answer. The source chooses the time limit.
    fn request(&mut self, request: &Request) -> Result<ResponseHead, TransportError>;

    /// Gives the rest of the last answer up.
    fn close(&mut self);

    /// Sets the time limit of later reads; `None` for no limit. If a source cannot set one, it needs a limit of its
    /// own, or deadlines are handled late.
    fn set_max_wait(&mut self, _max_wait: Option<Duration>) {}
}

/// A [`ListerWatcher`] over a blocking source. It waits in [`poll_read`](ListerWatcher::poll_read) and calls no waker.
///
/// ```
/// use core::task::{Context, Poll, Waker};
/// use listwatch_core::request::{Request, RequestId};
/// use listwatch_core::transport::{Blocking, BlockingSource, Incoming, ResponseHead};
/// use listwatch_core::{Instant, ListerWatcher};
/// use listwatch_core::transport::{ReadContext, TransportError};
///
/// /// A server with one answer.
/// struct Flash(&'static [u8]);
///
/// impl embedded_io::ErrorType for Flash {
///     type Error = core::convert::Infallible;
/// }
///
/// impl embedded_io::Read for Flash {
///     fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
///         self.0.read(buf)
///     }
/// }
///
/// impl BlockingSource for Flash {
///     fn request(&mut self, _: &Request) -> Result<ResponseHead, TransportError> {
///         Ok(ResponseHead { status: 200, ..ResponseHead::default() })
///     }
///
///     fn close(&mut self) {}
/// }
///
/// let mut transport = Blocking::new(Flash(b"{\"items\":[]}"));
/// let (id, mut cx, mut buf) = (RequestId(1), Context::from_waker(Waker::noop()), [0; 64]);
/// transport.open(id, &Request::parse("/api/v1/pods"));
/// let mut next = || {
///     transport.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None }, &mut buf)
/// };
/// assert!(matches!(next(), Poll::Ready(Incoming::Head { .. })));
/// assert_eq!(next(), Poll::Ready(Incoming::Data { id, len: 12 }));
/// assert_eq!(next(), Poll::Ready(Incoming::End { id }));
/// ```
#[derive(Debug)]
pub struct Blocking<S> {
    source: S,
    state: State,
}

#[derive(Debug)]
enum State {
    Closed,
    Asked(RequestId, Request),
    Answering(RequestId),
}

impl<S: BlockingSource> Blocking<S> {
    /// Reads from this source.
    pub fn new(source: S) -> Self {
        Self { source, state: State::Closed }
    }

    fn close(&mut self) {
        if matches!(self.state, State::Answering(_)) {
            self.source.close();
        }
        self.state = State::Closed;
    }

    fn request(&mut self, id: RequestId, request: &Request) -> Incoming {
        match self.source.request(request) {
            Ok(head) => {
                self.state = State::Answering(id);
                Incoming::Head { id, head }
            }
            Err(error) => {
                self.state = State::Closed;
                Incoming::Failed { id, error }
            }
        }
    }

    fn read(&mut self, id: RequestId, context: &ReadContext<'_, '_>, buf: &mut [u8]) -> Incoming {
        self.source.set_max_wait(context.max_wait);
        match self.source.read(buf) {
            Ok(0) => {
                self.close();
                Incoming::End { id }
            }
            Ok(len) => Incoming::Data { id, len },
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                Incoming::Idle { until: Some(context.now) }
            }
            Err(error) => {
                self.close();
                Incoming::Failed { id, error: TransportError::of_connection(&error) }
            }
        }
    }
}

impl<S: BlockingSource> ListerWatcher for Blocking<S> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.close();
        self.state = State::Asked(id, request.clone());
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        Poll::Ready(match core::mem::replace(&mut self.state, State::Closed) {
            State::Closed => Incoming::Idle { until: None },
            State::Asked(id, request) => self.request(id, &request),
            State::Answering(id) => {
                self.state = State::Answering(id);
                self.read(id, &context, buf)
            }
        })
    }

    fn abort(&mut self, id: RequestId) {
        if matches!(self.state, State::Asked(open, _) | State::Answering(open) if open == id) {
            self.close();
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::time::Instant;
    use crate::transport::TransportErrorKind;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use core::task::{Context, Waker};

    /// Answers reads from a script, and notes its calls.
    #[derive(Default)]
    struct Script {
        refuses: bool,
        reads: VecDeque<Result<&'static [u8], ErrorKind>>,
        requested: usize,
        closed: usize,
        max_waits: Vec<Option<Duration>>,
    }

    impl embedded_io::ErrorType for Script {
        type Error = ErrorKind;
    }

    impl Read for Script {
        fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
            let mut bytes = self.reads.pop_front().unwrap_or(Ok(&[]))?;
            let len = bytes.read(buf).unwrap();
            if !bytes.is_empty() {
                self.reads.push_front(Ok(bytes));
            }
            Ok(len)
        }
    }

    impl BlockingSource for Script {
        fn request(&mut self, _: &Request) -> Result<ResponseHead, TransportError> {
            self.requested += 1;
            let refused = || TransportError::new(TransportErrorKind::Refused, "");
            if self.refuses { Err(refused()) } else { Ok(ResponseHead { status: 410, ..ResponseHead::default() }) }
        }

        fn close(&mut self) {
            self.closed += 1;
        }

        fn set_max_wait(&mut self, max_wait: Option<Duration>) {
            self.max_waits.push(max_wait);
        }
    }

    fn opened(reads: &[Result<&'static [u8], ErrorKind>]) -> Blocking<Script> {
        let mut transport = Blocking::new(Script { reads: reads.iter().copied().collect(), ..Script::default() });
        transport.open(RequestId(7), &Request::parse("/api/v1/pods"));
        transport
    }

    fn next(transport: &mut Blocking<Script>) -> Incoming {
        let mut cx = Context::from_waker(Waker::noop());
        let context = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: Some(Duration::from_millis(20)) };
        match transport.poll_read(context, &mut [0; 4]) {
            Poll::Ready(incoming) => incoming,
            Poll::Pending => panic!("a blocking transport has nobody who would wake"),
        }
    }

    #[test]
    fn an_answer_comes_as_head_and_data_and_end_and_then_nothing() {
        let id = RequestId(7);
        let mut transport = opened(&[Ok(b"abcdef")]);
        assert_eq!(
            next(&mut transport),
            Incoming::Head { id, head: ResponseHead { status: 410, ..ResponseHead::default() } }
        );
        assert_eq!(next(&mut transport), Incoming::Data { id, len: 4 });
        assert_eq!(next(&mut transport), Incoming::Data { id, len: 2 });
        assert_eq!(next(&mut transport), Incoming::End { id });
        assert_eq!(next(&mut transport), Incoming::Idle { until: None });
        assert_eq!(transport.source.closed, 1);
    }

    #[test]
    fn nothing_is_sent_before_the_first_read() {
        let mut transport = opened(&[]);
        assert_eq!(transport.source.requested, 0);
        transport.abort(RequestId(7));
        assert_eq!(next(&mut transport), Incoming::Idle { until: None });
        assert_eq!(transport.source.requested, 0);
    }

    #[test]
    fn a_read_waits_no_longer_than_the_turn_and_is_then_tried_again() {
        let mut transport = opened(&[Err(ErrorKind::TimedOut), Err(ErrorKind::Interrupted), Ok(b"x")]);
        next(&mut transport);
        assert_eq!(next(&mut transport), Incoming::Idle { until: Some(Instant::ZERO) });
        assert_eq!(next(&mut transport), Incoming::Idle { until: Some(Instant::ZERO) });
        assert_eq!(next(&mut transport), Incoming::Data { id: RequestId(7), len: 1 });
        assert_eq!(transport.source.max_waits, [Some(Duration::from_millis(20)); 3]);
    }

    #[test]
    fn a_broken_body_fails_once() {
        let mut transport = opened(&[Ok(b"x"), Err(ErrorKind::ConnectionReset)]);
        next(&mut transport);
        next(&mut transport);
        let Incoming::Failed { id, error } = next(&mut transport) else { panic!("the error is lost") };
        assert_eq!((id, error.kind), (RequestId(7), TransportErrorKind::Reset));
        assert_eq!(next(&mut transport), Incoming::Idle { until: None });
    }

    #[test]
    fn a_refused_request_fails() {
        let mut transport = opened(&[]);
        transport.source.refuses = true;
        assert!(
            matches!(next(&mut transport), Incoming::Failed { error, .. } if error.kind == TransportErrorKind::Refused)
        );
        assert_eq!(next(&mut transport), Incoming::Idle { until: None });
    }

    #[test]
    fn only_the_open_request_can_be_aborted() {
        let mut transport = opened(&[Ok(b"x")]);
        next(&mut transport);
        transport.abort(RequestId(6));
        assert_eq!(transport.source.closed, 0);
        transport.abort(RequestId(7));
        assert_eq!(transport.source.closed, 1);
        assert_eq!(next(&mut transport), Incoming::Idle { until: None });
    }

    #[test]
    fn a_new_request_gives_up_the_old_answer() {
        let mut transport = opened(&[Ok(b"x")]);
        next(&mut transport);
        transport.open(RequestId(8), &Request::parse("/api/v1/pods"));
        assert_eq!(transport.source.closed, 1);
        assert!(matches!(next(&mut transport), Incoming::Head { id: RequestId(8), .. }));
    }
}
