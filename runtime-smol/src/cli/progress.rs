//! How far a playback has come, for people who watch.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use listwatch_runtime_smol::InformerStatus;

/// A bar on standard error; nothing where that is no terminal.
pub(crate) struct Progress(ProgressBar);

const TEMPLATE: &str = "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {msg}";

impl Progress {
    /// A bar for so many bytes; without `wanted` none.
    pub(crate) fn new(total: u64, wanted: bool) -> Self {
        let target = if wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self(bar)
    }

    /// Whether anybody sees it.
    pub(crate) fn is_visible(&self) -> bool {
        !self.0.is_hidden()
    }

    pub(crate) fn show(&self, position: u64, events: u64, status: &InformerStatus) {
        self.0.set_position(position);
        self.0.set_message(format!("{events} events; {status}"));
    }

    /// Takes the bar away while something else is written to the terminal.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
