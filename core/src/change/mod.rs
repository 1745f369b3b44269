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
mod lay;
mod merge_patch;
mod part;
mod place;
mod seen;
#[cfg(test)]
mod tests;
mod value;

pub use desired::{Desired, Drift};
pub use error::{ChangeError, ChangeErrorKind};
pub use merge_patch::apply_merge_patch;
pub use part::Part;
pub use seen::{Shows, View, Wish};

use alloc::string::ToString;
use place::Place;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The levels that the decoder reads, by serde_json's limit.
const MAX_LEVELS: usize = 128;

/// A change, as far as the value before and after say it.
///
/// A caller acts on every variant. One that skips an unknown variant would lose a change, so the list is complete.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The values are equal.
    Nothing,
    /// The merge patch. The caller adds `metadata.resourceVersion`, so that a conflict is one.
    Patch(Value),
    /// The merge patch would replace a list, or remove a list or an object: the raw object is needed.
    NeedsRaw(PendingChange),
}

/// A change that needs the raw object.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingChange {
    before: Value,
    after: Value,
}

/// Compares a value before and after a change of one part of its object.
///
/// ```
/// use listwatch_core::change::{Change, Part, change};
/// use serde::Serialize;
/// use serde_json::json;
///
/// #[derive(Clone, Serialize)]
/// struct Pod {
///     spec: Spec,
/// }
///
/// #[derive(Clone, Serialize)]
/// struct Spec {
///     containers: Vec<Container>,
/// }
///
/// #[derive(Clone, Serialize)]
/// struct Container {
///     image: String,
/// }
///
/// let before = Pod { spec: Spec { containers: vec![Container { image: "web:1".to_owned() }] } };
/// let mut after = before.clone();
/// after.spec.containers[0].image = "web:2".to_owned();
///
/// let Change::NeedsRaw(change) = change(&before, &after, Part::Object)? else { unreachable!("a list differs") };
/// let raw = json!({ "spec": { "containers": [{ "name": "web", "image": "web:1", "tty": true }] } });
/// let patch = change.lay_over(&raw)?;
/// assert_eq!(patch, Some(json!({ "spec": { "containers": [{ "name": "web", "image": "web:2", "tty": true }] } })));
/// # Ok::<(), listwatch_core::change::ChangeError>(())
/// ```
///
/// # Errors
/// If a value cannot be written as a JSON object, or has more than 128 levels. If the values differ outside of the
/// part, or in a field that the server alone sets.
pub fn change<T: Serialize + ?Sized>(before: &T, after: &T, part: Part) -> Result<Change, ChangeError> {
    let (before, after) = (written(before)?, written(after)?);
    if value::same(&before, &after) {
        return Ok(Change::Nothing);
    }
    part.check(&before, &after)?;
    if part == Part::Object && value::same(&value::unobserved(&before), &value::unobserved(&after)) {
        return Ok(Change::Nothing);
    }
    if merge_patch::needs_raw(&before, &after) {
        return Ok(Change::NeedsRaw(PendingChange { before, after }));
    }
    merge_patch::merge_patch(Place::Root, &before, &after).map(Change::Patch)
}

impl PendingChange {
    /// The merge patch; `None` if the raw object has nothing to change. The caller adds `metadata.resourceVersion`.
    ///
    /// `raw` is the object that the value before was decoded from, in the same version.
    ///
    /// # Errors
    /// If the change is ambiguous or would lose fields that the type does not know.
    pub fn lay_over(&self, raw: &Value) -> Result<Option<Value>, ChangeError> {
        patch_to(&self.laid(raw)?, raw)
    }

    /// The merge patch as by [`lay_over`](Self::lay_over), if `T` can read the object with the change.
    ///
    /// A type that reads a field under an alias cannot read an object that has the field under both names.
    ///
    /// # Errors
    /// As [`lay_over`](Self::lay_over), or if `T` cannot read the object with the change.
    pub fn lay_over_as<T: DeserializeOwned>(&self, raw: &Value) -> Result<Option<Value>, ChangeError> {
        let laid = self.laid(raw)?;
        let unreadable = |error: serde_json::Error| ChangeErrorKind::Unreadable(error.to_string());
        T::deserialize(&laid).map_err(|error| ChangeError::at(Place::Root, unreadable(error)))?;
        patch_to(&laid, raw)
    }

    /// The raw object with the change.
    fn laid(&self, raw: &Value) -> Result<Value, ChangeError> {
        check_levels(raw)?;
        self.check_version(raw)?;
        lay::lay(&self.before, &self.after, raw)
    }

    /// The version of the value before is known if the type has it.
    fn check_version(&self, raw: &Value) -> Result<(), ChangeError> {
        let (metadata, name) = (Place::Root.field("metadata"), "resourceVersion");
        let (known, found) = (&self.before["metadata"][name], &raw["metadata"][name]);
        if known.is_null() || found.is_null() || known == found {
            return Ok(());
        }
        Err(ChangeError::at(metadata.field(name), ChangeErrorKind::OtherVersion))
    }
}

/// The merge patch that makes `laid` of `raw`, if they differ.
fn patch_to(laid: &Value, raw: &Value) -> Result<Option<Value>, ChangeError> {
    let patch = merge_patch::merge_patch(Place::Root, raw, laid)?;
    Ok(Some(patch).filter(|patch| patch.as_object().is_some_and(|fields| !fields.is_empty())))
}

/// The value as JSON, without nulls.
fn written<T: Serialize + ?Sized>(object: &T) -> Result<Value, ChangeError> {
    let unwritable = |why| ChangeError::at(Place::Root, ChangeErrorKind::Unwritable(why));
    let failed = |error: serde_json::Error| unwritable(error.to_string());
    let mut value = serde_json::to_value(object).map_err(failed)?;
    check_levels(&value)?;
    // An `f32` of 0.1 is 0.1 in text only: a `Value` makes an `f64` of it, 0.10000000149011612.
    if value::has_float(&value) {
        value = serde_json::to_string(object).and_then(|text| serde_json::from_str(&text)).map_err(failed)?;
    }
    if value.is_object() { Ok(value::without_nulls(value)) } else { Err(unwritable("it is another value".into())) }
}

fn check_levels(value: &Value) -> Result<(), ChangeError> {
    if value::is_deeper(value, MAX_LEVELS) {
        return Err(ChangeError::at(Place::Root, ChangeErrorKind::TooDeep));
    }
    Ok(())
}
