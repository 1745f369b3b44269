use super::report::{write_keys, write_left};
use crate::election::write_reason;
use crate::informers::{StreamStatus, StreamsNotSynced};
use core::fmt;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::controller::KeyReport;
use listwatch_core::election::StopReason;
use listwatch_core::text::Printable;

/// The reason why a controller did not start, or did not end as it should. Its `Debug` is its `Display`, so a `main`
/// that returns it prints one readable message.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// The controller cannot run as it was configured.
    Config(String),
    /// The first state of some sources did not arrive, so nothing was reconciled.
    NotSynced {
        /// Their streams that have no first state, each with its last failure and a command that may
        /// [help](StreamStatus::help).
        streams: Vec<StreamStatus>,
    },
    /// A source ended while the controller ran.
    SourceEnded {
        /// The source, such as `deployments.apps in namespace web`.
        source: String,
    },
    /// The time to [drain](super::Reconciler::drain) was over, and reconciles were still running.
    NotDrained {
        /// The time that they had.
        grace: Duration,
        /// The keys whose reconcile was dropped, with its requests.
        dropped: Vec<Key>,
        /// The keys whose reconcile still blocked its thread 100 ms later, or waited on such a thread. It is dropped
        /// when the thread is free. With an election, also those whose [blocking](super::Context::blocking) work went on.
        /// The lease is not released then, and expires.
        blocked: Vec<Key>,
    },
    /// The term of this replica is over, and its reconciles were dropped. Started again, it is a candidate again.
    LeaderElectionLost {
        /// The namespace and the name of the lease.
        lease: String,
        /// Why the term is over.
        reason: StopReason,
    },
    /// The [world](crate::World) ended, and should not have: a recording has an error.
    World(String),
    /// The [world](crate::World) had not ended after the longest time that it [allows](crate::World::at_most).
    Endless {
        /// That time.
        after: Duration,
        /// Whether it was given an end, which did not come.
        has_end: bool,
        /// The keys that were not done, and how each stood.
        left: Vec<KeyReport<Key>>,
    },
    /// A controller that a tape drove did not make the writes of the tape, or made others.
    #[cfg(feature = "file")]
    Diverged(Box<super::Findings>),
    /// The system started no thread, or reports no signals.
    System(String),
    /// A thread of the controller panicked, outside of the program's own functions. The panic hook got the message.
    Panicked(String),
}

impl RunError {
    /// The error for sources that have no first state. Two of them may share an informer.
    pub(super) fn not_synced(sources: impl Iterator<Item = StreamsNotSynced>) -> Self {
        let mut streams: Vec<StreamStatus> = Vec::new();
        for stream in sources.flat_map(|source| source.streams) {
            if !streams.iter().any(|known| known.name == stream.name) {
                streams.push(stream);
            }
        }
        Self::NotSynced { streams }
    }
}

/// One stream, without the next attempt: there is none.
fn write_stream(f: &mut fmt::Formatter<'_>, stream: &StreamStatus) -> fmt::Result {
    write!(f, "{} did not sync: ", stream.name)?;
    match &stream.failure {
        Some(report) if stream.is_failing() => write!(f, "{}", Printable::new(&report.failure))?,
        _ => write!(f, "{}", stream.status)?,
    }
    if let Some(panic) = &stream.panic {
        write!(f, "; it panicked: {}", Printable::new(panic))?;
    }
    stream.help().map_or(Ok(()), |help| write!(f, "\nhelp: {help}"))
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(why) => write!(f, "the controller cannot run: {}", Printable::new(why)),
            Self::NotSynced { streams } => {
                for (place, stream) in streams.iter().enumerate() {
                    f.write_str(if place > 0 { "\n" } else { "" })?;
                    write_stream(f, stream)?;
                }
                Ok(())
            }
            Self::SourceEnded { source } => {
                write!(f, "the informer of {} was stopped", Printable::new(source))
            }
            Self::NotDrained { grace, dropped, blocked } => {
                write!(f, "not drained within {grace:?}")?;
                write_keys(f, "reconciles were dropped", dropped)?;
                write_keys(f, "reconciles still block their threads", blocked)
            }
            Self::LeaderElectionLost { lease, reason } => {
                write!(f, "leader election lost, lease {}: ", Printable::new(lease))?;
                write_reason(f, reason)
            }
            Self::Endless { after, has_end, left } => {
                f.write_str(match has_end {
                    true => "the end of the world, World::until, did not come",
                    false => "the world has no end; give it one by World::lasting or World::until",
                })?;
                write!(f, " (World::at_most, {after:?}); ")?;
                write_left(f, left)
            }
            #[cfg(feature = "file")]
            Self::Diverged(findings) => findings.fmt(f),
            Self::World(why) | Self::System(why) | Self::Panicked(why) => write!(f, "{}", Printable::new(why)),
        }
    }
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for RunError {}

/// A cluster whose configuration cannot be used.
#[cfg(feature = "http")]
impl From<listwatch_transport_http::ConfigError> for RunError {
    fn from(error: listwatch_transport_http::ConfigError) -> Self {
        Self::Config(error.to_string())
    }
}

/// A recording that cannot be played.
#[cfg(feature = "file")]
impl From<listwatch_transport_file::CaptureError> for RunError {
    fn from(error: listwatch_transport_file::CaptureError) -> Self {
        Self::Config(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_keys_the_first_are_named_and_all_are_counted() {
        let dropped = (0..12).map(|n| Key::new(Some("web"), &n.to_string())).collect();
        let text = RunError::NotDrained { grace: Duration::from_secs(30), dropped, blocked: Vec::new() }.to_string();
        assert!(text.starts_with("not drained within 30s; reconciles were dropped: web/0 web/1 "), "{text}");
        assert!(text.ends_with(" web/9 … (12 keys)"), "{text}");
    }

    #[test]
    fn reconciles_that_blocked_their_threads_were_said_to_be_dropped() {
        let (dropped, blocked) = (["web/a".into()].to_vec(), ["web/b".into(), "web/c".into()].to_vec());
        let error = RunError::NotDrained { grace: Duration::from_secs(1), dropped, blocked };
        let text =
            "not drained within 1s; reconciles were dropped: web/a; reconciles still block their threads: web/b web/c";
        assert_eq!(error.to_string(), text);
    }
}
