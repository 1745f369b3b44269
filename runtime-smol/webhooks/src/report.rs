//! What operators are told.

use listwatch::Clock;
use listwatch::served::Folded;
use listwatch_core::text::Printable;

/// Takes a line for operators.
pub(crate) type OnReport = dyn Fn(&str) + Send + Sync;

/// Tells operators what failed: by the function of the program, or on standard error, where repeats are folded.
pub(crate) struct Reports {
    pub(crate) name: String,
    pub(crate) on_report: Option<Box<OnReport>>,
    pub(crate) clock: Clock,
    pub(crate) stderr: Folded,
}

impl Reports {
    pub(crate) fn tell(&self, subject: &str, what: &str) {
        let line = format!("{}: {subject}: {}", Printable::new(&self.name), Printable::new(what));
        match &self.on_report {
            Some(on_report) => on_report(&line),
            None => self.stderr.write_line(&self.clock, Some((subject.to_owned(), what.to_owned())), line),
        }
    }
}
