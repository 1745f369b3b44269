//! The last drift audit of a stream.

use super::PANICKED;
use super::keys::seconds;
use crate::audit::{AuditFailure, AuditReport, Difference};
use crate::informers::StreamStatus;
use listwatch_core::object::Version;
use listwatch_core::text::Printable;
use serde::Serialize;

/// How many differences are named.
const NAMED: usize = 100;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditLine {
    /// Such as `clean`, or `failed` if nothing was compared.
    pub(super) result: &'static str,
    pub(super) date: String,
    pub(super) age_seconds: f64,
    pub(super) took_seconds: f64,
    /// What it compared, or why nothing.
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    Compared(Compared),
    Failed { failure: String },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compared {
    pub(super) version: String,
    pub(super) objects: usize,
    pub(super) missing: usize,
    pub(super) extra: usize,
    pub(super) stale: usize,
    pub(super) undecodable: usize,
    /// The first of them.
    pub(super) differences: Vec<DifferenceLine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DifferenceLine {
    pub(super) key: String,
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) store: Option<String>,
}

impl AuditLine {
    /// That of the last audit, if there was one.
    pub(super) fn of(stream: &StreamStatus) -> Option<Self> {
        let (audit, age) = (stream.audit.as_ref()?, stream.audit_age?);
        let outcome = match &audit.result {
            Ok(report) => Outcome::Compared(Compared::of(report)),
            Err(failure) => Outcome::Failed { failure: shown_failure(failure) },
        };
        Some(Self {
            result: audit.result_name(),
            date: audit.date.to_string(),
            age_seconds: seconds(age),
            took_seconds: seconds(audit.took),
            outcome,
            help: audit.help().map(|help| Printable::new(help).to_string()),
        })
    }
}

impl Compared {
    fn of(report: &AuditReport) -> Self {
        let AuditReport { objects, missing, extra, stale, undecodable, .. } = *report;
        let differences = report.differences.iter().take(NAMED).map(DifferenceLine::of).collect();
        Self { version: shown(&report.version), objects, missing, extra, stale, undecodable, differences }
    }

    /// How many differences have no line.
    pub(super) fn unnamed(&self) -> usize {
        (self.missing + self.extra + self.stale).saturating_sub(self.differences.len())
    }
}

impl DifferenceLine {
    fn of(difference: &Difference) -> Self {
        Self {
            key: Printable::new(&difference.key).to_string(),
            kind: difference.kind().name(),
            server: difference.server.as_ref().map(shown),
            store: difference.store.as_ref().map(shown),
        }
    }
}

/// Without the message of a panic.
fn shown_failure(failure: &AuditFailure) -> String {
    match failure {
        AuditFailure::Panicked(_) => PANICKED.to_owned(),
        failure => Printable::new(failure).to_string(),
    }
}

fn shown(version: &Version) -> String {
    Printable::new(version).to_string()
}
