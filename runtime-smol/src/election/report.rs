//! What the operator and the program are told of an election.

#[cfg(feature = "tracing")]
use crate::traced::{ELECTION, event_at, told};
use core::fmt;
use listwatch_core::api::{ApiError, RequestLine};
use listwatch_core::election::{ElectionConfigError, FencingToken, StopReason};
use listwatch_core::reflector::FailureReport;
use listwatch_core::text::Printable;
#[cfg(feature = "tracing")]
use tracing::Level;

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

/// For the subscriber of the program.
#[cfg(feature = "tracing")]
impl ElectionReport<'_> {
    /// Tells it; of a controller, with its name. False if nobody has heard of it.
    pub(crate) fn trace(&self, controller: Option<&str>, lease: &str) -> bool {
        told(|| {
            let (level, name) = self.kind();
            event_at!(
                level,
                target: ELECTION,
                controller = controller.map(|name| display(Printable::new(name))),
                lease = display(Printable::new(lease)),
                report = name,
                "{}",
                Printable::new(self)
            );
        })
    }

    fn kind(&self) -> (Level, &'static str) {
        match self {
            Self::Leader { .. } => (Level::INFO, "leader"),
            Self::Started { .. } => (Level::INFO, "started"),
            Self::Stopping { reason: StopReason::Asked } => (Level::INFO, "stopping"),
            Self::Stopping { .. } => (Level::ERROR, "lost"),
            Self::Ended { .. } => (Level::INFO, "ended"),
            Self::Failed { .. } => (Level::WARN, "failed"),
            Self::NotWatched { .. } => (Level::WARN, "not_watched"),
            Self::GivenUp { .. } => (Level::WARN, "given_up"),
            Self::Panicked { .. } => (Level::ERROR, "panicked"),
        }
    }
}

#[cfg(not(feature = "tracing"))]
impl ElectionReport<'_> {
    pub(crate) fn trace(&self, _controller: Option<&str>, _lease: &str) -> bool {
        false
    }
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

/// Why an election did not begin, or ended although the program did not ask for that.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElectionError {
    /// The configuration cannot be used.
    Config(ElectionConfigError),
    /// The lease has no namespace: neither a pod nor a kubeconfig says one.
    NoNamespace,
    /// The term was lost.
    Lost(StopReason),
    /// The leader's work panicked with this message.
    Panicked(String),
}

impl From<ElectionConfigError> for ElectionError {
    fn from(error: ElectionConfigError) -> Self {
        Self::Config(error)
    }
}

impl fmt::Display for ElectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "the election cannot begin: {error}"),
            Self::NoNamespace => f.write_str(
                "the election cannot begin: the world says no namespace for the lease; set one by Election::namespace",
            ),
            Self::Lost(reason) => {
                f.write_str("leader election lost: ")?;
                write_reason(f, reason)
            }
            Self::Panicked(message) => write!(f, "the leader's work panicked: {}", Printable::new(message)),
        }
    }
}

impl core::error::Error for ElectionError {}

/// What a candidate does after it has lost its term (client-go's `Run` ends, and so do the programs that call it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenLost {
    /// It ends, with an error. So the program starts again, and nothing that it knew under the old term is left. This is
    /// the default, as in client-go and controller-runtime.
    #[default]
    End,
    /// It is a candidate again. The program answers for what it keeps in its memory: another leader may have changed the
    /// cluster meanwhile, and what lies outside of it.
    Rejoin,
}

/// Whether work has to stop at once.
pub(crate) fn is_lost(reason: &StopReason) -> bool {
    *reason != StopReason::Asked
}

/// Writes why a term is over.
pub(crate) fn write_reason(f: &mut fmt::Formatter<'_>, reason: &StopReason) -> fmt::Result {
    match reason {
        StopReason::Asked => f.write_str("it was asked to stop"),
        StopReason::Expired => f.write_str("no renewal succeeded within the renew deadline"),
        StopReason::Taken { by: Some(holder) } => write!(f, "{} holds the lease now", Printable::new(holder)),
        StopReason::Taken { by: None } => f.write_str("another client changed the lease"),
        _ => f.write_str("the term is over"),
    }
}
