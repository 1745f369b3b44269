//! What is going on, on a line of its own.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line at the bottom of the terminal; nothing where standard error is none.
pub(crate) struct Live(ProgressBar);

impl Live {
    pub(crate) fn new() -> Self {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        line.set_style(ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(line)
    }

    /// Whether anybody sees it.
    pub(crate) fn is_visible(&self) -> bool {
        !self.0.is_hidden()
    }

    pub(crate) fn show(&self, what: &str) {
        self.0.set_message(crate::plain::plain(what).into_owned());
        self.0.tick();
    }

    /// Takes the line away while something else is written to the terminal.
    pub(crate) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.0.suspend(write)
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
