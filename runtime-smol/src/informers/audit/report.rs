//! What an audit has found, and how many there were.

use crate::names::StreamName;
#[cfg(feature = "tracing")]
use crate::traced::{REFLECTOR, event_at, selector, told};
use core::fmt;
use core::time::Duration;
use listwatch_core::api::ApiError;
use listwatch_core::audit::{AuditError, AuditReport, Verdict};
use listwatch_core::reflector::{FailureClass, Operation};
use listwatch_core::text::Printable;
use listwatch_core::time::WallTime;
use std::sync::Arc;
#[cfg(feature = "tracing")]
use tracing::Level;

/// One stream's part of a store, compared with a list.
///
/// [`Display`](fmt::Display) writes it in one line: `pods in namespace web: no drift at version 2453: 120 objects`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamAudit {
    /// The stream.
    pub name: StreamName,
    /// When the audit ended, by the world's date.
    pub date: WallTime,
    /// How long it took.
    pub took: Duration,
    /// What it has found, or why nothing was compared.
    pub result: Result<AuditReport, AuditFailure>,
}

impl StreamAudit {
    /// Whether the store had what the server had.
    pub fn is_clean(&self) -> bool {
        self.verdict() == Some(Verdict::Clean)
    }

    /// The result in a word: that of the [`Verdict`], or `failed`.
    pub fn result_name(&self) -> &'static str {
        self.verdict().map_or("failed", Verdict::name)
    }

    /// What an operator can do, unless the store is clean.
    pub fn help(&self) -> Option<String> {
        let check = |class| self.name.help(class, Operation::List);
        match (&self.result, self.verdict()) {
            (Ok(_), Some(Verdict::Drifted)) => {
                Some("an event was lost; the stream reads its whole state again".to_owned())
            }
            (Ok(_), Some(Verdict::Behind)) => {
                Some("the stream is slow or stuck; its own status says since when it has brought nothing".to_owned())
            }
            (Ok(_), _) => None,
            (Err(failure), _) => match failure.request() {
                Some(error) if error.is_forbidden() => check(FailureClass::Forbidden),
                Some(error) if error.is_not_found() => check(FailureClass::NotFound),
                Some(error) if error.is_unauthorized() => Some("are the credentials valid?".to_owned()),
                Some(error) if error.is_transient() => Some("audit again when the server answers".to_owned()),
                _ => None,
            },
        }
    }

    /// In how many objects the store differs at a version that it has reached.
    pub(in crate::informers) fn drift(&self) -> Option<usize> {
        let report = self.result.as_ref().ok()?;
        (report.verdict() == Verdict::Drifted).then(|| report.total())
    }

    fn verdict(&self) -> Option<Verdict> {
        self.result.as_ref().ok().map(AuditReport::verdict)
    }
}

/// For the subscriber of the program.
#[cfg(feature = "tracing")]
impl StreamAudit {
    /// Tells the result of an audit.
    pub(super) fn trace(&self) {
        let resource = self.name.resource();
        let found = self.result.as_ref().ok();
        let level = match found.map(AuditReport::verdict) {
            Some(Verdict::Clean) => Level::DEBUG,
            Some(Verdict::Drifted) => Level::ERROR,
            _ => Level::WARN,
        };
        told(|| {
            event_at!(
                level,
                target: REFLECTOR,
                resource = display(Printable::new(resource.path())),
                label_selector = selector(resource.label_selector()),
                field_selector = selector(resource.field_selector()),
                audit = self.result_name(),
                objects = found.map(|found| found.objects),
                missing = found.map(|found| found.missing),
                extra = found.map(|found| found.extra),
                stale = found.map(|found| found.stale),
                duration_s = self.took.as_secs_f64(),
                "{self}"
            );
        });
    }
}

impl fmt::Display for StreamAudit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Printable::new(&self.name))?;
        match &self.result {
            Ok(report) => report.fmt(f)?,
            Err(failure) => write!(f, "not compared: {failure}")?,
        }
        self.help().map_or(Ok(()), |help| write!(f, "; {}", Printable::new(help)))
    }
}

/// Why a store was not compared. A later audit may be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditFailure {
    /// The list could not be read, or has no order that the store can be compared by.
    NotRead(AuditError),
    /// The program's own code panicked with this message: a transport, or the drop of an object.
    Panicked(Arc<str>),
    /// The informer has ended: its last handle was dropped.
    Stopped,
    /// The world is a recording, which has no list but those that its informers get.
    Recording,
}

impl AuditFailure {
    /// The failure of a request, if one failed.
    pub fn request(&self) -> Option<&ApiError> {
        match self {
            Self::NotRead(AuditError::Failed(error)) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for AuditFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRead(error) => error.fmt(f),
            Self::Panicked(message) => write!(f, "the program's own code panicked: {}", Printable::new(message)),
            Self::Stopped => f.write_str("the informer has ended"),
            Self::Recording => f.write_str("the world is a recording, which has no list of another time"),
        }
    }
}

impl core::error::Error for AuditFailure {}

/// How many audits a stream had, by their results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuditCounts {
    by_result: [u64; RESULTS.len()],
    /// The last one that compared the store.
    compared: Option<Arc<StreamAudit>>,
}

/// The results that are counted.
const RESULTS: [&str; 4] = ["clean", "drifted", "behind", "failed"];

impl AuditCounts {
    /// An audit has ended.
    pub(in crate::informers) fn add(&mut self, audit: &Arc<StreamAudit>) {
        let place = RESULTS.iter().position(|known| *known == audit.result_name());
        place.into_iter().for_each(|place| self.by_result[place] += 1);
        if audit.result.is_ok() {
            self.compared = Some(Arc::clone(audit));
        }
    }

    /// The number of each result.
    #[cfg(feature = "metrics")]
    pub(crate) fn by_result(&self) -> Vec<(&'static str, u64)> {
        RESULTS.into_iter().zip(self.by_result).collect()
    }

    /// What the last audit found that compared the store. One that fails after it says nothing about the store.
    #[cfg(feature = "metrics")]
    pub(crate) fn found(&self) -> Option<&AuditReport> {
        self.compared.as_ref()?.result.as_ref().ok()
    }
}
