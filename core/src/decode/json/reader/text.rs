use alloc::borrow::Cow;
use serde::Deserialize;

/// A string of the input, borrowed unless it holds escapes.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(in crate::decode) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(in crate::decode) fn as_str(&self) -> &str {
        &self.0
    }
}
