//! Standard output, and standard error, that nobody waits for who has something else to do.

use crate::error::CommandError;
use listwatch_runtime_smol::Clock;
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

/// How many bytes wait here before nothing more should be printed, and how many on their way to the other thread.
const MOST: usize = 64 * 1024;
/// How many are written at a time: what a pipe takes whole or not at all, so that what nobody reads is counted exactly.
const PIECE: usize = 4096;
/// For how long, in the end, a reader may read nothing.
const GRACE: Duration = Duration::from_secs(3);

/// Where something is printed, written to by a thread of its own: a reader that does not read makes only that thread wait.
///
/// Writing to it never waits; who writes much asks first whether it [is full](Self::is_full).
pub(crate) struct Outlet<W: Write + Send + 'static = io::Stdout> {
    waiting: VecDeque<u8>,
    out: Unblock<Counted<W>>,
    given: Amount,
    taken: Arc<Taken>,
}

/// How much was printed that nobody took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

#[derive(Default)]
struct Taken {
    lines: AtomicU64,
    bytes: AtomicU64,
}

impl Outlet {
    pub(crate) fn stdout() -> Self {
        Self::new(io::stdout())
    }
}

impl Outlet<io::Stderr> {
    pub(crate) fn stderr() -> Self {
        Self::new(io::stderr())
    }
}

impl<W: Write + Send + 'static> Outlet<W> {
    pub(crate) fn new(out: W) -> Self {
        let taken = Arc::<Taken>::default();
        let out = Unblock::with_capacity(MOST, Counted { out, taken: Arc::clone(&taken) });
        Self { waiting: VecDeque::new(), out, given: Amount::default(), taken }
    }

    /// Whether nothing more should be printed until [`progress`](Self::progress) was made.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST
    }

    /// Whether all that was printed was taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.left() == Amount::default()
    }

    /// Done when there is room again, or, where there was some, when all was taken; never where there is nothing to be
    /// taken.
    pub(crate) async fn progress(&mut self) -> io::Result<()> {
        match (self.is_full(), self.is_empty()) {
            (true, _) => poll_fn(|cx| self.poll_hand_over(cx)).await,
            (_, true) => pending().await,
            _ => self.flush_all().await,
        }
    }

    /// Waits until all was taken; and no longer where nobody takes anything.
    ///
    /// # Errors
    /// Where it cannot be written, or nobody takes it.
    pub(crate) async fn finish(&mut self, clock: &Clock) -> Result<(), CommandError> {
        loop {
            let before = self.left();
            let grace = clock.sleep(GRACE);
            let patience = async {
                grace.await;
                None
            };
            match or(async { Some(self.flush_all().await) }, patience).await {
                Some(flushed) => return flushed.map_err(CommandError::Output),
                None if self.left() == before => return Err(CommandError::Unread(before)),
                None => {}
            }
        }
    }

    async fn flush_all(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_hand_over(cx)).await?;
        poll_fn(|cx| Pin::new(&mut self.out).poll_flush(cx)).await
    }

    /// Passes on what waits, as far as there is room for it.
    pub(crate) fn poll_hand_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.waiting.is_empty() {
            let (bytes, _) = self.waiting.as_slices();
            match ready!(Pin::new(&mut self.out).poll_write(cx, bytes))? {
                // The other thread has given up, and says why when it is asked for what it still has.
                0 => {
                    return Pin::new(&mut self.out)
                        .poll_flush(cx)
                        .map(|why| why.and_then(|()| Err(ErrorKind::WriteZero.into())));
                }
                taken => drop(self.waiting.drain(..taken)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// How much nobody took yet.
    pub(crate) fn left(&self) -> Amount {
        let Taken { lines, bytes } = &*self.taken;
        Amount {
            lines: self.given.lines - lines.load(Ordering::Relaxed),
            bytes: self.given.bytes - bytes.load(Ordering::Relaxed),
        }
    }
}

impl<W: Write + Send + 'static> Write for Outlet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.given.lines += line_ends(bytes);
        self.given.bytes += bytes.len() as u64;
        self.waiting.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the other thread writes to.
struct Counted<W> {
    out: W,
    taken: Arc<Taken>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = piece(bytes);
        self.out.write_all(piece).and_then(|()| self.out.flush())?;
        self.taken.lines.fetch_add(line_ends(piece), Ordering::Relaxed);
        self.taken.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What is written next: whole lines, where one ends soon enough, because standard output writes those at once and what
/// is behind them for itself.
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
    use std::sync::Mutex;

    /// Takes so many bytes, and then breaks.
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
        let mut outlet = Outlet::new(Pipe(Arc::clone(&taken), usize::MAX));
        smol::block_on(async {
            for number in 0..20_000 {
                let line = format!("{number} {}\n", "x".repeat(number % 100));
                outlet.write_all(line.as_bytes()).unwrap();
                expected.extend_from_slice(line.as_bytes());
                if outlet.is_full() || number % 1_000 == 0 {
                    outlet.progress().await.unwrap();
                    assert!(!outlet.is_full());
                }
            }
            outlet.finish(&Clock::real()).await.unwrap();
        });
        assert!(outlet.is_empty() && *taken.lock().unwrap() == expected);
    }

    #[test]
    fn why_nothing_more_is_taken_is_told_and_how_much_was_not() {
        let mut outlet = Outlet::new(Pipe(Arc::default(), 10_000));
        outlet.write_all("a line\n".repeat(3_000).as_bytes()).unwrap();
        let error = smol::block_on(outlet.progress()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        let left = outlet.left();
        assert!(left.bytes > 11_000 && left.bytes == left.lines * 7, "{left:?}");
    }

    #[test]
    fn lines_are_written_whole_and_those_without_an_end_in_pieces() {
        assert_eq!(piece(b"a\nb\nc"), b"a\nb\n");
        assert_eq!(piece(b"abc"), b"abc");
        assert_eq!(piece(&[b'x'; 2 * PIECE]).len(), PIECE);
    }
}
