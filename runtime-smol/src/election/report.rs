use super::lost::write_reason;
use core::fmt;
use listwatch_core::api::{ApiError, RequestLine};
use listwatch_core::election::{FencingToken, StopReason};
use listwatch_core::reflector::FailureReport;
use listwatch_core::text::Printable;

/// Something about an election that its operator should know. Its `Display` is a line without the name of the lease.
#[derive(Debug)]
#[non_exhaustive]
pub enum ElectionReport<'a> {
    /// The holder of the lease changed; `None` if it has none. It may be this candidate. The text comes from the server.
    #[doc(alias = "OnNewLeader")]
    Leader {
        /// The holder, as `spec.holderIdentity` has it.
        holder: Option<&'a str>,
    },
    /// This candidate leads.
    #[doc(alias = "OnStartedLeading")]
    Started {
        /// The token of its term.
        token: &'a FencingToken,
    },
    /// Work has to stop.
    Stopping {
        /// The reason.
        reason: &'a StopReason,
    },
    /// The candidacy has ended.
    #[doc(alias = "OnStoppedLeading")]
    Ended {
        /// Whether the lease was left free.
        released: bool,
    },
    /// A request failed. The candidate retries. The same failure is told once, until a request of its kind succeeds.
    Failed {
        /// The failure.
        error: &'a ApiError,
        /// What may help.
        help: Option<String>,
    },
    /// The server does not let the lease be watched, so the candidate reads it every few seconds.
    NotWatched {
        /// The denial.
        failure: &'a FailureReport,
    },
    /// Writes were open when the time for the last ones was over. They were aborted, and the lease is released. The server
    /// may have made them.
    GivenUp {
        /// The writes.
        writes: &'a [RequestLine],
    },
    /// The work of the leader panicked. The lease is released.
    Panicked {
        /// The message of the panic.
        message: &'a str,
    },
}

/// How many writes a line names.
const SHOWN: usize = 5;

impl fmt::Display for ElectionReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leader { holder: Some(holder) } => write!(f, "{} leads", Printable::new(holder)),
            Self::Leader { holder: None } => f.write_str("nobody leads"),
            Self::Started { token } => write!(f, "this candidate leads, in term {}", Printable::new(token)),
            Self::Stopping { reason } => {
                f.write_str("this candidate stops to lead: ")?;
                write_reason(f, reason)
            }
            Self::Ended { released: true } => f.write_str("the candidacy has ended, and the lease is free"),
            Self::Ended { released: false } => f.write_str("the candidacy has ended"),
            Self::Failed { error, help } => {
                write!(f, "a request failed, and is retried: {}", Printable::new(error))?;
                help.iter().try_for_each(|help| write!(f, "; {}", Printable::new(help)))
            }
            Self::NotWatched { failure } => write!(f, "the lease is read every few seconds, not watched: {failure}"),
            Self::GivenUp { writes } => {
                f.write_str("writes have no answer, and are given up; the server may have made them: ")?;
                let [first, others @ ..] = writes else { return Ok(()) };
                write!(f, "{first}")?;
                others.iter().take(SHOWN - 1).try_for_each(|write| write!(f, ", {write}"))?;
                match others.len().saturating_sub(SHOWN - 1) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::Panicked { message } => write!(f, "the leader's work panicked: {}", Printable::new(message)),
        }
    }
}
