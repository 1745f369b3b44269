#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A text that is cloned without a copy: a constant, or with the feature `alloc` one that its clones share.
///
/// ```
/// use listwatch_core::text::SharedText;
///
/// let (constant, shared) = (SharedText::constant("v1/pods"), SharedText::from(["v1", "pods"].join("/")));
/// assert_eq!((&*constant, constant.clone()), ("v1/pods", shared));
/// ```
#[derive(Clone)]
pub struct SharedText(Form);

#[derive(Clone)]
enum Form {
    Constant(&'static str),
    #[cfg(feature = "alloc")]
    Shared(Arc<str>),
}

impl SharedText {
    /// The text of a constant.
    pub const fn constant(text: &'static str) -> Self {
        Self(Form::Constant(text))
    }

    /// A copy of a text; `None` if there is no heap for it.
    pub fn copied(text: &str) -> Option<Self> {
        #[cfg(feature = "alloc")]
        return Some(text.into());
        #[cfg(not(feature = "alloc"))]
        {
            _ = text;
            None
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Constant(text) => text,
            #[cfg(feature = "alloc")]
            Form::Shared(text) => text,
        }
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for SharedText {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=str}", self.as_str());
    }
}

impl Default for SharedText {
    fn default() -> Self {
        Self::constant("")
    }
}

#[cfg(not(feature = "alloc"))]
impl From<&'static str> for SharedText {
    fn from(text: &'static str) -> Self {
        Self::constant(text)
    }
}

#[cfg(feature = "alloc")]
impl<T: Into<Arc<str>>> From<T> for SharedText {
    fn from(text: T) -> Self {
        Self(Form::Shared(text.into()))
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for SharedText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedText {}

impl Hash for SharedText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
