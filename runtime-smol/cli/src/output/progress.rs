//! The progress line on a terminal.

use super::messages::{CLEAR_LINE, draw};
use crate::arguments::hide_credentials;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use listwatch::text::Printable;
use std::io;
use std::sync::{Mutex, PoisonError};

const WORDS: &str = "{wide_msg}";
const BAR_AND_WORDS: &str = "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {msg}";
/// The frames a second at the most.
const RATE: u8 = 20;

/// A line at the bottom of the terminal. If standard error is no terminal, or the line is not wanted, nothing is drawn.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A line of words.
    pub(crate) fn words(wanted: bool) -> Self {
        Self::new(None, WORDS, wanted)
    }

    /// A bar for this many bytes, and words after it.
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

    /// Whether the line is drawn at all.
    pub(crate) fn is_visible(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Shows the line, with these words.
    pub(crate) fn show(&self, words: &str) {
        self.0.set_message(Printable::new(hide_credentials(words.to_owned())).to_string());
        if self.0.is_finished() { self.0.reset() } else { self.0.tick() }
    }

    /// Shows the bar up to this byte, with these words.
    pub(crate) fn show_at(&self, position: u64, words: &str) {
        self.0.set_position(position);
        self.show(words);
    }

    /// Hides the line while `write` writes to the terminal.
    pub(crate) fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        self.0.suspend(write)
    }

    /// Hides the line until it is shown again.
    pub(crate) fn hide(&self) {
        if !self.0.is_finished() {
            self.0.finish_and_clear();
        }
    }
}

/// Standard error as a terminal. A terminal that is stopped (Ctrl-S) does not block it.
#[derive(Debug, Default)]
struct Terminal(Mutex<String>);

impl Terminal {
    fn add(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        Ok(())
    }

    fn move_cursor(&self, times: usize, direction: char) -> io::Result<()> {
        if times == 0 { Ok(()) } else { self.add(&format!("\x1b[{times}{direction}")) }
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        Term::stderr().size().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.add(text)?;
        self.add("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.add(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add(CLEAR_LINE)
    }

    fn flush(&self) -> io::Result<()> {
        let frame = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        draw(&frame);
        Ok(())
    }
}
