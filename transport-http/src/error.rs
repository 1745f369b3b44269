use listwatch_core::text::Printable;
use std::fmt;
use std::io;
use std::path::Path;

/// The longest message: several paths may be in it.
const MOST: usize = 8 * 1024;

/// Why a cluster's configuration, or a credential that it names, cannot be used: where, what, and what to do about it.
/// It never quotes a credential, and shows what it quotes on one line and without what steers a terminal.
/// [`Debug`](fmt::Debug) is the same as [`Display`](fmt::Display), for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    message: String,
    missing: bool,
}

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), missing: false }
    }

    /// Nothing is there that could be wrong.
    pub(crate) fn missing(message: String) -> Self {
        Self { message, missing: true }
    }

    /// Whether nothing says which cluster is meant: no kubeconfig, no pod. Who can do without a cluster goes on without.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.missing
    }

    /// A file that cannot be read, and what it is for.
    pub(crate) fn unreadable(what: &str, file: &Path, error: &io::Error) -> Self {
        Self::new(format!("{what} {} cannot be read: {error}", file.display()))
    }

    /// The same, within something larger.
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
