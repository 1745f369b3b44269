use crate::informers::{StreamStatus, StreamsNotSynced};
use core::fmt;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::text::Printable;

/// The reason why a controller did not start, or did not end as it should. Its `Debug` is its `Display`, so a `main`
/// that returns it prints one readable message.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// The controller cannot run as it was configured.
    Config(String),
    /// A source's first state did not arrive, so nothing was reconciled.
    NotSynced {
        /// The path of the source's resource.
        resource: String,
        /// The state of its watch, with the server's sentence.
        why: String,
        /// A command or a step that may help.
        help: Option<String>,
    },
    /// A source ended while the controller ran.
    SourceEnded {
        /// The path of the source's resource.
        resource: String,
    },
    /// The time to [drain](super::Reconciler::drain) was over, and reconciles were still running.
    NotDrained {
        /// The time that they had.
        grace: Duration,
        /// The keys whose reconcile was dropped, with its requests.
        dropped: Vec<Key>,
        /// The keys whose reconcile still blocked its thread 100 ms later, or waited on such a thread. It is dropped
        /// when the thread is free.
        blocked: Vec<Key>,
    },
    /// The system started no thread, or reports no signals.
    System(String),
    /// A thread of the controller panicked, outside of the program's own functions. The panic hook got the message.
    Panicked(String),
}

impl RunError {
    /// The error for a source that has no first state.
    pub(super) fn not_synced(resource: &str, error: &StreamsNotSynced) -> Self {
        let help = error.streams.iter().find_map(StreamStatus::help);
        Self::NotSynced { resource: resource.to_owned(), why: error.to_string(), help }
    }
}

/// How many keys a message names.
const NAMED: usize = 10;

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(why) => write!(f, "the controller cannot run: {}", Printable::new(why)),
            Self::NotSynced { resource, why, help } => {
                write!(f, "{} did not sync: {}", Printable::new(resource), Printable::new(why))?;
                help.iter().try_for_each(|help| write!(f, "\nhelp: {}", Printable::new(help)))
            }
            Self::SourceEnded { resource } => {
                write!(f, "the informer of {} was stopped", Printable::new(resource))
            }
            Self::NotDrained { grace, dropped, blocked } => {
                write!(f, "not drained within {grace:?}")?;
                write_keys(f, "reconciles were dropped", dropped)?;
                write_keys(f, "reconciles still block their threads", blocked)
            }
            Self::System(why) | Self::Panicked(why) => write!(f, "{}", Printable::new(why)),
        }
    }
}

fn write_keys(f: &mut fmt::Formatter<'_>, what: &str, keys: &[Key]) -> fmt::Result {
    if keys.is_empty() {
        return Ok(());
    }
    write!(f, "; {what}:")?;
    keys.iter().take(NAMED).try_for_each(|key| write!(f, " {}", Printable::new(key.as_str())))?;
    if keys.len() > NAMED { write!(f, " … ({} keys)", keys.len()) } else { Ok(()) }
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for RunError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_it_prints_a_sentence_and_the_help() {
        let error = RunError::NotSynced {
            resource: "/api/v1/pods".into(),
            why: "failing: forbidden (status 403)".into(),
            help: Some("kubectl auth can-i list pods".into()),
        };
        let text = "/api/v1/pods did not sync: failing: forbidden (status 403)\nhelp: kubectl auth can-i list pods";
        assert_eq!(format!("{error:?}"), text);
    }

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
