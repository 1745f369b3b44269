use listwatch_core::text::Printable;
use std::fmt;
use std::io;
use std::path::Path;

/// The longest message in characters. A message may name several paths.
const MOST: usize = 8 * 1024;

/// An unusable configuration or credential: the place, the fault, and a remedy.
///
/// The message never contains a credential. It has one line; control characters of quoted text are escaped.
/// [`Debug`](fmt::Debug) equals [`Display`](fmt::Display), because a `main` that returns the error prints the former.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    message: String,
    missing: bool,
}

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), missing: false }
    }

    /// No configuration was found.
    pub(crate) fn missing(message: String) -> Self {
        Self { message, missing: true }
    }

    /// Returns whether no configuration was found: neither a kubeconfig nor the service account of a pod.
    ///
    /// A program that works without a cluster too can ignore such an error.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.missing
    }

    /// A file that cannot be read. `what` names its purpose.
    pub(crate) fn unreadable(what: &str, file: &Path, error: &io::Error) -> Self {
        Self::new(format!("{what} {} cannot be read: {error}", file.display()))
    }

    /// The same fault, with `place` in front.
    #[must_use]
    pub(crate) fn within(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable::new(&self.message).at_most(MOST).fmt(f)
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_failed_showed_the_fields_of_the_error() {
        let error = ConfigError::new("the context \"a\" is not there");
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
