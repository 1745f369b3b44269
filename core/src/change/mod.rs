//! Changes by a type that knows only a part of an object, as merge patches (RFC 7386) that lose nothing else.
//!
//! [`change`] compares a value before and after, as JSON. Most differences are a patch at once. A merge patch replaces
//! lists as a whole, and removes objects with all that is in them. For those, [`PendingChange::lay_over`] takes the raw
//! object, with the fields that the type does not know, and keeps them. [`Desired`] is the other way: a body says what an
//! object is to have, and is laid over whatever the object is. [`apply_merge_patch`] applies a patch.
//!
//! | in the type | in the patch |
//! |---|---|
//! | nothing differs | no patch |
//! | a field with a new value | that field |
//! | a field that is absent or null after | null, which removes it |
//! | a list, or an object that is absent after | the raw list with the differences; see below |
//!
//! # Which element is which
//!
//! The elements before the change are the raw ones, by position. So the type must show each of them, in the order of
//! the object. An element after the change is the element before it that has
//!
//! 1. the same key, if each element has one of its own: `name`, `type`, `key`, `uid`, `ip`, `mountPath`, `devicePath`,
//!    `containerPort`, `port` or `topologyKey`, as in the types of Kubernetes;
//! 2. the same value;
//! 3. the same position, if the length is unchanged and nothing else fits.
//!
//! Any other element is new. If elements have no fields that the type does not know, none of this matters.
//!
//! # Which changes are refused
//!
//! An ambiguous change is a [`ChangeError`] with the path and a way out, and never a guess. [`ChangeErrorKind`] lists
//! the cases.
//!
//! # Which changes cannot be said
//!
//! * An explicit null: it is an absent field, as servers take it, before and after.
//! * A value that the type leaves out when it writes, such as one equal to its serde default: the patch removes the
//!   field. In a type with `Option`, `Some` of the default is a value.
//! * A default that the object does not have, and that the change sets again: no patch.
//! * An `observedGeneration` outside of the status, and nothing else: no patch. Its writing would count in the generation,
//!   so it would never be the present one.
//! * A float that is infinite or not a number: serde writes a null.
//! * An empty list or map where the server stores none: it is a difference, and so a patch, each time. A type whose field
//!   is an `Option` gives `None` there.
//!
//! # Aliases
//!
//! A field is written under the name by which the type writes it. Some types read it under another one too (an alias).
//! [`PendingChange::lay_over`] sees an alias by a scalar that the object has under another name. It misses one that holds
//! an empty list or object; [`PendingChange::lay_over_as`] refuses a change after which the object has both names.
//! [`Change::Patch`] is made without the raw object, so an alias goes unseen there. The type cannot read the object after
//! it. Hence a type that changes its objects writes its fields under the names that the server stores.

mod desired;
mod elements;
mod error;
mod merge_patch;
mod pending;
mod seen;
#[cfg(test)]
mod tests;
mod value;

pub use desired::{Desired, Drift};
pub use error::{ChangeError, ChangeErrorKind};
pub use merge_patch::apply_merge_patch;
pub use pending::{Change, Part, PendingChange, change};
pub use seen::{Shows, View, Wish};
pub use value::without_nulls;
