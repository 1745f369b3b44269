use crate::text::Printable;
use alloc::string::{String, ToString};
use core::fmt;

/// The limit of a path in an error, in characters.
const MOST: usize = 256;

/// Where in an object a value stands.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Root,
    Field(&'a Self, &'a str),
    Element(&'a Self, usize),
}

impl<'a> Place<'a> {
    pub(super) fn field(&'a self, name: &'a str) -> Self {
        Self::Field(self, name)
    }

    pub(super) fn element(&'a self, index: usize) -> Self {
        Self::Element(self, index)
    }

    /// The path as text that is safe to print: `spec.containers[0].image`.
    pub(super) fn path(&self) -> String {
        Printable::new(self).at_most(MOST).to_string()
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) if name.contains(['.', '/']) => write!(f, "{parent}[\"{name}\"]"),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Element(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
