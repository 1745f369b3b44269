use super::Error;
use crate::informers::StreamsNotSynced;
use core::fmt;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::controller::{KeyReport, KeyState};
use listwatch_core::decode::DecodeError;
use listwatch_core::queue::Finished;
use listwatch_core::reflector::FailureReport;
use listwatch_core::text::Printable;

/// Something that a controller's operator should know. It goes to standard error, one line each, unless
/// [`on_report`](super::Reconciler::on_report) sets another function.
#[derive(Debug)]
#[non_exhaustive]
pub enum Report<'a> {
    /// A reconcile failed.
    Failed {
        /// The key that was reconciled.
        key: &'a Key,
        /// The reason.
        error: &'a Error,
        /// When the key is reconciled again.
        next: Finished,
    },
    /// A reconcile panicked. The key is retried as after a failure.
    Panicked {
        /// The key that was reconciled.
        key: &'a Key,
        /// The message of the panic.
        message: &'a str,
    },
    /// A reconcile was dropped, with its requests, at its [deadline](super::Reconciler::deadline). The key is retried
    /// as after a failure.
    Overdue {
        /// The key that was reconciled.
        key: &'a Key,
        /// The time that the reconcile took until then.
        after: Duration,
    },
    /// A mapper or a predicate panicked over an object. Its keys are missing, and the stream goes on.
    MapperPanicked {
        /// The path of the source's resource.
        source: &'a str,
        /// The object that it was called with.
        key: &'a Key,
        /// The message of the panic.
        message: &'a str,
    },
    /// The drop of an object panicked. The stream goes on.
    DropPanicked {
        /// The path of the source's resource.
        source: &'a str,
        /// The message of the panic.
        message: &'a str,
    },
    /// A source's request failed. The informer retries.
    SourceFailed {
        /// The path of the source's resource.
        source: &'a str,
        /// The failure, and when the next attempt is.
        failure: &'a FailureReport,
    },
    /// A source that was [added](super::AddedSource) to a controller has not synced in time. Its informer retries, and
    /// its events become keys when they come.
    SourceNotSynced {
        /// The path of the source's resource.
        source: &'a str,
        /// The streams that have no first state, and why.
        error: &'a StreamsNotSynced,
    },
    /// A store did not show a write in time, so the key is reconciled without it.
    WriteTimedOut {
        /// The key whose reconcile wrote.
        key: &'a Key,
        /// The object that it wrote.
        written: &'a Key,
    },
    /// An object of a source could not be decoded. Its last good state stays.
    Undecodable {
        /// The path of the source's resource.
        source: &'a str,
        /// The error.
        error: &'a DecodeError,
    },
    /// The controller has ended, and these keys are not done.
    Ended {
        /// Each key, and how it was left.
        left: &'a [KeyReport<Key>],
    },
    /// A reconcile [warned](super::Context::warn).
    Warning {
        /// The key that is reconciled.
        key: &'a Key,
        /// The reason in one word, for programs.
        reason: &'a str,
        /// The message, for operators.
        message: &'a str,
    },
}

/// The function that gets the reports, with the controller's name.
pub(super) type OnReport = Box<dyn Fn(&str, &Report<'_>) + Send + Sync>;

/// Writes the report to standard error. If that is closed, the report is lost.
pub(super) fn to_stderr(controller: &str, report: &Report<'_>) {
    use std::io::Write;
    let _closed = writeln!(std::io::stderr(), "{}: {report}", Printable::new(controller));
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { key, error, next } => {
                let next = if *next == Finished::GaveUp { "parked until it changes: " } else { "" };
                write!(f, "{}: {next}{}", Printable::new(key.as_str()), Printable::new(error))
            }
            Self::Panicked { key, message } => {
                write!(f, "{}: the reconcile panicked: {}", Printable::new(key.as_str()), Printable::new(message))
            }
            Self::Overdue { key, after } => {
                write!(f, "{}: the reconcile was dropped after {after:?}", Printable::new(key.as_str()))
            }
            Self::MapperPanicked { source, key, message } => {
                let (source, key) = (Printable::new(source), Printable::new(key.as_str()));
                write!(f, "the mapper of {source} panicked over {key}: {}", Printable::new(message))
            }
            Self::DropPanicked { source, message } => {
                let (source, message) = (Printable::new(source), Printable::new(message));
                write!(f, "the drop of an object of {source} panicked: {message}")
            }
            Self::SourceFailed { source, failure } => write!(f, "{}: {failure}", Printable::new(source)),
            Self::SourceNotSynced { source, error } => {
                write!(f, "{}: {}", Printable::new(source), Printable::new(error))
            }
            Self::Undecodable { source, error } => write!(f, "{}: {error}", Printable::new(source)),
            Self::Ended { left } => write_left(f, left),
            Self::WriteTimedOut { key, written } => {
                let (key, written) = (Printable::new(key.as_str()), Printable::new(written.as_str()));
                write!(f, "{key}: the watch has not shown the write of {written} in time")
            }
            Self::Warning { key, reason, message } => {
                let (reason, message) = (Printable::new(reason), Printable::new(message));
                write!(f, "{}: {reason}: {message}", Printable::new(key.as_str()))
            }
        }
    }
}

/// How many keys a line names.
const NAMED: usize = 10;

fn write_left(f: &mut fmt::Formatter<'_>, left: &[KeyReport<Key>]) -> fmt::Result {
    match left.len() {
        0 => return f.write_str("ended; every key is done"),
        1 => f.write_str("ended; 1 key is not done:")?,
        keys => write!(f, "ended; {keys} keys are not done:")?,
    }
    for report in left.iter().take(NAMED) {
        write!(f, " {} ({})", Printable::new(report.key.as_str()), state(report.state))?;
    }
    if left.len() > NAMED { f.write_str(" …") } else { Ok(()) }
}

fn state(state: KeyState) -> &'static str {
    match state {
        KeyState::Debounced { .. } | KeyState::Ready => "changed",
        KeyState::Running { .. } => "running",
        KeyState::Held { .. } => "waiting for its writes",
        KeyState::Delayed { .. } => "requeued",
        KeyState::BackingOff { .. } => "backing off",
        KeyState::Parked => "parked",
        _ => "unfinished",
    }
}
