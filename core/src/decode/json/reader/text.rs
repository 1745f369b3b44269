use alloc::borrow::Cow;
use core::fmt;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A string of the input, borrowed unless it holds escapes. (serde copies always where it reads a `Cow`.)
#[derive(Debug, Default)]
pub(in crate::decode) struct Text<'de>(pub(super) Cow<'de, str>);

impl Text<'_> {
    pub(in crate::decode) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.into())))
    }
}
