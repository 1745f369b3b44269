use alloc::string::String;
use core::fmt;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A string of the input, borrowed unless it holds escapes. (`Cow` as serde reads it always copies.)
#[derive(Debug)]
pub(in crate::decode) enum Text<'de> {
    Borrowed(&'de str),
    Owned(String),
}

impl Text<'_> {
    pub(in crate::decode) fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Owned(text) => text,
        }
    }
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self::Borrowed("")
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
        Ok(Text::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text::Owned(text.into()))
    }
}

/// The name by which the reader recognises a visitor that reads the text of a value itself.
pub(in crate::decode) const UNREAD: &str = "$listwatch::Unread";
