use core::fmt;

/// A bearer token. Its `Debug` hides it.
#[derive(Clone, Copy)]
pub(super) struct Token<'a>(&'a str);

impl<'a> Token<'a> {
    pub(super) const fn new(token: &'a str) -> Self {
        Self(token.trim_ascii())
    }

    /// The token, to send it.
    pub(super) const fn reveal(self) -> &'a str {
        self.0
    }
}

impl fmt::Debug for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
