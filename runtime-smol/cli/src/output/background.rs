//! Non-blocking standard output and standard error, written by a background thread.

use listwatch::Clock;
use listwatch::clock::Sleep;
use smol::Unblock;
use smol::future::{or, pending};
use smol::io::AsyncWrite;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The bytes that the buffer holds before it is full, and the bytes that the channel to the thread holds.
const CAPACITY: usize = 64 * 1024;
/// The bytes of one write. A pipe takes so many whole or not at all, so the count of unwritten bytes is exact.
const PIECE: usize = 4096;
/// The time between two flushes at the least: each of them starts the thread's work anew.
const PAUSE: Duration = Duration::from_millis(50);
/// The time for which, at the end, a reader may read nothing.
const GRACE: Duration = Duration::from_secs(3);

/// A writer that never blocks: a thread of its own waits for the reader.
///
/// A caller that writes much first asks whether the buffer [is full](Self::is_full).
pub(crate) struct Background<W: Write + Send + 'static = io::Stdout> {
    buffer: VecDeque<u8>,
    out: Unblock<Counted<W>>,
    accepted: Amount,
    written: Arc<Written>,
    /// Since the last flush.
    pause: Option<Sleep>,
}

/// Output that the reader did not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// Why the output did not end whole.
#[derive(Debug)]
pub(crate) enum FinishError {
    Write(io::Error),
    /// The reader took nothing for a while, and this is left.
    Unread(Amount),
}

#[derive(Default)]
struct Written {
    lines: AtomicU64,
    bytes: AtomicU64,
}

impl Background {
    pub(crate) fn stdout() -> Self {
        Self::new(io::stdout())
    }
}

impl Background<io::Stderr> {
    pub(crate) fn stderr() -> Self {
        Self::new(io::stderr())
    }
}

impl<W: Write + Send + 'static> Background<W> {
    pub(crate) fn new(out: W) -> Self {
        let written = Arc::<Written>::default();
        let out = Unblock::with_capacity(CAPACITY, Counted { out, written: Arc::clone(&written) });
        Self { buffer: VecDeque::new(), out, accepted: Amount::default(), written, pause: None }
    }

    /// Whether the caller should wait for [`progress`](Self::progress) before it writes more.
    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() >= CAPACITY
    }

    /// Whether all output is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.unwritten() == Amount::default()
    }

    /// Completes when a full buffer has room again, or when another buffer is empty. For an empty buffer it never
    /// completes. What follows a flush at once waits for a short time, so that a busy stream is written in large pieces.
    pub(crate) async fn progress(&mut self, clock: &Clock) -> io::Result<()> {
        match (self.is_full(), self.is_empty()) {
            (true, _) => poll_fn(|cx| self.poll_write_buffer(cx)).await,
            (_, true) => pending().await,
            _ => {
                if let Some(pause) = &mut self.pause {
                    pause.await;
                }
                self.pause = Some(clock.sleep(PAUSE));
                self.flush_all().await
            }
        }
    }

    /// Waits until all output is written, as long as the reader takes any of it.
    ///
    /// # Errors
    /// The output cannot be written, or the reader takes nothing for three seconds.
    pub(crate) async fn finish(&mut self, clock: &Clock) -> Result<(), FinishError> {
        loop {
            let before = self.unwritten();
            let grace = clock.sleep(GRACE);
            let expired = async {
                grace.await;
                None
            };
            match or(async { Some(self.flush_all().await) }, expired).await {
                Some(flushed) => return flushed.map_err(FinishError::Write),
                None if self.unwritten() == before => return Err(FinishError::Unread(before)),
                None => {}
            }
        }
    }

    async fn flush_all(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_write_buffer(cx)).await?;
        poll_fn(|cx| Pin::new(&mut self.out).poll_flush(cx)).await
    }

    /// Passes the buffer on to the thread, as far as its channel has room.
    pub(crate) fn poll_write_buffer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.buffer.is_empty() {
            let (bytes, _) = self.buffer.as_slices();
            match ready!(Pin::new(&mut self.out).poll_write(cx, bytes))? {
                // The thread has given up; a flush returns its error.
                0 => {
                    return Pin::new(&mut self.out)
                        .poll_flush(cx)
                        .map(|flushed| flushed.and_then(|()| Err(ErrorKind::WriteZero.into())));
                }
                count => drop(self.buffer.drain(..count)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The output that the reader has not taken yet.
    pub(crate) fn unwritten(&self) -> Amount {
        let Written { lines, bytes } = &*self.written;
        Amount {
            lines: self.accepted.lines - lines.load(Ordering::Relaxed),
            bytes: self.accepted.bytes - bytes.load(Ordering::Relaxed),
        }
    }
}

impl<W: Write + Send + 'static> Write for Background<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.accepted.lines += line_ends(bytes);
        self.accepted.bytes += bytes.len() as u64;
        self.buffer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The writer of the thread. It counts the bytes that are written.
struct Counted<W> {
    out: W,
    written: Arc<Written>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = piece(bytes);
        self.out.write_all(piece).and_then(|()| self.out.flush())?;
        self.written.lines.fetch_add(line_ends(piece), Ordering::Relaxed);
        self.written.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The bytes of the next write: whole lines if one ends in time. Standard output writes whole lines at once, and the
/// rest on its own.
fn piece(bytes: &[u8]) -> &[u8] {
    let piece = &bytes[..bytes.len().min(PIECE)];
    let whole_lines = piece.iter().rposition(|byte| *byte == b'\n').map_or(piece.len(), |end| end + 1);
    &piece[..whole_lines]
}

fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use smol::future::poll_once;
    use std::sync::Mutex;

    /// Takes this many bytes, and then breaks.
    struct Pipe(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut taken = self.0.lock().map_err(|_| ErrorKind::Other)?;
            if taken.len() + bytes.len() > self.1 {
                return Err(ErrorKind::BrokenPipe.into());
            }
            taken.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_printed_comes_out_whole_and_in_order() {
        let (taken, mut expected) = (Arc::<Mutex<Vec<u8>>>::default(), Vec::new());
        let mut output = Background::new(Pipe(Arc::clone(&taken), usize::MAX));
        smol::block_on(async {
            for number in 0..20_000 {
                let line = format!("{number} {}\n", "x".repeat(number % 100));
                output.write_all(line.as_bytes()).unwrap();
                expected.extend_from_slice(line.as_bytes());
                if output.is_full() || number % 1_000 == 0 {
                    output.progress(&Clock::real()).await.unwrap();
                    assert!(!output.is_full());
                }
            }
            output.finish(&Clock::real()).await.unwrap();
        });
        assert!(output.is_empty() && *taken.lock().unwrap() == expected);
    }

    #[test]
    fn what_follows_a_flush_at_once_is_written_together() {
        let taken = Arc::<Mutex<Vec<u8>>>::default();
        let mut output = Background::new(Pipe(Arc::clone(&taken), usize::MAX));
        // Its time stands still.
        let clock = Clock::simulated();
        smol::block_on(async {
            output.write_all(b"first\n").unwrap();
            output.progress(&clock).await.unwrap();
            assert_eq!(*taken.lock().unwrap(), b"first\n");
            for _ in 0..100 {
                output.write_all(b"next\n").unwrap();
                assert!(poll_once(output.progress(&clock)).await.is_none());
            }
            assert_eq!(output.buffer.len(), 500, "some of it was passed on");
            output.finish(&Clock::real()).await.unwrap();
        });
        assert!(taken.lock().unwrap().ends_with(b"next\n") && output.is_empty());
    }

    #[test]
    fn why_nothing_more_is_taken_is_told_and_how_much_was_not() {
        let mut output = Background::new(Pipe(Arc::default(), 10_000));
        output.write_all("a line\n".repeat(3_000).as_bytes()).unwrap();
        let error = smol::block_on(output.progress(&Clock::real())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        let left = output.unwritten();
        assert!(left.bytes > 11_000 && left.bytes == left.lines * 7, "{left:?}");
    }

    #[test]
    fn lines_are_written_whole_and_those_without_an_end_in_pieces() {
        assert_eq!(piece(b"a\nb\nc"), b"a\nb\n");
        assert_eq!(piece(b"abc"), b"abc");
        assert_eq!(piece(&[b'x'; 2 * PIECE]).len(), PIECE);
    }
}
