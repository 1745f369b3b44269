//! The ends of reconciles, and the reports of controllers.

use super::election::election;
use super::emit::{event_at, told};
use super::targets::CONTROLLER;
use crate::controller::Report;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::queue::{Finished, Outcome};
use listwatch_core::text::Printable;
use tracing::{Level, event};

/// The longest report, in characters.
const LONGEST: usize = 4096;

/// Tells that a reconcile has ended which is no failure. Without an outcome, it was dropped.
pub(crate) fn ended(outcome: Option<Outcome>, took: Duration) {
    told(|| {
        let requeue_in_s = match outcome {
            Some(Outcome::RequeueAfter(delay)) => Some(delay.as_secs_f64()),
            _ => None,
        };
        event!(
            target: CONTROLLER,
            Level::DEBUG,
            result = outcome.map_or("dropped", name),
            duration_s = took.as_secs_f64(),
            requeue_in_s,
            "ended"
        );
    });
}

fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::RequeueAfter(_) => "requeue",
        Outcome::Terminal => "terminal",
        Outcome::Panicked => "panicked",
        _ => "retry",
    }
}

/// Tells a report; that of the end of a reconcile with the time that it took. False if nobody has heard of it.
pub(crate) fn report(controller: &str, report: &Report<'_>, took: Option<Duration>) -> bool {
    if let Report::Election { lease, report } = report {
        return election(Some(controller), lease, report);
    }
    told(|| {
        let (level, name) = kind(report);
        let retry_in = if let Report::Failed { retry_in, .. } = report { *retry_in } else { None };
        event_at!(
            level,
            target: CONTROLLER,
            controller = display(Printable::new(controller)),
            key = key(report).map(|key| display(Printable::new(key.as_str()))),
            report = took.is_none().then_some(name),
            result = took.is_some().then_some(name),
            duration_s = took.map(|took| took.as_secs_f64()),
            retry_in_s = retry_in.map(|wait| wait.as_secs_f64()),
            "{}",
            Printable::new(report).at_most(LONGEST)
        );
    })
}

/// What a stream tells by itself is told again in detail alone.
fn kind(report: &Report<'_>) -> (Level, &'static str) {
    match report {
        Report::Failed { next: Finished::GaveUp, .. } => (Level::ERROR, "failed"),
        Report::Failed { .. } => (Level::WARN, "failed"),
        Report::Panicked { .. } => (Level::ERROR, "panicked"),
        Report::Overdue { .. } => (Level::WARN, "overdue"),
        Report::MapperPanicked { .. } => (Level::ERROR, "mapper_panicked"),
        Report::DropPanicked { .. } => (Level::ERROR, "drop_panicked"),
        Report::SourceFailed { .. } => (Level::DEBUG, "source_failed"),
        Report::SourceRecovered { .. } => (Level::INFO, "source_recovered"),
        Report::SourceNotSynced { .. } => (Level::WARN, "source_not_synced"),
        Report::Undecodable { .. } => (Level::DEBUG, "undecodable"),
        Report::Audited { .. } => (Level::DEBUG, "audited"),
        Report::WriteTimedOut { .. } => (Level::WARN, "write_timed_out"),
        Report::Started { .. } => (Level::INFO, "started"),
        Report::StillWorking { .. } => (Level::WARN, "still_working"),
        Report::Election { .. } => (Level::INFO, "election"),
        Report::NeverStarted => (Level::WARN, "never_started"),
        Report::NeverLed => (Level::INFO, "never_led"),
        Report::Ended { left } if left.iter().all(|key| key.state.is_requeued()) => (Level::INFO, "ended"),
        Report::Ended { .. } => (Level::WARN, "ended"),
        #[cfg(feature = "file")]
        Report::Replayed { .. } => (Level::INFO, "replayed"),
        Report::EventNotWritten { .. } => (Level::WARN, "event_not_written"),
        Report::EventsLost { .. } => (Level::WARN, "events_lost"),
        Report::Warning { .. } => (Level::WARN, "warning"),
    }
}

fn key<'r>(report: &Report<'r>) -> Option<&'r Key> {
    match report {
        Report::Failed { key, .. }
        | Report::Panicked { key, .. }
        | Report::Overdue { key, .. }
        | Report::MapperPanicked { key, .. }
        | Report::WriteTimedOut { key, .. }
        | Report::Warning { key, .. } => Some(key),
        _ => None,
    }
}
