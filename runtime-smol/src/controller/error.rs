//! The failures of a reconcile, of what acts on objects, and of a controller.

use crate::election::write_reason;
use crate::informers::{Collection, Found, StreamStatus, StreamsNotSynced};
use core::error::Error as StdError;
use core::fmt;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::api::ApiError;
use listwatch_core::change::ChangeError;
use listwatch_core::controller::{KeyReport, KeyState};
use listwatch_core::decode::Status;
use listwatch_core::election::StopReason;
use listwatch_core::queue::Outcome;
use listwatch_core::request::is_confidential;
use listwatch_core::text::{Counted, Printable};
use listwatch_core::transport::TransportError;

/// The result of a reconcile: an [`Outcome`], or the [`Error`] that it failed with.
pub type Reconciled = Result<Outcome, Error>;

/// The failure of a reconcile. Any error that is `Send + Sync` converts to it, so `?` works on it: those of other crates,
/// boxed ones, and `anyhow::Error`. A text does too: `Err("no such zone".into())`.
///
/// A `Box<dyn Error>` cannot leave its thread: write `.map_err(|error| error.to_string())?`.
///
/// The controller retries the key by its rate limiter. If the error is an [`ApiError`], or has one among its
/// [sources](StdError::source), three rules more apply:
///
/// - `Retry-After` of the answer is the least delay ([`ApiError::retry_after`]).
/// - A request without an answer, and a refusal that passes by itself, such as a conflict, a 429 or a 5xx, do not count
///   towards [`park_after`](super::Reconciler::park_after). [`REFUSALS`](crate::api::REFUSALS) lists them.
/// - A [terminal](Self::terminal) error is not retried: the key waits until it changes (controller-runtime
///   `reconcile.TerminalError`).
///
/// As with `anyhow`, this type is no [`StdError`] itself; [`as_dyn`](Self::as_dyn) is one.
///
/// ```
/// use listwatch::controller::Error;
///
/// fn replicas(text: &str) -> Result<u32, Error> {
///     Ok(text.parse()?)
/// }
///
/// fn boxed(text: &str) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
///     Ok(text.parse()?)
/// }
///
/// fn replicas_of_boxed(text: &str) -> Result<u32, Error> {
///     match boxed(text)? {
///         0 => Err("it wants no replicas".into()),
///         replicas => Ok(replicas),
///     }
/// }
///
/// assert_eq!(replicas_of_boxed("4").unwrap(), 4);
/// assert_eq!(replicas_of_boxed("0").unwrap_err().to_string(), "it wants no replicas");
/// assert_eq!(replicas("three").unwrap_err().to_string(), "invalid digit found in string");
/// assert!(Error::terminal("spec.replicas is negative").is_terminal());
/// ```
#[derive(Debug)]
pub struct Error {
    cause: Box<dyn StdError + Send + Sync>,
    is_terminal: bool,
}

/// How many errors of a chain are read.
const MAX_CHAIN: usize = 64;

impl Error {
    /// An error from a text, or from a boxed error.
    pub fn new(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { cause: cause.into(), is_terminal: false }
    }

    /// An error that no retry mends: the key is not retried, and is reconciled again when it changes.
    pub fn terminal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { cause: cause.into(), is_terminal: true }
    }

    /// Whether the key is not retried.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The delay that the server requests, if it does; see [`ApiError::retry_after`].
    pub fn retry_after(&self) -> Option<Duration> {
        self.find::<ApiError>().and_then(ApiError::retry_after)
    }

    /// The error as any other.
    pub fn as_dyn(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.cause
    }

    /// What an operator can do about a request for something that the server does not have.
    pub(super) fn help(&self) -> Option<String> {
        let refused = self.find::<ApiError>().filter(|error| error.is_not_found())?;
        let collection = Collection::of(&refused.request()?.path)?;
        if collection.subresource == Some("status") {
            let advice = "if the object exists, its kind has no subresource `status`: a CRD declares it for each version, by \
                          `subresources: {status: {}}`";
            return Some(advice.to_owned());
        }
        // If the object is missing, or the namespace, the answer has its name.
        let is_resource = refused.status().and_then(Status::name).is_none();
        is_resource.then(|| collection.help())
    }

    /// The outcome of a reconcile that failed so: that of the error of a request, if it has one.
    pub(super) fn outcome(&self) -> Outcome {
        if self.is_terminal {
            return Outcome::Terminal;
        }
        let unanswered = || self.find::<TransportError>().cloned().map(ApiError::from);
        self.find::<ApiError>()
            .map(Outcome::from)
            .or_else(|| unanswered().as_ref().map(Outcome::from))
            .unwrap_or(Outcome::Retry)
    }

    /// The cause and its sources, which may be endless.
    fn chain(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        let mut next: Option<&(dyn StdError + 'static)> = Some(&*self.cause);
        core::iter::from_fn(move || {
            let error = next?;
            next = error.source();
            Some(error)
        })
        .take(MAX_CHAIN)
    }

    /// The first error of this type among the cause and its sources.
    fn find<E: StdError + 'static>(&self) -> Option<&E> {
        self.chain().find_map(|error| error.downcast_ref())
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)?;
        let mut told = self.cause.to_string();
        // Some errors have the text of their source in their own.
        for source in self.chain().skip(1).map(ToString::to_string) {
            if !told.contains(&source) {
                write!(f, ": {source}")?;
                told = source;
            }
        }
        Ok(())
    }
}

/// The reason why a [`Context`](crate::controller::Context) did not act on an object. Unless it is [`Self::Api`], no
/// request was sent that changes anything.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ActError {
    /// The server refused the request, or did not answer.
    Api {
        /// The object.
        key: Key,
        /// The server's refusal, or what happened to the request.
        error: ApiError,
    },
    /// The change is one that the object's type cannot express without a loss.
    Change {
        /// The object.
        key: Key,
        /// The place in the object, and what to do.
        error: ChangeError,
    },
    /// The body or the owner does not fit the object. The text says why.
    Refused {
        /// The object.
        key: Key,
        /// The reason, and what to do.
        why: String,
    },
    /// The object exists, and the owner that was named does not control it (`ErrResourceExists` of client-go's sample
    /// controller).
    NotControlled {
        /// The object.
        key: Key,
        /// The kind of the object, or the path of its resource.
        kind: String,
        /// The owner that was named, such as `Foo web/a`.
        owner: String,
        /// The object that controls it, such as `Foo b`; `None` if none does.
        controller: Option<String>,
    },
    /// The owner is being deleted, so the garbage collector would delete what is created for it.
    OwnerTerminating {
        /// The object.
        key: Key,
        /// The owner, such as `Foo web/a`.
        owner: String,
    },
    /// The object was deleted, and another one has its name now.
    Replaced {
        /// The object.
        key: Key,
    },
}

impl ActError {
    /// The change of this object was refused.
    pub(super) fn of_change<T>(object: &Found<T>, error: ChangeError) -> Self {
        let is_secret = is_confidential(object.informer().resource().path());
        let error = if is_secret { error.without_values() } else { error };
        Self::Change { key: object.key().clone(), error }
    }

    pub(super) fn of_request(key: &Key, error: ApiError) -> Self {
        Self::Api { key: key.clone(), error }
    }

    pub(super) fn refused(key: &Key, why: impl Into<String>) -> Self {
        Self::Refused { key: key.clone(), why: why.into() }
    }

    /// The object.
    pub fn key(&self) -> &Key {
        match self {
            Self::Api { key, .. }
            | Self::Change { key, .. }
            | Self::Refused { key, .. }
            | Self::NotControlled { key, .. }
            | Self::OwnerTerminating { key, .. }
            | Self::Replaced { key } => key,
        }
    }

    /// The error of the request, if there was one.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Whether the object to create exists (409 `AlreadyExists`).
    pub fn is_already_exists(&self) -> bool {
        self.api().is_some_and(ApiError::is_already_exists)
    }

    /// Whether the server has another version of the object (409 `Conflict`).
    pub fn is_conflict(&self) -> bool {
        self.api().is_some_and(ApiError::is_conflict)
    }

    /// Whether the server has no such object (404).
    pub fn is_not_found(&self) -> bool {
        self.api().is_some_and(ApiError::is_not_found)
    }
}

impl fmt::Display for ActError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Printable::new(self.key().as_str()))?;
        match self {
            Self::Api { error, .. } => error.fmt(f),
            Self::Change { error, .. } => error.fmt(f),
            Self::Refused { why, .. } => Printable::new(why).fmt(f),
            Self::NotControlled { kind, owner, controller, .. } => {
                let (kind, owner) = (Printable::new(kind), Printable::new(owner));
                f.write_str("ErrResourceExists: ")?;
                match controller {
                    Some(other) => write!(f, "{} controls the {kind}, and {owner} does not", Printable::new(other)),
                    None => write!(f, "no object controls the {kind}; adopt it for {owner}, or choose another name"),
                }
            }
            Self::OwnerTerminating { owner, .. } => {
                write!(f, "{} is being deleted, and nothing is created for it any more", Printable::new(owner))
            }
            Self::Replaced { .. } => f.write_str("the object was deleted, and another one has its name"),
        }
    }
}

impl core::error::Error for ActError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Api { error, .. } => Some(error),
            Self::Change { error, .. } => Some(error),
            _ => None,
        }
    }
}

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

    pub(super) fn no_signals(error: std::io::Error) -> Self {
        Self::System(format!("the system reports no signals: {error}"))
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

/// How many keys a message names.
const NAMED: usize = 10;

pub(super) fn write_left(f: &mut fmt::Formatter<'_>, left: &[KeyReport<Key>]) -> fmt::Result {
    let (requeued, left): (Vec<_>, Vec<_>) = left.iter().partition(|report| report.state.is_requeued());
    match left.len() {
        0 => f.write_str("every key is done")?,
        keys => write!(f, "{} not done:", Counted(keys, "key is", "keys are"))?,
    }
    for report in left.iter().take(NAMED) {
        write!(f, " {} ({})", Printable::new(report.key.as_str()), state(report.state))?;
    }
    f.write_str(if left.len() > NAMED { " …" } else { "" })?;
    match requeued.len() {
        0 => Ok(()),
        keys => write!(f, "; {} requeued for later", Counted(keys, "key was", "keys were")),
    }
}

/// A part of a message that names keys, if there are any.
pub(super) fn write_keys(f: &mut fmt::Formatter<'_>, what: &str, keys: &[Key]) -> fmt::Result {
    if keys.is_empty() {
        return Ok(());
    }
    write!(f, "; {what}:")?;
    keys.iter().take(NAMED).try_for_each(|key| write!(f, " {}", Printable::new(key.as_str())))?;
    if keys.len() > NAMED { write!(f, " … ({} keys)", keys.len()) } else { Ok(()) }
}

fn state(state: KeyState) -> &'static str {
    match state {
        KeyState::Debounced { .. } | KeyState::Ready => "changed",
        KeyState::Running { .. } => "running",
        KeyState::Held { .. } => "waiting for its writes",
        KeyState::BackingOff { .. } => "backing off",
        KeyState::Parked => "parked",
        _ => "unfinished",
    }
}

#[cfg(test)]
mod tests {
    mod error {
        use super::super::*;
        use listwatch_core::Resource;
        use listwatch_core::api::{Api, ApiResponse};
        use listwatch_core::transport::TransportErrorKind;
        use serde_json::Value;

        /// An error of a program, around another.
        #[derive(Debug)]
        struct Around(ApiError);

        impl fmt::Display for Around {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the Deployment was not created")
            }
        }

        impl StdError for Around {
            fn source(&self) -> Option<&(dyn StdError + 'static)> {
                Some(&self.0)
            }
        }

        const WAIT: Duration = Duration::from_secs(7);

        fn refused(status: u16) -> ApiError {
            let response = ApiResponse::new(status, *b"no").with_retry_after(Some(WAIT));
            Api::<Value>::new(&Resource::new("/api/v1/pods")).get("a").read(&response).unwrap_err()
        }

        #[test]
        fn only_failures_that_say_nothing_about_the_object_are_transient() {
            for (status, outcome) in [(404, Outcome::RetryAfter(WAIT)), (503, Outcome::Transient(WAIT))] {
                assert_eq!(Error::from(refused(status)).outcome(), outcome, "{status}");
            }
            let unanswered = |kind| Error::from(TransportError::new(kind, "")).outcome();
            assert_eq!(unanswered(TransportErrorKind::Timeout), Outcome::Transient(Duration::ZERO));
            assert_eq!(unanswered(TransportErrorKind::Unsendable), Outcome::Retry);
            assert_eq!(Error::new("a text").outcome(), Outcome::Retry);
            assert_eq!(Error::terminal(refused(503)).outcome(), Outcome::Terminal);
        }

        /// An error that is its own source.
        #[derive(Debug)]
        struct Circle;

        impl fmt::Display for Circle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("round and round")
            }
        }

        impl StdError for Circle {
            fn source(&self) -> Option<&(dyn StdError + 'static)> {
                Some(self)
            }
        }

        #[test]
        fn the_sources_of_an_error_that_is_its_own_source_end() {
            let error = Error::from(Circle);
            assert!(error.chain().take(1000).count() < 1000);
            assert_eq!((error.to_string().as_str(), error.outcome()), ("round and round", Outcome::Retry));
        }

        #[test]
        fn a_refusal_counts_as_one_inside_of_another_error_too() {
            let error = Error::from(Around(refused(429)));
            assert_eq!(error.outcome(), Outcome::Transient(WAIT));
            assert_eq!(error.retry_after(), Some(WAIT));
            assert_eq!(error.to_string(), format!("the Deployment was not created: {}", refused(429)));
        }

        #[test]
        fn texts_and_boxed_errors_are_failures_as_they_are() {
            let text = || -> Reconciled { Err("no such zone".into()) };
            let formatted = || -> Reconciled { Err(format!("no zone {}", 7))? };
            let boxed = || -> Reconciled { Err(Box::<dyn StdError + Send + Sync>::from(refused(429)))? };
            let again = || -> Reconciled { Err(boxed().unwrap_err())? };
            let said = |reconciled: Reconciled| reconciled.unwrap_err();
            assert_eq!([said(text()), said(formatted())].map(|error| error.to_string()), ["no such zone", "no zone 7"]);
            assert_eq!([said(boxed()), said(again())].map(|error| error.outcome()), [Outcome::Transient(WAIT); 2]);
        }
    }

    mod run_error {
        use super::super::*;

        #[test]
        fn of_many_keys_the_first_are_named_and_all_are_counted() {
            let dropped = (0..12).map(|n| Key::new(Some("web"), &n.to_string())).collect();
            let text =
                RunError::NotDrained { grace: Duration::from_secs(30), dropped, blocked: Vec::new() }.to_string();
            assert!(text.starts_with("not drained within 30s; reconciles were dropped: web/0 web/1 "), "{text}");
            assert!(text.ends_with(" web/9 … (12 keys)"), "{text}");
        }

        #[test]
        fn reconciles_that_block_their_threads_are_named_apart_from_dropped_ones() {
            let (dropped, blocked) = (["web/a".into()].to_vec(), ["web/b".into(), "web/c".into()].to_vec());
            let error = RunError::NotDrained { grace: Duration::from_secs(1), dropped, blocked };
            let text = "not drained within 1s; reconciles were dropped: web/a; reconciles still block their threads: web/b web/c";
            assert_eq!(error.to_string(), text);
        }
    }
}
