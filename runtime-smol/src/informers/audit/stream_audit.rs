use super::failure::AuditFailure;
use crate::informers::stream_name::StreamName;
use core::fmt;
use core::time::Duration;
use listwatch_core::audit::{AuditReport, Verdict};
use listwatch_core::reflector::{FailureClass, Operation};
use listwatch_core::text::Printable;
use listwatch_core::time::WallTime;

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
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.verdict() == Some(Verdict::Clean)
    }

    /// The result in a word: that of the [`Verdict`], or `failed`.
    #[must_use]
    pub fn result_name(&self) -> &'static str {
        self.verdict().map_or("failed", Verdict::name)
    }

    /// What an operator can do, unless the store is clean.
    #[must_use]
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
