//! What is going on, for people who watch.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use listwatch_runtime_smol::Printable;

const WORDS: &str = "{wide_msg}";
const BAR_AND_WORDS: &str = "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {msg}";

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
        let target = if wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
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
