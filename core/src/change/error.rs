use crate::text::{Counted, Printable, WITHHELD};
use alloc::string::{String, ToString};
use core::fmt;

/// A change that was not made, because it would lose or change more than it says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeError {
    /// The path of the value: `spec.containers[0].image`. It is printable, of limited length, and empty for the whole
    /// object.
    pub path: String,
    /// The obstacle.
    pub kind: ChangeErrorKind,
}

/// The obstacle to a change. Each `Display` says how to make the change instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeErrorKind {
    /// The type cannot be written as a JSON object.
    Unwritable(String),
    /// The value has more levels than the decoder reads.
    TooDeep,
    /// The status differs in a change of the object.
    Status,
    /// Another field differs in a change of the status.
    NotStatus,
    /// The field identifies the object, or the server alone sets it.
    ReadOnly,
    /// The raw object has another version than the changed one.
    OtherVersion,
    /// The type shows a list with another number of elements than it has.
    Filtered {
        /// The number of elements in the type.
        shown: usize,
        /// The number of elements in the raw object.
        raw: usize,
    },
    /// The type shows another value than the raw object has, or a value of another form.
    Converted,
    /// A value is removed or replaced in which the raw object has more than the type knows: the path of one such field.
    Unknown(String),
    /// Elements look alike to the type, but differ in the raw object.
    LookAlikes,
    /// An element with fields that the type does not know is gone, and another one is new.
    Replaced,
    /// Several elements without a key change at once, and one of them has lost an element with fields that the type
    /// does not know. The lost element may have moved with its list.
    Moved,
    /// The keys of the elements say different things about which element is which.
    Keys,
    /// The raw object has the value in this field, so the type may read it under an alias.
    Alias(String),
    /// The type cannot read the object with the change: it may have a field under its name and under an alias.
    Unreadable(String),
    /// A list to be sent has a field with an explicit null.
    Null,
    /// The body names nothing at this place.
    Unnamed,
}

impl ChangeError {
    /// The error of a confidential object: what serde says may quote a value.
    #[must_use]
    pub fn without_values(self) -> Self {
        let kind = match self.kind {
            ChangeErrorKind::Unwritable(_) => ChangeErrorKind::Unwritable(WITHHELD.into()),
            ChangeErrorKind::Unreadable(_) => ChangeErrorKind::Unreadable(WITHHELD.into()),
            kind => kind,
        };
        Self { kind, ..self }
    }

    pub(super) fn at(place: Place<'_>, kind: ChangeErrorKind) -> Self {
        Self { path: place.path(), kind }
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the object" } else { &self.path };
        write!(f, "{}: {}", Printable::new(path), self.kind)
    }
}

impl fmt::Display for ChangeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unwritable(why) => {
                return write!(f, "the type cannot be written as a JSON object: {}", Printable::new(why));
            }
            Self::Filtered { shown, raw } => {
                return write!(
                    f,
                    "the type shows {}, and the object has {raw}: change the list by a type that shows all of it, or \
                     send a patch",
                    Counted(*shown, "element", "elements")
                );
            }
            Self::Unknown(field) => {
                return write!(
                    f,
                    "the change would remove {} too, which the type does not know: add that field to the type, or \
                     send a patch",
                    Printable::new(field)
                );
            }
            Self::Alias(field) => {
                return write!(
                    f,
                    "the object has this value in {}, as if the type reads it under an alias: write the field under \
                     the name in the object, or send a patch",
                    Printable::new(field)
                );
            }
            Self::Unreadable(why) => {
                return write!(
                    f,
                    "the type cannot read the object with the change: {}: if it reads a field under an alias, write \
                     the field under the name in the object, or send a patch",
                    Printable::new(why)
                );
            }
            Self::TooDeep => "the value has more than 128 levels",
            Self::Status => "a change of the object does not change its status: change_status does, by a request of its own",
            Self::NotStatus => "a change of the status changes nothing else: change does, by a request of its own",
            Self::ReadOnly => "the field identifies the object or is set by the server: leave it as it is",
            Self::OtherVersion => "the object has another version meanwhile: make the change again on the newest one",
            Self::Converted => {
                "the type shows another value than the object has: change the list by a type that shows it as it is, or \
                 send a patch"
            }
            Self::LookAlikes => {
                "elements look alike to the type and differ in fields that it does not know: add a field to the type \
                 that tells them apart, such as `name`"
            }
            Self::Replaced => {
                "an element with fields that the type does not know is gone, and another one is new: remove it by one \
                 change and add the other by a second one; to rename it, send a patch"
            }
            Self::Moved => {
                "an element with fields that the type does not know is gone, and the element around it has no key while \
                 others change too: make one change for each, or add a key to the type, such as `name`"
            }
            Self::Keys => {
                "the keys of the elements disagree on which element is which: make one change for each key, or send a \
                 patch"
            }
            Self::Unnamed => "the body names nothing here: give a place that it has, such as `/data`",
            Self::Null => "a server removes a null inside of a list that a merge patch replaces: send a JSON patch",
        })
    }
}

impl core::error::Error for ChangeError {}

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
