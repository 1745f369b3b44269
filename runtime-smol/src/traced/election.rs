//! The reports of elections.

use super::emit::{event_at, told};
use super::targets::ELECTION;
use crate::election::ElectionReport;
use listwatch_core::election::StopReason;
use listwatch_core::text::Printable;
use tracing::Level;

/// Tells the report of a candidate, which may be that of a controller. False if nobody has heard of it.
pub(crate) fn election(controller: Option<&str>, lease: &str, report: &ElectionReport<'_>) -> bool {
    told(|| {
        let (level, name) = kind(report);
        event_at!(
            level,
            target: ELECTION,
            controller = controller.map(|name| display(Printable::new(name))),
            lease = display(Printable::new(lease)),
            report = name,
            "{}",
            Printable::new(report)
        );
    })
}

fn kind(report: &ElectionReport<'_>) -> (Level, &'static str) {
    match report {
        ElectionReport::Leader { .. } => (Level::INFO, "leader"),
        ElectionReport::Started { .. } => (Level::INFO, "started"),
        ElectionReport::Stopping { reason: StopReason::Asked } => (Level::INFO, "stopping"),
        ElectionReport::Stopping { .. } => (Level::ERROR, "lost"),
        ElectionReport::Ended { .. } => (Level::INFO, "ended"),
        ElectionReport::Failed { .. } => (Level::WARN, "failed"),
        ElectionReport::NotWatched { .. } => (Level::WARN, "not_watched"),
        ElectionReport::GivenUp { .. } => (Level::WARN, "given_up"),
        ElectionReport::Panicked { .. } => (Level::ERROR, "panicked"),
    }
}
