//! What is going on, for people who watch.

use crate::complaint::draw;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use listwatch_runtime_smol::text::Printable;
use std::io;
use std::sync::{Mutex, PoisonError};

const WORDS: &str = "{wide_msg}";
const BAR_AND_WORDS: &str = "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {msg}";
/// How often in a second the line is drawn at most.
const RATE: u8 = 20;

/// A line at the bottom of the terminal; nothing where standard error is none, or where none is wanted.
pub(crate) struct Live(ProgressBar);

impl Live {
    /// A line of words.
    pub(crate) fn words(wanted: bool) -> Self {
        Self::new(None, WORDS, wanted)
    }

    /// A bar for so many bytes, and words behind it.
    pub(crate) fn bar(bytes: u64, wanted: bool) -> Self {
        Self::new(Some(bytes), BAR_AND_WORDS, wanted)
    }

    fn new(total: Option<u64>, template: &str, wanted: bool) -> Self {
        let target = match wanted && !ProgressDrawTarget::stderr().is_hidden() {
            true => ProgressDrawTarget::term_like_with_hz(Box::new(Terminal::default()), RATE),
            false => ProgressDrawTarget::hidden(),
        };
        let line = ProgressBar::with_draw_target(total, target);
        line.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(line)
    }

    /// Whether anybody sees it, when it is shown.
    pub(crate) fn is_visible(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Shows the line, with these words.
    pub(crate) fn show(&self, what: &str) {
        self.0.set_message(Printable::new(what).to_string());
        if self.0.is_finished() { self.0.reset() } else { self.0.tick() }
    }

    /// Shows the bar up to there, with these words.
    pub(crate) fn show_at(&self, position: u64, what: &str) {
        self.0.set_position(position);
        self.show(what);
    }

    /// Takes the line away while something else is written to the terminal.
    pub(crate) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.0.suspend(write)
    }

    /// Takes the line away, until it is shown again.
    pub(crate) fn hide(&self) {
        if !self.0.is_finished() {
            self.0.finish_and_clear();
        }
    }
}

/// Standard error as a terminal, where drawing does not wait for a terminal that was stopped.
#[derive(Debug, Default)]
struct Terminal(Mutex<String>);

impl Terminal {
    fn add(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        Ok(())
    }

    fn steer(&self, times: usize, direction: char) -> io::Result<()> {
        if times == 0 { Ok(()) } else { self.add(&format!("\x1b[{times}{direction}")) }
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        Term::stderr().size().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.add(text)?;
        self.add("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.add(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let frame = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        draw(&frame);
        Ok(())
    }
}
