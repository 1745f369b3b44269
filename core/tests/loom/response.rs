//! The pipe of `listwatch-transport-http`. Its source is included, so that no TLS is built for it.

use super::check;
use core::task::Poll;
use listwatch_core::transport::ResponseHead;
use loom::future::block_on;
use loom::thread;
use pipe::{Piece, Receiver, Sender};
use std::future::poll_fn;

#[path = "../../../transport-http/src/request/pipe.rs"]
mod pipe;

/// A thread that has the sending side.
fn spawn<T: 'static>(sender: Sender<()>, work: impl FnOnce(Sender<()>) -> T + 'static) -> thread::JoinHandle<T> {
    thread::spawn(move || work(sender))
}

/// The next piece, and its bytes.
fn next(receiver: &mut Receiver<()>) -> (Piece<()>, Vec<u8>) {
    let mut buf = [0; 3];
    let piece = block_on(poll_fn(|cx| receiver.poll(cx, &mut buf)));
    let len = if let Piece::Data(len) = piece { len } else { 0 };
    (piece, buf[..len].to_vec())
}

/// The bytes until the end, and how it ended.
fn drain(receiver: &mut Receiver<()>) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        match next(receiver) {
            (Piece::Head(..), _) => panic!("a second head"),
            (Piece::Data(_), bytes) => body.extend(bytes),
            (Piece::End(end), _) => return (body, end.is_ok()),
        }
    }
}

#[test]
fn all_bytes_come_in_order_and_nobody_waits_for_ever() {
    check(|| {
        let (sender, mut receiver) = pipe::new();
        let thread = spawn(sender, |sender| {
            // Its request waited before.
            sender.wake();
            sender.head(ResponseHead::default(), Vec::new());
            let sent = ["ab", "cdefg"].map(|chunk| sender.data(chunk.into()));
            sender.end(Ok(()));
            sent
        });
        assert_eq!(next(&mut receiver).0, Piece::Head(ResponseHead::default(), Vec::new()));
        assert_eq!(drain(&mut receiver), (b"abcdefg".to_vec(), true));
        assert_eq!(thread.join().unwrap(), [true; 2]);
    });
}

#[test]
fn a_thread_that_ends_early_leaves_no_task_waiting() {
    check(|| {
        let (sender, mut receiver) = pipe::new();
        let thread = spawn(sender, |sender| sender.data(b"abc".to_vec()));
        assert_eq!(drain(&mut receiver), (b"abc".to_vec(), false));
        thread.join().unwrap();
    });
}

/// The waker of the task that polled last is the one that is called.
#[test]
fn a_task_that_took_over_is_woken() {
    check(|| {
        let (sender, mut receiver) = pipe::new();
        let thread = spawn(sender, |sender| sender.end(Ok(())));
        let mut buf = [0; 3];
        let first = block_on(poll_fn(|cx| Poll::Ready(receiver.poll(cx, &mut buf))));
        if first.is_pending() {
            assert_eq!(next(&mut receiver).0, Piece::End(Ok(())));
        }
        thread.join().unwrap();
    });
}
