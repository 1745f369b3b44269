use super::error::Error;
use alloc::string::String;
use core::ops::Range;

/// Looks at the members of an object, and of its metadata, before the object's type does.
pub(in crate::decode) trait Watch {
    /// An object begins.
    fn start(&mut self, is_bookmark: bool);

    /// What becomes of the value of this name.
    fn on_name(&mut self, level: Level, name: &str) -> Role;

    /// The value of the last name, whose role is [`Role::Noted`].
    fn on_value(&mut self, json: &str) -> Result<(), Error>;

    /// The place of the last name, whose role is [`Role::Hidden`], and of its value.
    fn on_hidden(&mut self, member: Range<usize>);

    /// The text of an object that begins at `start`, with the members that it is given and without those that are hidden.
    fn rewritten(&self, text: &str, start: usize, given: &Given<'_>) -> String;
}

/// The members that an object gets unless it has them itself: their names, and their values as JSON. An empty one is none.
pub(in crate::decode) type Given<'a> = [(&'static str, &'a str); 2];

/// The name by which the reader recognises a visitor that takes an object as text.
pub(in crate::decode) const OBJECT_TEXT: &str = "$listwatch::Raw";

/// Which object is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::decode) enum Level {
    /// One that nobody watches.
    Plain,
    /// A whole object.
    Object,
    /// Its metadata.
    Metadata,
}

/// What becomes of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::decode) enum Role {
    /// The type reads it.
    Passed,
    /// It is the metadata, whose members are watched as well.
    Metadata,
    /// It is noted, and the type reads it too.
    Noted,
    /// The type does not see it.
    Hidden,
    /// It stands beside the text: the object lacks it.
    Given,
}
