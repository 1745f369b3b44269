//! What a controller tells its operator.

use super::error::{Error, write_keys, write_left};
use crate::audit::StreamAudit;
use crate::election::ElectionReport;
#[cfg(feature = "file")]
use crate::election::is_lost;
#[cfg(feature = "file")]
use crate::informers::DumpCause;
use crate::informers::{StreamError, StreamsNotSynced};
#[cfg(feature = "tracing")]
use crate::traced::{CONTROLLER, event_at, told};
use core::fmt;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::controller::{KeyReport, WriteLoop};
use listwatch_core::decode::DecodeError;
use listwatch_core::queue::{Finished, Outcome};
use listwatch_core::recorder::{RecorderCounts, RecorderProblem};
use listwatch_core::reflector::FailureReport;
use listwatch_core::text::{Counted, Printable};
use std::path::Path;
#[cfg(feature = "tracing")]
use tracing::{Level, event};

/// Something that a controller's operator should know. It goes to standard error, one line each, unless
/// [`on_report`](super::Reconciler::on_report) or [`World::on_report_line`](crate::World::on_report_line) sets another
/// function.
///
/// Standard error gets the 1st, 2nd, 4th, 8th and so on of the same message about the same key or source, with a count.
/// After ten minutes without it, the message is new again. `on_report` gets every one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Report<'a> {
    /// A reconcile failed.
    Failed {
        /// The key that was reconciled.
        key: &'a Key,
        /// The reason.
        error: &'a Error,
        /// When the key is reconciled again. If it waits for its writes, the latest end of that wait.
        next: Finished,
        /// The same from now; `None` if that is not known.
        retry_in: Option<Duration>,
        /// For how long the key waits at most until the writes of its reconcile are shown. The next attempt is not
        /// before that, nor before the end of its back-off unless the key changes. `None` if it waits for none.
        held_for: Option<Duration>,
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
    /// A reconcile blocks its thread, and holds up the others of that thread: it computes, or calls what blocks. This is
    /// told within a second, while it goes on, and again each time that its time has doubled.
    /// [`Context::blocking`](super::Context::blocking) runs such work on a thread of its own. Under a simulated clock, it is
    /// not told.
    Blocking {
        /// The key that is reconciled.
        key: &'a Key,
        /// The least time for which the thread has been blocked.
        after: Duration,
    },
    /// A mapper or a predicate panicked over an object, and the stream goes on. The keys of a mapper that panicked are not
    /// known, so all keys of the own kind are reconciled within a minute. If a predicate panicked, the update counts.
    MapperPanicked {
        /// The source, such as `configmaps` or `deployments.apps in namespace web`.
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
        /// The stream, as in its [status](crate::informers::StreamStatus): `configmaps in namespace web`.
        source: &'a str,
        /// The failure, and when the next attempt is.
        failure: &'a FailureReport,
        /// A command or a step that may help.
        help: Option<String>,
    },
    /// A source's stream that [failed](Self::SourceFailed) has recovered.
    SourceRecovered {
        /// The stream, as in its [status](crate::informers::StreamStatus).
        source: &'a str,
        /// The time since the first report of the failure.
        after: Duration,
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
    /// The controller writes an object without an end: each write leads to the next one, undoes a change of another client,
    /// or changes nothing. [`loops`](listwatch_core::controller::loops) has the rules. It is told once, until the object was
    /// written no more in this way for ten minutes.
    WriteLoop {
        /// The key whose reconcile wrote.
        key: &'a Key,
        /// The object, such as `Foo web/a`.
        about: &'a str,
        /// How often it was written, and the fields.
        found: &'a WriteLoop,
    },
    /// An object of a source could not be decoded. Its last good state stays. An object without one is not in the cache,
    /// so no reconcile sees it.
    Undecodable {
        /// The source, such as `configmaps` or `deployments.apps in namespace web`.
        source: &'a str,
        /// The error.
        error: &'a DecodeError,
        /// How many of the source could not be decoded up to now.
        count: u64,
    },
    /// An [audit](super::Reconciler::audit_every) has found that a cache differs from the server, or could not compare
    /// it. Or the cache is clean again. Other clean audits are not reported.
    Audited {
        /// The stream, and what the audit has found.
        audit: &'a StreamAudit,
    },
    /// The sources of the controller have synced, and it leads if it has an election. So its reconciles begin.
    Started {
        /// The time since its begin.
        after: Duration,
        /// The file that it is [recorded to](crate::World::recorded_to), if it is.
        tape: Option<&'a Path>,
    },
    /// The [election](super::Reconciler::lead_by) of the controller: who leads, and what failed.
    Election {
        /// The namespace and the name of the lease.
        lease: &'a str,
        /// What has happened.
        report: &'a ElectionReport<'a>,
    },
    /// Something about the [shards](super::Reconciler::shards) of the controller.
    #[cfg(feature = "shards")]
    Shards {
        /// What has happened.
        report: &'a crate::shards::ShardReport<'a>,
    },
    /// A term was lost, and some of its work goes on: reconciles that block their thread, or
    /// [blocking](super::Context::blocking) work. Until its end, a replica that [rejoins](crate::election::WhenLost::Rejoin)
    /// is no candidate.
    StillWorking {
        /// The keys whose work goes on.
        keys: &'a [Key],
        /// The time since the loss.
        after: Duration,
    },
    /// An Event could not be written: the server refused it, or it could not be reached for long.
    EventNotWritten {
        /// The object that it was about, and the last failure.
        problem: &'a RecorderProblem,
    },
    /// The controller has ended, and some of its Events are lost.
    EventsLost {
        /// What became of the occurrences.
        counts: &'a RecorderCounts,
        /// False if more was to be written, and the time for it was over.
        is_flushed: bool,
    },
    /// The controller of a member of a [fleet](super::Fleet) has ended, and is made anew.
    #[cfg(feature = "fleet")]
    MemberEnded {
        /// The name of the member.
        member: &'a str,
        /// Why it ended.
        why: &'a str,
        /// The time until it is made anew.
        retry_in: Duration,
    },
    /// The controller has ended before its sources had synced.
    NeverStarted,
    /// The controller has ended, and another candidate led all the time.
    NeverLed,
    /// The controller has ended, and these keys are not done, or were requeued for later.
    Ended {
        /// Each key, and how it was left.
        left: &'a [KeyReport<Key>],
    },
    /// The replay of a tape has ended.
    #[cfg(feature = "file")]
    Replayed {
        /// What it found.
        findings: &'a super::Findings,
    },
    /// A reconcile [warned](super::Context::warn), or the controller did. A server's header `Warning` has the reason
    /// `ServerWarning`, and is told once for each kind and text.
    Warning {
        /// The key that is reconciled.
        key: &'a Key,
        /// The object that it is about, such as `Deployment web/a`; `None` for the key itself.
        about: Option<&'a str>,
        /// The reason in one word, for programs.
        reason: &'a str,
        /// The message, for operators.
        message: &'a str,
    },
}

/// The function that gets the reports, with the controller's name.
pub(super) type OnReport = Box<dyn Fn(&str, &Report<'_>) + Send + Sync>;

impl Report<'_> {
    /// The key or source, and the message without what changes from one time to the next. `None` for a report whose
    /// repeats are not folded.
    pub(super) fn message(&self) -> Option<(String, String)> {
        let (about, message) = match self {
            Self::Failed { key, error, .. } => (key.to_string(), error.to_string()),
            Self::Panicked { key, message } => (key.to_string(), (*message).to_owned()),
            Self::Overdue { key, .. } => (key.to_string(), "overdue".to_owned()),
            Self::Blocking { key, .. } => (key.to_string(), "blocking".to_owned()),
            Self::MapperPanicked { key, message, .. } => (key.to_string(), (*message).to_owned()),
            Self::SourceFailed { source, failure, .. } => ((*source).to_owned(), failure.failure.to_string()),
            Self::WriteTimedOut { key, written } => (key.to_string(), format!("late {written}")),
            Self::Undecodable { source, error, .. } => ((*source).to_owned(), error.to_string()),
            Self::Warning { key, about, reason, message } => {
                (key.to_string(), format!("{} {reason}: {message}", about.unwrap_or_default()))
            }
            Self::EventNotWritten { problem } => ("events".to_owned(), problem.error.to_string()),
            Self::Audited { audit } => {
                (audit.name.to_string(), audit.result.as_ref().map_or_else(ToString::to_string, ToString::to_string))
            }
            #[cfg(feature = "fleet")]
            Self::MemberEnded { member, why, .. } => ((*member).to_owned(), (*why).to_owned()),
            _ => return None,
        };
        Some((about, message))
    }
}

/// The longest report that a subscriber is told, in characters.
#[cfg(feature = "tracing")]
const LONGEST_TRACED: usize = 4096;

/// For the subscriber of the program.
#[cfg(feature = "tracing")]
impl Report<'_> {
    /// Tells it; at the end of a reconcile with the time that it took. False if nobody has heard of it.
    pub(super) fn trace(&self, controller: &str, took: Option<Duration>) -> bool {
        if let Self::Election { lease, report } = self {
            return report.trace(Some(controller), lease);
        }
        told(|| {
            let (level, name) = self.kind();
            let retry_in = if let Self::Failed { retry_in, .. } = self { *retry_in } else { None };
            event_at!(
                level,
                target: CONTROLLER,
                controller = display(Printable::new(controller)),
                key = self.key().map(|key| display(Printable::new(key.as_str()))),
                report = took.is_none().then_some(name),
                result = took.is_some().then_some(name),
                duration_s = took.map(|took| took.as_secs_f64()),
                retry_in_s = retry_in.map(|wait| wait.as_secs_f64()),
                "{}",
                Printable::new(self).at_most(LONGEST_TRACED)
            );
        })
    }

    /// What a stream tells by itself is told again in detail alone.
    fn kind(&self) -> (Level, &'static str) {
        match self {
            Self::Failed { next: Finished::GaveUp, .. } => (Level::ERROR, "failed"),
            Self::Failed { .. } => (Level::WARN, "failed"),
            Self::Panicked { .. } => (Level::ERROR, "panicked"),
            Self::Overdue { .. } => (Level::WARN, "overdue"),
            Self::Blocking { .. } => (Level::WARN, "blocking"),
            Self::MapperPanicked { .. } => (Level::ERROR, "mapper_panicked"),
            Self::DropPanicked { .. } => (Level::ERROR, "drop_panicked"),
            Self::SourceFailed { .. } => (Level::DEBUG, "source_failed"),
            Self::SourceRecovered { .. } => (Level::INFO, "source_recovered"),
            Self::SourceNotSynced { .. } => (Level::WARN, "source_not_synced"),
            Self::Undecodable { .. } => (Level::DEBUG, "undecodable"),
            Self::Audited { .. } => (Level::DEBUG, "audited"),
            Self::WriteTimedOut { .. } => (Level::WARN, "write_timed_out"),
            Self::WriteLoop { .. } => (Level::WARN, "write_loop"),
            Self::Started { .. } => (Level::INFO, "started"),
            Self::StillWorking { .. } => (Level::WARN, "still_working"),
            Self::Election { .. } => (Level::INFO, "election"),
            #[cfg(feature = "fleet")]
            Self::MemberEnded { .. } => (Level::WARN, "member_ended"),
            #[cfg(feature = "shards")]
            Self::Shards { report } if report.is_information() => (Level::INFO, "shards"),
            #[cfg(feature = "shards")]
            Self::Shards { .. } => (Level::WARN, "shards"),
            Self::NeverStarted => (Level::WARN, "never_started"),
            Self::NeverLed => (Level::INFO, "never_led"),
            Self::Ended { left } if left.iter().all(|key| key.state.is_requeued()) => (Level::INFO, "ended"),
            Self::Ended { .. } => (Level::WARN, "ended"),
            #[cfg(feature = "file")]
            Self::Replayed { .. } => (Level::INFO, "replayed"),
            Self::EventNotWritten { .. } => (Level::WARN, "event_not_written"),
            Self::EventsLost { .. } => (Level::WARN, "events_lost"),
            Self::Warning { .. } => (Level::WARN, "warning"),
        }
    }

    fn key(&self) -> Option<&Key> {
        match self {
            Self::Failed { key, .. }
            | Self::Panicked { key, .. }
            | Self::Overdue { key, .. }
            | Self::Blocking { key, .. }
            | Self::MapperPanicked { key, .. }
            | Self::WriteTimedOut { key, .. }
            | Self::WriteLoop { key, .. }
            | Self::Warning { key, .. } => Some(key),
            _ => None,
        }
    }
}

#[cfg(not(feature = "tracing"))]
impl Report<'_> {
    pub(super) fn trace(&self, _controller: &str, _took: Option<Duration>) -> bool {
        false
    }
}

/// Tells that a reconcile has ended which is no failure. Without an outcome, it was dropped.
#[cfg(feature = "tracing")]
pub(super) fn ended(outcome: Option<Outcome>, took: Duration) {
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

#[cfg(feature = "tracing")]
fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::RequeueAfter(_) => "requeue",
        Outcome::Terminal => "terminal",
        Outcome::Panicked => "panicked",
        _ => "retry",
    }
}

#[cfg(not(feature = "tracing"))]
pub(super) fn ended(_outcome: Option<Outcome>, _took: Duration) {}

#[cfg(feature = "file")]
impl Report<'_> {
    /// Why a flight recorder dumps what led to it, if it does, and the key or the lease. A message may quote a Secret.
    pub(super) fn dump_cause(&self) -> Option<(DumpCause, &str)> {
        match self {
            Self::Panicked { key, .. } | Self::MapperPanicked { key, .. } => Some((DumpCause::Panic, key.as_str())),
            Self::Election { lease, report: ElectionReport::Stopping { reason } } if is_lost(reason) => {
                Some((DumpCause::Lease, *lease))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { key, error, next, retry_in, held_for } => {
                write!(f, "{}: failed", Printable::new(key.as_str()))?;
                match held_for {
                    Some(most) => write_held(f, *most)?,
                    None => write_next(f, *next, *retry_in)?,
                }
                write!(f, ": {}", Printable::new(error))?;
                error.help().iter().try_for_each(|help| write!(f, "; {}", Printable::new(help)))
            }
            Self::Panicked { key, message } => {
                write!(f, "{}: the reconcile panicked: {}", Printable::new(key.as_str()), Printable::new(message))
            }
            Self::Overdue { key, after } => {
                write!(f, "{}: the reconcile was dropped after {after:?}", Printable::new(key.as_str()))
            }
            Self::Blocking { key, after } => {
                let key = Printable::new(key.as_str());
                write!(f, "{key}: the reconcile has blocked its thread for {after:?}; `cx.blocking` gives it another")
            }
            Self::MapperPanicked { source, key, message } => {
                let (source, key) = (Printable::new(source), Printable::new(key.as_str()));
                write!(f, "the mapper of {source} panicked over {key}: {}", Printable::new(message))
            }
            Self::DropPanicked { source, message } => {
                let (source, message) = (Printable::new(source), Printable::new(message));
                write!(f, "the drop of an object of {source} panicked: {message}")
            }
            Self::SourceFailed { source, failure, help } => {
                write!(f, "{}: {failure}", Printable::new(source))?;
                help.iter().try_for_each(|help| write!(f, "; {help}"))
            }
            Self::SourceRecovered { source, after } => {
                write!(f, "{}: recovered after {:?}", Printable::new(source), rounded_up(*after))
            }
            Self::SourceNotSynced { error, .. } => Printable::new(error).fmt(f),
            Self::Undecodable { source, error, count } => {
                let (source, error) = (Printable::new(source), StreamError::Undecodable(error));
                write!(f, "{source}: {error}; {} so far", Counted(*count, "object", "objects"))
            }
            Self::Started { after, tape } => {
                f.write_str("started; its sources have synced")?;
                if !after.is_zero() {
                    write!(f, " after {:?}", rounded_up(*after))?;
                }
                tape.map_or(Ok(()), |tape| write!(f, "; it is recorded to {}", Printable::new(tape.display())))
            }
            #[cfg(feature = "file")]
            Self::Replayed { findings } if findings.is_same() => findings.counts().fmt(f),
            // The error that `run` returns has the counts.
            #[cfg(feature = "file")]
            Self::Replayed { findings } => {
                let reconciles = Counted(findings.reconciles, "reconcile, which differs", "reconciles, which differ");
                write!(f, "replayed {reconciles}")
            }
            Self::Election { lease, report } => write!(f, "lease {}: {report}", Printable::new(lease)),
            #[cfg(feature = "shards")]
            Self::Shards { report } => write!(f, "shards: {report}"),
            Self::StillWorking { keys, after } => {
                write!(f, "{:?} after the loss of its term, this replica is no candidate", rounded_up(*after))?;
                write_keys(f, "its work goes on", keys)
            }
            Self::EventNotWritten { problem } => problem.fmt(f),
            Self::Audited { audit } => audit.fmt(f),
            Self::EventsLost { counts, is_flushed } => write_lost(f, counts, *is_flushed),
            #[cfg(feature = "fleet")]
            Self::MemberEnded { member, why, retry_in } => {
                let (member, why) = (Printable::new(member), Printable::new(why));
                write!(
                    f,
                    "member {member}: its controller ended, the next one comes in {:?}: {why}",
                    rounded_up(*retry_in)
                )
            }
            Self::NeverLed => f.write_str("ended; it never led"),
            Self::NeverStarted => f.write_str("ended before its sources had synced"),
            Self::Ended { left } => {
                f.write_str("ended; ")?;
                write_left(f, left)
            }
            Self::WriteTimedOut { key, written } => {
                let (key, written) = (Printable::new(key.as_str()), Printable::new(written.as_str()));
                write!(f, "{key}: the watch has not shown the write of {written} in time")
            }
            Self::WriteLoop { key, about, found } => {
                let (key, about) = (Printable::new(key.as_str()), Printable::new(about));
                write!(f, "{key}: {about} is written without an end: {found}")
            }
            Self::Warning { key, about, reason, message } => {
                let (reason, message) = (Printable::new(reason), Printable::new(message));
                write!(f, "{}: ", Printable::new(key.as_str()))?;
                about.map_or(Ok(()), |about| write!(f, "{}: ", Printable::new(about)))?;
                write!(f, "{reason}: {message}")
            }
        }
    }
}

/// When a key that failed is reconciled again.
fn write_next(f: &mut fmt::Formatter<'_>, next: Finished, retry_in: Option<Duration>) -> fmt::Result {
    match (next, retry_in) {
        (Finished::GaveUp, _) => f.write_str(", parked until it changes"),
        (Finished::Closed, _) => f.write_str(", not retried: the controller ends"),
        (_, Some(Duration::ZERO)) => f.write_str(", next attempt at once"),
        (_, Some(wait)) => write!(f, ", next attempt in {:?}", rounded_up(wait)),
        _ => Ok(()),
    }
}

/// When a key that failed and waits for its writes is reconciled again: the end of the wait is not known yet.
fn write_held(f: &mut fmt::Formatter<'_>, most: Duration) -> fmt::Result {
    write!(f, ", not retried before its writes are shown ({:?} at most)", rounded_up(most))
}

/// What became of the occurrences of a controller that has ended.
fn write_lost(f: &mut fmt::Formatter<'_>, counts: &RecorderCounts, is_flushed: bool) -> fmt::Result {
    let RecorderCounts { recorded, dropped, refused, failed, .. } = counts;
    write!(f, "not all of {} became Events: ", Counted(*recorded, "occurrence", "occurrences"))?;
    write!(f, "{dropped} found no room, the server refused {refused}, and {failed} could not be sent")?;
    if is_flushed { Ok(()) } else { f.write_str("; the last ones were not written in time") }
}

/// In whole milliseconds, or in whole seconds if it is longer than one.
fn rounded_up(time: Duration) -> Duration {
    let millis = u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    if millis < 1000 { Duration::from_millis(millis) } else { Duration::from_secs(millis.div_ceil(1000)) }
}
