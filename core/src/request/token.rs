#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

/// The continue token of a list: the place at which its next page begins. Clones share its text.
///
/// Without the feature `alloc` there is none: no list is requested in pages, and one that comes in pages is refused.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(Text);

#[cfg(feature = "alloc")]
type Text = Arc<str>;
#[cfg(not(feature = "alloc"))]
type Text = core::convert::Infallible;

impl Token {
    /// Whether there is memory for tokens.
    pub const ARE_KEPT: bool = cfg!(feature = "alloc");

    /// The token of this text; `None` if there is no heap for it.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn copied(text: &str) -> Option<Self> {
        Some(Self(text.into()))
    }

    /// No token: there is no heap for it.
    #[cfg(not(feature = "alloc"))]
    #[must_use]
    pub fn copied(_: &str) -> Option<Self> {
        None
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        #[cfg(feature = "alloc")]
        return &self.0;
        #[cfg(not(feature = "alloc"))]
        match self.0 {}
    }
}

#[cfg(feature = "alloc")]
impl From<&str> for Token {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl Deref for Token {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
