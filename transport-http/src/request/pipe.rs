//! A pipe for one response, from a thread that blocks to a task that polls, with back-pressure.
//!
//! The thread appends to one buffer while the task reads another, and the task swaps them once it has read its own. So
//! a side takes the lock once for each time that it catches up with the other, and wakes the other only if it waits.

use listwatch_core::transport::{ResponseHead, TransportError, TransportErrorKind};
#[cfg(loom)]
use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::mem;
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// How many bytes wait for the task. A single chunk may be longer.
const LIMIT: usize = if cfg!(loom) { 4 } else { 64 * 1024 };
/// The buffers' capacity that is kept while the task waits.
const KEEP: usize = 4 * 1024;

/// Makes a pipe for one response, which ends with a `T`.
pub(crate) fn new<T>() -> (Sender<T>, Receiver<T>) {
    let state = State {
        head: None,
        bytes: Vec::new(),
        has_ended: false,
        end: None,
        waker: None,
        is_sender_waiting: false,
        is_closed: false,
    };
    let shared = Arc::new(Shared { state: Mutex::new(state), taken: Condvar::new() });
    (Sender(shared.clone()), Receiver { shared, taken: Vec::new(), delivered: 0 })
}

/// A result of polling the pipe.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<T> {
    /// The response has begun. The texts are warnings of the server.
    Head(ResponseHead, Vec<String>),
    /// This many bytes, at least one, were written to the buffer.
    Data(usize),
    /// The response ended, or failed.
    End(Result<T, TransportError>),
}

/// The thread's side. If dropped before [`end`](Self::end), it reports a failure: a thread that panicked leaves no
/// caller waiting.
pub(crate) struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    pub(crate) fn head(&self, head: ResponseHead, warnings: Vec<String>) {
        let mut state = self.0.lock();
        state.head = Some((head, warnings));
        wake(state);
    }

    /// Hands over a non-empty chunk, and leaves an empty buffer in its place. It blocks while the bytes that wait for
    /// the task leave no room for the chunk.
    ///
    /// Returns `false` once the task dropped its side.
    pub(crate) fn data(&self, chunk: &mut Vec<u8>) -> bool {
        let mut state = self.0.lock();
        while !state.is_closed && !state.has_room(chunk.len()) {
            state.is_sender_waiting = true;
            state = self.0.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return false;
        }
        state.append(chunk);
        wake(state);
        true
    }

    /// Lets the task look again, if it waits.
    pub(crate) fn wake(&self) {
        wake(self.0.lock());
    }

    /// Ends the response. Only the first call counts.
    pub(crate) fn end(&self, end: Result<T, TransportError>) {
        let mut state = self.0.lock();
        if !mem::replace(&mut state.has_ended, true) {
            state.end = Some(end);
        }
        wake(state);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.end(Err(TransportError::new(TransportErrorKind::Other, "the thread that read the response ended early")));
    }
}

/// The task's side. When dropped, it unblocks the thread.
pub(crate) struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The bytes that were taken from the thread.
    taken: Vec<u8>,
    /// How many of them were delivered.
    delivered: usize,
}

impl<T> Receiver<T> {
    /// Returns the next piece, with bytes at the front of `buf`, or registers the waker. `buf` must not be empty.
    pub(crate) fn poll(&mut self, cx: &Context<'_>, buf: &mut [u8]) -> Poll<Piece<T>> {
        if self.delivered < self.taken.len() {
            return Poll::Ready(self.deliver(buf));
        }
        let mut state = self.shared.lock();
        if let Some((head, warnings)) = state.head.take() {
            return Poll::Ready(Piece::Head(head, warnings));
        }
        if !state.bytes.is_empty() {
            mem::swap(&mut state.bytes, &mut self.taken);
            state.bytes.clear();
            let is_sender_waiting = mem::take(&mut state.is_sender_waiting);
            drop(state);
            if is_sender_waiting {
                self.shared.taken.notify_one();
            }
            self.delivered = 0;
            return Poll::Ready(self.deliver(buf));
        }
        if let Some(end) = state.end.take() {
            return Poll::Ready(Piece::End(end));
        }
        let unused = spare(&mut state.bytes);
        let known = state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        let another = if known { None } else { state.waker.replace(cx.waker().clone()) };
        // The drop of a waker is foreign code, which may take the lock.
        drop(state);
        drop(another);
        drop(unused);
        self.delivered = 0;
        drop(spare(&mut self.taken));
        Poll::Pending
    }

    fn deliver(&mut self, buf: &mut [u8]) -> Piece<T> {
        let left = &self.taken[self.delivered..];
        let len = left.len().min(buf.len());
        buf[..len].copy_from_slice(&left[..len]);
        self.delivered += len;
        Piece::Data(len)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        let waker = state.waker.take();
        drop(state);
        drop(waker);
        self.shared.taken.notify_one();
    }
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// Notified when the thread waits and the bytes were taken, and when the receiver was dropped.
    taken: Condvar,
}

struct State<T> {
    head: Option<(ResponseHead, Vec<String>)>,
    /// The bytes that wait for the task.
    bytes: Vec<u8>,
    has_ended: bool,
    /// The end, until the task has polled it.
    end: Option<Result<T, TransportError>>,
    /// The task's, while it waits.
    waker: Option<Waker>,
    is_sender_waiting: bool,
    is_closed: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn has_room(&self, len: usize) -> bool {
        self.bytes.is_empty() || self.bytes.len() + len <= LIMIT
    }

    /// Appends a chunk, without a copy if the task has taken all before it.
    fn append(&mut self, chunk: &mut Vec<u8>) {
        if self.bytes.is_empty() {
            mem::swap(&mut self.bytes, chunk);
            return;
        }
        if self.bytes.capacity() - self.bytes.len() < chunk.len() {
            self.bytes.reserve_exact(LIMIT - self.bytes.len());
        }
        self.bytes.append(chunk);
    }
}

/// Releases the lock, and wakes the task if it waits.
fn wake<T>(mut state: MutexGuard<'_, State<T>>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Empties a buffer whose bytes were delivered. Returns its memory, unless it is small enough to be kept.
fn spare(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    bytes.clear();
    (bytes.capacity() > KEEP).then(|| mem::take(bytes))
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::Wake;
    use std::thread;

    struct Bell(mpsc::Sender<()>);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.send(()).unwrap();
        }
    }

    #[test]
    fn whoever_found_nothing_is_woken_by_each_kind_of_piece() {
        let (sender, mut receiver) = new::<()>();
        let (bell, rung) = mpsc::channel();
        let waker = Waker::from(Arc::new(Bell(bell)));
        let mut buf = [0; 4];
        let mut next = || {
            let piece = receiver.poll(&Context::from_waker(&waker), &mut buf);
            assert_eq!(piece.is_ready(), rung.try_recv().is_ok(), "{piece:?}");
            piece
        };
        assert_eq!(next(), Poll::Pending);
        sender.head(ResponseHead::default(), Vec::new());
        assert_eq!(next(), Poll::Ready(Piece::Head(ResponseHead::default(), Vec::new())));
        assert_eq!(next(), Poll::Pending);
        assert!(sender.data(&mut b"abc".to_vec()));
        assert_eq!(next(), Poll::Ready(Piece::Data(3)));
        assert_eq!(next(), Poll::Pending);
        sender.end(Ok(()));
        assert_eq!(next(), Poll::Ready(Piece::End(Ok(()))));
    }

    /// Waits until the thread waits for room.
    fn wait_for_sender(receiver: &Receiver<()>) {
        while !receiver.shared.lock().is_sender_waiting {
            thread::yield_now();
        }
    }

    #[test]
    fn the_thread_waits_once_what_nobody_took_leaves_no_room() {
        let (sender, mut receiver) = new::<()>();
        let (handed_over, seen) = mpsc::channel();
        let chunks = [vec![b'a'; LIMIT - 1], b"b".to_vec(), b"c".to_vec(), vec![b'd'; 2 * LIMIT]];
        let thread = thread::spawn({
            let chunks = chunks.clone();
            move || {
                for mut chunk in chunks {
                    let len = chunk.len();
                    assert!(sender.data(&mut chunk) && chunk.is_empty());
                    handed_over.send(len).unwrap();
                }
            }
        });
        let (cx, mut buf, mut body) = (Context::from_waker(Waker::noop()), vec![0; LIMIT / 3], Vec::new());
        for fitting in [&chunks[..2], &chunks[2..3], &chunks[3..]] {
            if !fitting.ends_with(&chunks[3..]) {
                wait_for_sender(&receiver);
            }
            fitting.iter().for_each(|chunk| assert_eq!(seen.recv(), Ok(chunk.len())));
            assert!(seen.try_recv().is_err(), "more than the limit");
            let end = body.len() + fitting.concat().len();
            while body.len() < end {
                let Poll::Ready(Piece::Data(len)) = receiver.poll(&cx, &mut buf) else { panic!("bytes wait") };
                body.extend_from_slice(&buf[..len]);
            }
        }
        assert!(body == chunks.concat(), "in their order");
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_that_waits_is_let_go_when_nobody_wants_more() {
        let (sender, receiver) = new::<()>();
        let thread = thread::spawn(move || {
            assert!(sender.data(&mut vec![b'a'; LIMIT]));
            sender.data(&mut b"b".to_vec())
        });
        wait_for_sender(&receiver);
        drop(receiver);
        assert!(!thread.join().unwrap());
    }

    #[test]
    fn a_pipe_that_is_quiet_keeps_no_large_buffer() {
        let (sender, mut receiver) = new::<()>();
        let (cx, mut buf) = (Context::from_waker(Waker::noop()), vec![0; LIMIT]);
        for _ in 0..2 {
            (0..4).for_each(|_| assert!(sender.data(&mut vec![b'a'; LIMIT / 4])));
            assert_eq!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::Data(LIMIT)));
        }
        assert_eq!(receiver.poll(&cx, &mut buf), Poll::Pending);
        let kept = receiver.taken.capacity() + receiver.shared.lock().bytes.capacity();
        assert!(kept <= 2 * KEEP, "{kept}");
    }

    #[test]
    fn a_thread_that_panicked_is_a_failure_behind_what_it_delivered() {
        let (sender, mut receiver) = new::<()>();
        sender.data(&mut b"a".to_vec());
        drop(sender);
        let (cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 4]);
        assert_eq!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::Data(1)));
        assert!(matches!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::End(Err(_)))));
    }

    #[test]
    fn only_the_first_end_counts() {
        let (sender, mut receiver) = new::<()>();
        sender.end(Ok(()));
        let cx = Context::from_waker(Waker::noop());
        assert_eq!(receiver.poll(&cx, &mut [0; 4]), Poll::Ready(Piece::End(Ok(()))));
        drop(sender);
        assert_eq!(receiver.poll(&cx, &mut [0; 4]), Poll::Pending);
    }

    /// Tries to take the lock when it is dropped.
    struct Asks(Arc<Shared<()>>, Arc<AtomicUsize>);

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
        let (_sender, mut receiver) = new::<()>();
        let free = Arc::new(AtomicUsize::new(0));
        let waker = Waker::from(Arc::new(Asks(receiver.shared.clone(), free.clone())));
        assert_eq!(receiver.poll(&Context::from_waker(&waker), &mut [0; 4]), Poll::Pending);
        drop(waker);
        assert_eq!(receiver.poll(&Context::from_waker(Waker::noop()), &mut [0; 4]), Poll::Pending);
        assert_eq!(free.load(Ordering::Relaxed), 1, "it could not have the lock");
    }
}
