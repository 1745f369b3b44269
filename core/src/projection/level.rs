//! The levels of a value that a walk has entered, and what it is about to read.

use super::fields::Mask;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// Before a value.
    Value,
    /// Behind the bracket that opens an object.
    FirstName,
    /// Behind the comma in an object.
    NextName,
    Name,
    Colon,
    /// Behind the bracket that opens an array.
    FirstElement,
    /// Behind a value in an object or an array.
    Behind,
    Text,
    Literal,
    /// In a value that no field reads, or in one that is no JSON.
    PassingOver,
    Done,
}

/// An object or an array that was entered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    pub(super) is_array: bool,
    /// The fields inside of it.
    pub(super) fields: Mask,
    /// In an object that is an element: the fields whose condition it fulfils.
    pub(super) fulfilled: Mask,
    /// In an array: the fields whose element was found.
    pub(super) found: Mask,
    /// In an array: the place of the element that comes.
    pub(super) index: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// The fields inside of the value.
    pub(super) inside: Mask,
    /// The fields whose value it is.
    pub(super) fields: Mask,
    /// The fields whose condition it decides.
    pub(super) conditions: Mask,
}
