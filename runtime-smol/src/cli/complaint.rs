//! Lines on standard error, which nobody waits for: a reader that does not read gets fewer of them.

use crate::outlet::Outlet;
use listwatch_runtime_smol::Clock;
use listwatch_runtime_smol::text::Printable;
use std::fmt::Display;
use std::future::poll_fn;
use std::io::{Stderr, Write};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::task::Poll;

/// How many characters a line has at most. Its parts are cut before, so that its end is told too.
const LONG: usize = 4096;

/// Standard error, from the first line on and until the [last](finish).
static ERRORS: Mutex<Option<Lines<Stderr>>> = Mutex::new(None);

/// Says it in a line, where anybody listens.
pub(crate) fn complain(what: impl Display) {
    tell(&line(what));
}

/// Says it in a line without another thread, and waits until it is read.
pub(crate) fn complain_at_once(what: impl Display) {
    let _nobody_is_left_to_be_told = std::io::stderr().write_all(line(what).as_bytes());
}

/// Says so many lines as they are.
pub(crate) fn tell(lines: &str) {
    with(|errors| errors.say(lines));
}

/// Shows something that need not be seen, such as what is going on; unless much waits to be read.
pub(crate) fn draw(frame: &str) {
    with(|errors| errors.draw(frame));
}

/// Passes on what waits to be told, whenever there is room for it. This is never done.
pub(crate) async fn progress<T>() -> T {
    poll_fn(|cx| {
        with(|errors| errors.hand_over(Some(cx)));
        Poll::Pending
    })
    .await
}

/// Waits until all was read that was told; and no longer where nobody reads.
pub(crate) fn finish() {
    let errors = ERRORS.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut errors) = errors {
        errors.say("");
        let _nobody_is_left_to_be_told = smol::block_on(errors.out.finish(&Clock::real()));
    }
}

/// Tells of a panic as of everything else: what it says may come from outside.
pub(crate) fn complain_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let what = format!("this is a bug of listwatch, please report it: {panic}");
        if with(|errors| errors.say(&line(&what))).is_none() {
            complain_at_once(&what);
        }
    }));
}

fn line(what: impl Display) -> String {
    format!("listwatch: {}\n", Printable::new(what).at_most(LONG))
}

fn with<R>(what: impl FnOnce(&mut Lines<Stderr>) -> R) -> Option<R> {
    let mut errors = match ERRORS.try_lock() {
        Ok(errors) => errors,
        Err(TryLockError::Poisoned(errors)) => errors.into_inner(),
        // Another thread panics while a line is told.
        Err(TryLockError::WouldBlock) => return None,
    };
    Some(what(errors.get_or_insert_with(|| Lines::new(Outlet::stderr()))))
}

/// What is told, and how many lines were not.
struct Lines<W: Write + Send + 'static> {
    out: Outlet<W>,
    untold: u64,
    /// Nobody listens any more.
    closed: bool,
}

impl<W: Write + Send + 'static> Lines<W> {
    /// More than this, and nobody looks at what is drawn.
    const UNSEEN: u64 = 4096;

    fn new(out: Outlet<W>) -> Self {
        Self { out, untold: 0, closed: false }
    }

    fn say(&mut self, lines: &str) {
        self.hand_over(None);
        if self.out.is_full() {
            self.untold += lines.matches('\n').count() as u64;
            return;
        }
        if self.untold > 0 {
            let untold = std::mem::take(&mut self.untold);
            self.write(&line(format_args!("{untold} lines were not told, because nobody read standard error")));
        }
        self.write(lines);
    }

    fn draw(&mut self, frame: &str) {
        if self.out.left().bytes < Self::UNSEEN {
            self.write(frame);
        }
    }

    fn write(&mut self, text: &str) {
        if !self.closed {
            let _never_fails = self.out.write_all(text.as_bytes());
            self.hand_over(None);
        }
    }

    fn hand_over(&mut self, cx: Option<&mut std::task::Context<'_>>) {
        if self.closed {
            return;
        }
        let mut nobody = std::task::Context::from_waker(std::task::Waker::noop());
        if let Poll::Ready(Err(_)) = self.out.poll_hand_over(cx.unwrap_or(&mut nobody)) {
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
        (Lines::new(Outlet::new(Slow(told, Arc::clone(&read)))), reads, read)
    }

    #[test]
    fn lines_that_nobody_reads_take_bounded_memory_and_are_counted() {
        let (mut lines, reads, read) = slow();
        let long = line("x".repeat(4_000));
        (0..1_000).for_each(|_| lines.say(&long));
        assert!(lines.out.left().bytes < 200_000, "{:?}", lines.out.left());
        let untold = lines.untold;
        assert!(untold > 900, "{untold}");
        drop(reads);
        smol::block_on(lines.out.finish(&Clock::real())).unwrap();
        lines.say("the last\n");
        smol::block_on(lines.out.finish(&Clock::real())).unwrap();
        let read = String::from_utf8(read.lock().unwrap().clone()).unwrap();
        let last = format!("listwatch: {untold} lines were not told, because nobody read standard error\nthe last\n");
        assert!(read.ends_with(&last) && read.matches('\n').count() as u64 + untold == 1_002, "{}", read.len());
    }

    #[test]
    fn what_is_drawn_is_not_kept_for_who_does_not_look() {
        let (mut lines, reads, _read) = slow();
        (0..1_000).for_each(|_| lines.draw("ten bytes."));
        assert!(lines.out.left().bytes < 5_000 && lines.untold == 0, "{:?}", lines.out.left());
        drop(reads);
    }

    #[test]
    fn what_a_panic_says_cannot_steer_the_terminal() {
        assert_eq!(line("\u{1b}]52;c;aGk=\u{7}\nforged"), "listwatch: \\u001b]52;c;aGk=\\u0007\\nforged\n");
    }
}
