use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// The text of a value that is read later, or never: as serde_json's `RawValue`, but unchecked. [`Reader`](super::Reader)
/// alone can read it.
#[derive(Clone, Copy, Debug)]
pub(in crate::decode) struct Unread<'de>(pub(in crate::decode) &'de str);

/// The name by which the reader recognises it.
pub(in crate::decode) const UNREAD: &str = "$listwatch::Unread";

/// The name by which the reader recognises a visitor that wants maps alone. Another value is passed over, and is `()`.
pub(in crate::decode) const MAP_OR_UNIT: &str = "$listwatch::MapOrUnit";

impl<'de> Deserialize<'de> for Unread<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(UNREAD, UnreadVisitor)
    }
}

struct UnreadVisitor;

impl<'de> Visitor<'de> for UnreadVisitor {
    type Value = Unread<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Unread<'de>, E> {
        Ok(Unread(text))
    }
}
