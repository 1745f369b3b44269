//! A pipe for one response, from a thread that blocks to a task that polls: two buffers, with back-pressure.

use listwatch_core::transport::{ResponseHead, TransportError, TransportErrorKind};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Makes a pipe for one response.
pub(crate) fn new() -> (Sender, Receiver) {
    let shared = Arc::new(Shared::default());
    (Sender(shared.clone()), Receiver(shared))
}

/// A result of polling the pipe.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The response has begun.
    Head(ResponseHead),
    /// This many bytes, at least one, were written to the buffer.
    Data(usize),
    /// The response ended, or failed.
    End(Result<(), TransportError>),
}

/// The thread's side. If dropped before [`end`](Self::end), it reports a failure: a thread that panicked leaves no
/// caller waiting.
#[derive(Debug)]
pub(crate) struct Sender(Arc<Shared>);

impl Sender {
    pub(crate) fn head(&self, head: ResponseHead) {
        self.0.change(|state| state.head = Some(head));
    }

    /// Hands over a non-empty chunk, and gets a used buffer back. It blocks until the task has taken the chunk before.
    ///
    /// Returns `false` once the task dropped its side.
    pub(crate) fn data(&self, chunk: &mut Vec<u8>) -> bool {
        let state = self.0.lock();
        let waiting = |state: &mut State| !state.chunk.is_empty() && !state.is_closed;
        drop(self.0.taken.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner));
        self.0.change(|state| {
            mem::swap(&mut state.chunk, chunk);
            !state.is_closed
        })
    }

    /// Ends the response. Only the first call counts.
    pub(crate) fn end(&self, end: Result<(), TransportError>) {
        self.0.change(|state| {
            if !mem::replace(&mut state.has_ended, true) {
                state.end = Some(end);
            }
        });
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end(Err(TransportError::new(TransportErrorKind::Other, "the thread that read the response ended early")));
    }
}

/// The task's side. When dropped, it unblocks the thread.
#[derive(Debug)]
pub(crate) struct Receiver(Arc<Shared>);

impl Receiver {
    /// Returns the next piece, with bytes at the front of `buf`, or registers the waker.
    pub(crate) fn poll(&self, cx: &Context<'_>, buf: &mut [u8]) -> Poll<Piece> {
        let mut state = self.0.lock();
        if let Some(head) = state.head.take() {
            return Poll::Ready(Piece::Head(head));
        }
        if let Some(len) = state.copy(buf) {
            if state.chunk.is_empty() {
                self.0.taken.notify_one();
            }
            return Poll::Ready(Piece::Data(len));
        }
        if let Some(end) = state.end.take() {
            return Poll::Ready(Piece::End(end));
        }
        let known = state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        let another = if known { None } else { state.waker.replace(cx.waker().clone()) };
        // The drop of a waker is foreign code, which may take the lock.
        drop(state);
        drop(another);
        Poll::Pending
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        let waker = state.waker.take();
        drop(state);
        drop(waker);
        self.0.taken.notify_one();
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when the chunk was taken, or the receiver was dropped.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    head: Option<ResponseHead>,
    chunk: Vec<u8>,
    /// How many bytes of the chunk were delivered.
    delivered: usize,
    has_ended: bool,
    /// The end, until the task has polled it.
    end: Option<Result<(), TransportError>>,
    waker: Option<Waker>,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the task after it released the lock.
    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = change(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        result
    }
}

impl State {
    /// Copies from the chunk; `None` if it is empty.
    fn copy(&mut self, buf: &mut [u8]) -> Option<usize> {
        let left = &self.chunk[self.delivered..];
        let len = left.len().min(buf.len());
        buf[..len].copy_from_slice(&left[..len]);
        self.delivered += len;
        if self.delivered == self.chunk.len() {
            self.chunk.clear();
            self.delivered = 0;
        }
        Some(len).filter(|len| *len > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::Wake;
    use std::thread;
    use std::time::Duration;

    struct Bell(mpsc::Sender<()>);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.send(()).unwrap();
        }
    }

    #[test]
    fn whoever_found_nothing_is_woken_by_each_kind_of_piece() {
        let (sender, receiver) = new();
        let (bell, rung) = mpsc::channel();
        let waker = Waker::from(Arc::new(Bell(bell)));
        let mut buf = [0; 4];
        let mut next = || {
            let piece = receiver.poll(&Context::from_waker(&waker), &mut buf);
            assert_eq!(piece.is_ready(), rung.try_recv().is_ok(), "{piece:?}");
            piece
        };
        assert_eq!(next(), Poll::Pending);
        sender.head(ResponseHead::default());
        assert_eq!(next(), Poll::Ready(Piece::Head(ResponseHead::default())));
        assert_eq!(next(), Poll::Pending);
        assert!(sender.data(&mut b"abc".to_vec()));
        assert_eq!(next(), Poll::Ready(Piece::Data(3)));
        assert_eq!(next(), Poll::Pending);
        sender.end(Ok(()));
        assert_eq!(next(), Poll::Ready(Piece::End(Ok(()))));
    }

    #[test]
    fn a_chunk_waits_until_the_one_before_was_taken_whole() {
        let (sender, receiver) = new();
        let (handed_over, seen) = mpsc::channel();
        let thread = thread::spawn(move || {
            for chunk in ["abcdef", "g"] {
                assert!(sender.data(&mut chunk.into()));
                handed_over.send(chunk).unwrap();
            }
        });
        let (cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 4]);
        let quiet = Duration::from_millis(50);
        assert_eq!(seen.recv(), Ok("abcdef"));
        assert_eq!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::Data(4)));
        assert_eq!(seen.recv_timeout(quiet), Err(mpsc::RecvTimeoutError::Timeout));
        assert_eq!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::Data(2)));
        assert_eq!(seen.recv(), Ok("g"));
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_that_waits_is_let_go_when_nobody_wants_more() {
        let (sender, receiver) = new();
        let thread = thread::spawn(move || {
            assert!(sender.data(&mut b"a".to_vec()));
            sender.data(&mut b"b".to_vec())
        });
        drop(receiver);
        assert!(!thread.join().unwrap_or(false));
    }

    #[test]
    fn a_thread_that_panicked_is_a_failure_behind_what_it_delivered() {
        let (sender, receiver) = new();
        sender.data(&mut b"a".to_vec());
        drop(sender);
        let (cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 4]);
        assert_eq!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::Data(1)));
        assert!(matches!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::End(Err(_)))));
    }

    #[test]
    fn only_the_first_end_counts() {
        let (sender, receiver) = new();
        sender.end(Ok(()));
        let cx = Context::from_waker(Waker::noop());
        assert_eq!(receiver.poll(&cx, &mut [0; 4]), Poll::Ready(Piece::End(Ok(()))));
        drop(sender);
        assert_eq!(receiver.poll(&cx, &mut [0; 4]), Poll::Pending);
    }

    /// Tries to take the lock when it is dropped.
    struct Asks(Arc<Shared>, Arc<AtomicUsize>);

    impl Wake for Asks {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Asks {
        fn drop(&mut self) {
            let is_free = self.0.state.try_lock().is_ok();
            self.1.fetch_add(usize::from(is_free), Ordering::Relaxed);
        }
    }

    #[test]
    fn the_waker_of_another_task_was_dropped_under_the_lock() {
        let (_sender, receiver) = new();
        let free = Arc::new(AtomicUsize::new(0));
        let waker = Waker::from(Arc::new(Asks(receiver.0.clone(), free.clone())));
        assert_eq!(receiver.poll(&Context::from_waker(&waker), &mut [0; 4]), Poll::Pending);
        drop(waker);
        assert_eq!(receiver.poll(&Context::from_waker(Waker::noop()), &mut [0; 4]), Poll::Pending);
        assert_eq!(free.load(Ordering::Relaxed), 1, "it could not have the lock");
    }
}
