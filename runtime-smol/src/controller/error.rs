use crate::informers::Collection;
use core::error::Error as StdError;
use core::fmt;
use core::time::Duration;
use listwatch_core::api::ApiError;
use listwatch_core::decode::Status;
use listwatch_core::queue::Outcome;
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
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The delay that the server requests, if it does; see [`ApiError::retry_after`].
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.find::<ApiError>().and_then(ApiError::retry_after)
    }

    /// The error as any other.
    #[must_use]
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

    /// Whether the failure says nothing about the object.
    pub(super) fn is_transient(&self) -> bool {
        self.find::<ApiError>().is_some_and(ApiError::is_transient) || self.find::<TransportError>().is_some()
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

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("cause", &self.cause).field("is_terminal", &self.is_terminal).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    fn refused(status: u16) -> ApiError {
        let response = ApiResponse::new(status, *b"no").with_retry_after(Some(Duration::from_secs(7)));
        Api::<Value>::new(&Resource::new("/api/v1/pods")).get("a").read(&response).unwrap_err()
    }

    #[test]
    fn only_failures_that_say_nothing_about_the_object_are_transient() {
        for (status, is_transient) in
            [(400, false), (403, false), (404, false), (409, true), (422, false), (429, true), (500, true), (503, true)]
        {
            assert_eq!(Error::from(refused(status)).is_transient(), is_transient, "{status}");
        }
        assert!(Error::from(TransportError::new(TransportErrorKind::Timeout, "late")).is_transient());
        assert!(!Error::new("a text").is_transient());
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
    fn the_sources_of_an_error_that_was_its_own_source_had_no_end() {
        let error = Error::from(Circle);
        assert!(error.chain().take(1000).count() < 1000);
        assert_eq!((error.to_string().as_str(), error.is_transient()), ("round and round", false));
    }

    #[test]
    fn a_refusal_counts_as_one_inside_of_another_error_too() {
        let error = Error::from(Around(refused(429)));
        assert!(error.is_transient());
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
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
        assert!(said(boxed()).is_transient() && said(again()).is_transient());
    }
}
