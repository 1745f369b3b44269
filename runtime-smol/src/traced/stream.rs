//! What an informer does, and what fails there.

use super::REFLECTOR;
use super::emit::{event_at, told};
use crate::names::StreamName;
use listwatch_core::Resource;
use listwatch_core::informer::InformerStatus;
use listwatch_core::reflector::FailureReport;
use listwatch_core::text::Printable;
use tracing::field::display;
use tracing::{Level, Value, event};

/// The state of an informer that was told last.
#[derive(Debug, Default)]
pub(crate) struct StreamTrace(Option<&'static str>);

impl StreamTrace {
    /// A request failed. It is retried.
    pub(crate) fn failed(&mut self, resource: &Resource, report: &FailureReport) {
        self.0 = Some("failing");
        told(|| {
            let class = report.failure.class();
            let help = || StreamName::new(resource.clone()).help(class, report.operation);
            event!(
                target: REFLECTOR,
                Level::WARN,
                resource = display(Printable::new(resource.path())),
                label_selector = selector(resource.label_selector()),
                field_selector = selector(resource.field_selector()),
                state = "failing",
                operation = debug(report.operation),
                class = display(class),
                status = report.failure.status().map(|status| status.code),
                attempts = report.attempts,
                retry_in_s = report.retry_in.as_secs_f64(),
                help = help().map(|help| display(Printable::new(help))),
                "{}",
                Printable::new(report)
            );
        });
    }

    /// Tells the state if it has changed.
    pub(crate) fn note(&mut self, resource: &Resource, status: impl FnOnce() -> InformerStatus) {
        told(|| {
            if !is_heard() {
                return;
            }
            let status = status();
            let (level, state) = (level(&status), status.name());
            let version = match &status {
                InformerStatus::Synced { received, applied, .. } => applied.as_ref().or(received.as_ref()),
                _ => None,
            };
            if self.0.replace(state) == Some(state) || state == "failing" {
                return;
            }
            event_at!(
                level,
                target: REFLECTOR,
                resource = display(Printable::new(resource.path())),
                label_selector = selector(resource.label_selector()),
                field_selector = selector(resource.field_selector()),
                state,
                version = version.map(|version| display(Printable::new(version))),
                "{}",
                Printable::new(&status)
            );
        });
    }
}

pub(crate) fn selector(selector: Option<&str>) -> Option<impl Value> {
    selector.map(|selector| display(Printable::new(selector)))
}

/// Whether somebody may hear of a state: a subscriber, or a logger by tracing's feature `log`.
fn is_heard() -> bool {
    tracing::enabled!(target: REFLECTOR, Level::INFO) || log::log_enabled!(target: REFLECTOR, log::Level::Info)
}

/// How loud a state is told.
fn level(status: &InformerStatus) -> Level {
    match status {
        InformerStatus::Synced { .. } | InformerStatus::Restored { .. } => Level::INFO,
        InformerStatus::Failing { .. } => Level::WARN,
        _ => Level::DEBUG,
    }
}
