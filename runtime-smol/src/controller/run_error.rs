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
    /// The time to [drain](super::Reconciler::drain) was over, and reconciles were still running. They were dropped,
    /// with their requests.
    NotDrained {
        /// The time that they had.
        grace: Duration,
        /// Their keys.
        running: Vec<Key>,
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
            Self::NotDrained { grace, running } => {
                write!(f, "not drained within {grace:?}; reconciles were dropped:")?;
                running.iter().take(NAMED).try_for_each(|key| write!(f, " {}", Printable::new(key.as_str())))?;
                if running.len() > NAMED { write!(f, " … ({} keys)", running.len()) } else { Ok(()) }
            }
            Self::System(why) | Self::Panicked(why) => write!(f, "{}", Printable::new(why)),
        }
    }
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
        let running = (0..12).map(|n| Key::new(Some("web"), &n.to_string())).collect();
        let text = RunError::NotDrained { grace: Duration::from_secs(30), running }.to_string();
        assert!(text.starts_with("not drained within 30s; reconciles were dropped: web/0 web/1 "), "{text}");
        assert!(text.ends_with(" web/9 … (12 keys)"), "{text}");
    }
}
