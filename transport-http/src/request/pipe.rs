//! A pipe for one response, from a thread that blocks to a task that polls, with back-pressure.

use listwatch_core::transport::{ResponseHead, TransportError, TransportErrorKind};
#[cfg(loom)]
use loom::sync::mpsc::{self, Sender as SyncSender};
#[cfg(loom)]
use loom::sync::{Arc, Mutex, MutexGuard};
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::mpsc::{self, SyncSender};
#[cfg(not(loom))]
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// How many messages wait for the task, before the thread waits. One has up to 64 KiB.
#[cfg(not(loom))]
const LIMIT: usize = 1;

/// Makes a pipe for one response, which ends with a `T`.
pub(crate) fn new<T>() -> (Sender<T>, Receiver<T>) {
    #[cfg(not(loom))]
    let (sender, messages) = mpsc::sync_channel(LIMIT);
    // Loom has none with a limit.
    #[cfg(loom)]
    let (sender, messages) = mpsc::channel();
    let waiting = Arc::new(Waiting(Mutex::new(None)));
    let sender = Sender { messages: sender, waiting: waiting.clone(), has_ended: false };
    (sender, Receiver { messages: Mutex::new(messages), waiting, taken: Vec::new(), delivered: 0 })
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

enum Message<T> {
    Head(ResponseHead, Vec<String>),
    Data(Vec<u8>),
    End(Result<T, TransportError>),
}

/// The waker of the task, while the task waits.
struct Waiting(Mutex<Option<Waker>>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The drop of a waker is foreign code, which may take the lock.
    fn replace(&self, with: Option<Waker>) -> Option<Waker> {
        std::mem::replace(&mut *self.lock(), with)
    }
}

/// The thread's side. If dropped before [`end`](Self::end), it reports a failure: a thread that panicked leaves no
/// caller waiting.
pub(crate) struct Sender<T> {
    messages: SyncSender<Message<T>>,
    waiting: Arc<Waiting>,
    has_ended: bool,
}

impl<T> Sender<T> {
    pub(crate) fn head(&self, head: ResponseHead, warnings: Vec<String>) {
        self.send(Message::Head(head, warnings));
    }

    /// Hands over a non-empty chunk. It blocks while as many messages wait for the task as may wait.
    ///
    /// Returns `false` once the task dropped its side.
    pub(crate) fn data(&self, chunk: Vec<u8>) -> bool {
        self.send(Message::Data(chunk))
    }

    /// Ends the response.
    pub(crate) fn end(mut self, end: Result<T, TransportError>) {
        self.has_ended = true;
        self.send(Message::End(end));
    }

    /// Lets the task look again, if it waits.
    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waiting.replace(None) {
            waker.wake();
        }
    }

    fn send(&self, message: Message<T>) -> bool {
        let is_sent = self.messages.send(message).is_ok();
        self.wake();
        is_sent
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if !self.has_ended {
            let detail = "the thread that read the response ended early";
            self.send(Message::End(Err(TransportError::new(TransportErrorKind::Other, detail))));
        }
    }
}

/// The task's side. When dropped, it unblocks the thread.
pub(crate) struct Receiver<T> {
    /// Behind a lock that nobody waits for, because a receiver is not `Sync`.
    messages: Mutex<mpsc::Receiver<Message<T>>>,
    waiting: Arc<Waiting>,
    /// The bytes that were taken from the thread.
    taken: Vec<u8>,
    /// How many of them were delivered.
    delivered: usize,
}

impl<T> Receiver<T> {
    /// Returns the next piece, with bytes at the front of `buf`, or registers the waker. `buf` must not be empty, unless the
    /// response is its end alone.
    pub(crate) fn poll(&mut self, cx: &Context<'_>, buf: &mut [u8]) -> Poll<Piece<T>> {
        if self.delivered < self.taken.len() {
            return Poll::Ready(self.deliver(buf));
        }
        let messages = self.messages.get_mut().unwrap_or_else(PoisonError::into_inner);
        let message = messages.try_recv().or_else(|_empty| {
            (self.taken, self.delivered) = (Vec::new(), 0);
            drop(self.waiting.replace(Some(cx.waker().clone())));
            // The thread may have sent one before it could see the waker.
            messages.try_recv()
        });
        match message {
            Ok(Message::Head(head, warnings)) => Poll::Ready(Piece::Head(head, warnings)),
            Ok(Message::Data(bytes)) => {
                (self.taken, self.delivered) = (bytes, 0);
                Poll::Ready(self.deliver(buf))
            }
            Ok(Message::End(end)) => Poll::Ready(Piece::End(end)),
            Err(_empty) => Poll::Pending,
        }
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
        drop(self.waiting.replace(None));
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
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
        assert!(sender.data(b"abc".to_vec()));
        assert_eq!(next(), Poll::Ready(Piece::Data(3)));
        assert_eq!(next(), Poll::Pending);
        sender.end(Ok(()));
        assert_eq!(next(), Poll::Ready(Piece::End(Ok(()))));
    }

    #[test]
    fn the_thread_waits_once_nobody_takes_what_it_sends() {
        let (sender, mut receiver) = new::<()>();
        let (handed_over, seen) = mpsc::channel();
        let chunks: Vec<Vec<u8>> = (0..3 * LIMIT as u8).map(|byte| vec![byte; 100]).collect();
        let thread = thread::spawn({
            let chunks = chunks.clone();
            move || {
                for chunk in chunks {
                    assert!(sender.data(chunk));
                    handed_over.send(()).unwrap();
                }
                sender.end(Ok(()));
            }
        });
        (0..LIMIT).for_each(|_| seen.recv().unwrap());
        assert!(seen.recv_timeout(std::time::Duration::from_millis(50)).is_err(), "more than the limit");
        let (cx, mut buf, mut body) = (Context::from_waker(Waker::noop()), [0; 30], Vec::new());
        loop {
            match receiver.poll(&cx, &mut buf) {
                Poll::Ready(Piece::Data(len)) => body.extend_from_slice(&buf[..len]),
                Poll::Ready(end) => break assert_eq!(end, Piece::End(Ok(()))),
                Poll::Pending => thread::yield_now(),
            }
        }
        assert!(body == chunks.concat(), "in their order");
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_that_waits_is_let_go_when_nobody_wants_more() {
        let (sender, receiver) = new::<()>();
        let (handed_over, seen) = mpsc::channel();
        let thread = thread::spawn(move || while sender.data(b"a".to_vec()) && handed_over.send(()).is_ok() {});
        (0..LIMIT).for_each(|_| seen.recv().unwrap());
        drop(receiver);
        thread.join().unwrap();
    }

    #[test]
    fn a_pipe_that_is_quiet_keeps_no_buffer() {
        let (sender, mut receiver) = new::<()>();
        let (cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 100]);
        assert!(sender.data(vec![b'a'; 100]));
        assert_eq!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::Data(100)));
        assert_eq!(receiver.poll(&cx, &mut buf), Poll::Pending);
        assert_eq!(receiver.taken.capacity(), 0);
    }

    #[test]
    fn a_thread_that_panicked_is_a_failure_behind_what_it_delivered() {
        let (sender, mut receiver) = new::<()>();
        sender.data(b"a".to_vec());
        // It waits until there is room for the failure.
        let thread = thread::spawn(|| drop(sender));
        let (cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 4]);
        assert_eq!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::Data(1)));
        thread.join().unwrap();
        assert!(matches!(receiver.poll(&cx, &mut buf), Poll::Ready(Piece::End(Err(_)))));
    }

    #[test]
    fn an_end_comes_once() {
        let (sender, mut receiver) = new::<()>();
        sender.end(Ok(()));
        let cx = Context::from_waker(Waker::noop());
        assert_eq!(receiver.poll(&cx, &mut [0; 4]), Poll::Ready(Piece::End(Ok(()))));
        assert_eq!(receiver.poll(&cx, &mut [0; 4]), Poll::Pending);
    }

    /// Tries to take the lock when it is dropped.
    struct Asks(Arc<Waiting>, Arc<AtomicUsize>);

    impl Wake for Asks {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Asks {
        fn drop(&mut self) {
            let is_free = self.0.0.try_lock().is_ok();
            self.1.fetch_add(usize::from(is_free), Ordering::Relaxed);
        }
    }

    #[test]
    fn the_waker_of_another_task_is_dropped_outside_of_the_lock() {
        let (_sender, mut receiver) = new::<()>();
        let free = Arc::new(AtomicUsize::new(0));
        let waker = Waker::from(Arc::new(Asks(receiver.waiting.clone(), free.clone())));
        assert_eq!(receiver.poll(&Context::from_waker(&waker), &mut [0; 4]), Poll::Pending);
        drop(waker);
        assert_eq!(receiver.poll(&Context::from_waker(Waker::noop()), &mut [0; 4]), Poll::Pending);
        assert_eq!(free.load(Ordering::Relaxed), 1, "it can have the lock");
    }
}
