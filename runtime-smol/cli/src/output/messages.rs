//! Messages on standard error. They never block: a reader that does not read gets fewer of them.

use super::background::Background;
use super::date::date;
use crate::arguments::hide_credentials;
use listwatch::Clock;
use listwatch::text::{Counted, Printable};
use std::collections::VecDeque;
use std::fmt::Display;
use std::future::poll_fn;
use std::io::{IsTerminal, Stderr, Write};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::task::Poll;
use std::time::SystemTime;

/// The characters of a message at the most. The parts of a message are cut shorter, so its end is printed too.
const LONG: usize = 4096;

/// Standard error, from the first message until [`finish`].
static STDERR: Mutex<Option<Lines<Stderr>>> = Mutex::new(None);

/// Empties the line of a terminal in which the cursor is.
pub(super) const CLEAR_LINE: &str = "\r\x1b[2K";

/// The warnings that were printed last.
static WARNINGS: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
/// How many of them are known.
const MOST_WARNINGS: usize = 64;

/// Prints a message as one line.
pub(crate) fn print(message: impl Display) {
    print_lines(&line(message));
}

/// Prints a message with its date: one about what a long run has met.
#[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
pub(crate) fn report(message: impl Display) {
    print(format_args!("{} {message}", date(SystemTime::now())));
}

/// Prints a message without another thread, and waits until the reader has taken it.
pub(crate) fn print_blocking(message: impl Display) {
    let _no_reader = std::io::stderr().write_all(line(message).as_bytes());
}

/// Prints a warning of the server as kubectl does. The last texts are not printed again.
pub(crate) fn warn(text: &str) {
    let mut printed = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.iter().any(|known| known == text) {
        return;
    }
    if printed.len() == MOST_WARNINGS {
        printed.pop_front();
    }
    printed.push_back(text.to_owned());
    let text = hide_credentials(text.to_owned());
    // Over the line of the progress, which is drawn again.
    let clear = if std::io::stderr().is_terminal() { CLEAR_LINE } else { "" };
    print_lines(&format!("{clear}Warning: {}\n", Printable::new(text).at_most(LONG)));
}

/// Prints lines as they are.
pub(crate) fn print_lines(lines: &str) {
    with_stderr(|stderr| stderr.print(lines));
}

/// Draws a frame that the reader may miss. A reader that is far behind does not get it.
pub(crate) fn draw(frame: &str) {
    with_stderr(|stderr| stderr.draw(frame));
}

/// Passes messages on whenever standard error has room. This never completes.
pub(crate) async fn keep_writing<T>() -> T {
    poll_fn(|cx| {
        with_stderr(|stderr| stderr.write_buffer(Some(cx)));
        Poll::Pending
    })
    .await
}

/// Waits until all messages are written, as long as the reader takes any of them.
pub(crate) fn finish() {
    let stderr = STDERR.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut stderr) = stderr {
        stderr.print("");
        let _no_reader = smol::block_on(stderr.out.finish(&Clock::real()));
    }
}

/// Prints panics as messages, because the text of a panic may come from outside.
pub(crate) fn print_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = format!("this is a bug in listwatch; please report it: {panic}");
        if with_stderr(|stderr| stderr.print(&line(&message))).is_none() {
            print_blocking(message);
        }
    }));
}

fn line(message: impl Display) -> String {
    let message = hide_credentials(message.to_string());
    format!("listwatch: {}\n", Printable::new(message).at_most(LONG))
}

/// `None` while another thread prints: it may have panicked there.
fn with_stderr<R>(f: impl FnOnce(&mut Lines<Stderr>) -> R) -> Option<R> {
    let mut stderr = match STDERR.try_lock() {
        Ok(stderr) => stderr,
        Err(TryLockError::Poisoned(stderr)) => stderr.into_inner(),
        Err(TryLockError::WouldBlock) => return None,
    };
    Some(f(stderr.get_or_insert_with(|| Lines::new(Background::stderr()))))
}

/// Lines for a reader that may be slow, and the number of lines it missed.
struct Lines<W: Write + Send + 'static> {
    out: Background<W>,
    missed: u64,
    /// The reader is gone.
    closed: bool,
}

impl<W: Write + Send + 'static> Lines<W> {
    /// The unwritten bytes from which on no frame is drawn.
    const BEHIND: u64 = 4096;

    fn new(out: Background<W>) -> Self {
        Self { out, missed: 0, closed: false }
    }

    fn print(&mut self, lines: &str) {
        self.write_buffer(None);
        if self.out.is_full() {
            self.missed += lines.matches('\n').count() as u64;
            return;
        }
        if self.missed > 0 {
            let missed = Counted(std::mem::take(&mut self.missed), "line was", "lines were");
            self.write(&line(format_args!("{missed} dropped here, because standard error was not read")));
        }
        self.write(lines);
    }

    fn draw(&mut self, frame: &str) {
        if self.out.unwritten().bytes < Self::BEHIND {
            self.write(frame);
        }
    }

    fn write(&mut self, text: &str) {
        if !self.closed {
            let _never_fails = self.out.write_all(text.as_bytes());
            self.write_buffer(None);
        }
    }

    fn write_buffer(&mut self, cx: Option<&mut std::task::Context<'_>>) {
        if self.closed {
            return;
        }
        let mut no_waker = std::task::Context::from_waker(std::task::Waker::noop());
        if let Poll::Ready(Err(_)) = self.out.poll_write_buffer(cx.unwrap_or(&mut no_waker)) {
            self.closed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    /// A reader that reads when it is told to.
    struct Slow(Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _reads = self.0.recv();
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Lines<Slow>, Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let ((reads, told), read) = (channel(), Arc::<Mutex<Vec<u8>>>::default());
        (Lines::new(Background::new(Slow(told, Arc::clone(&read)))), reads, read)
    }

    #[test]
    fn lines_that_nobody_reads_take_bounded_memory_and_are_counted() {
        let (mut lines, reads, read) = slow();
        let long = line("x".repeat(4_000));
        (0..1_000).for_each(|_| lines.print(&long));
        assert!(lines.out.unwritten().bytes < 200_000, "{:?}", lines.out.unwritten());
        let missed = lines.missed;
        assert!(missed > 900, "{missed}");
        drop(reads);
        smol::block_on(lines.out.finish(&Clock::real())).unwrap();
        lines.print("the last\n");
        smol::block_on(lines.out.finish(&Clock::real())).unwrap();
        let read = String::from_utf8(read.lock().unwrap().clone()).unwrap();
        let last =
            format!("listwatch: {missed} lines were dropped here, because standard error was not read\nthe last\n");
        assert!(read.ends_with(&last) && read.matches('\n').count() as u64 + missed == 1_002, "{}", read.len());
    }

    #[test]
    fn what_is_drawn_is_not_kept_for_who_does_not_look() {
        let (mut lines, reads, _read) = slow();
        (0..1_000).for_each(|_| lines.draw("ten bytes."));
        assert!(lines.out.unwritten().bytes < 5_000 && lines.missed == 0, "{:?}", lines.out.unwritten());
        drop(reads);
    }

    #[test]
    fn what_a_panic_says_cannot_steer_the_terminal() {
        assert_eq!(line("\u{1b}]52;c;aGk=\u{7}\nforged"), "listwatch: \\u001b]52;c;aGk=\\u0007\\nforged\n");
    }
}
