use std::fmt;
use std::sync::Arc;

/// A credential. Its `Debug` hides the content.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Arc<[u8]>);

impl Secret {
    pub(crate) fn new(content: impl Into<Vec<u8>>) -> Self {
        Self(content.into().into())
    }

    /// The content, to send it.
    pub(crate) fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// The content as text, without the white space that files end with.
    pub(crate) fn reveal_text(&self) -> Option<&str> {
        str::from_utf8(&self.0).ok().map(str::trim)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_neither_its_content_nor_its_length() {
        assert_eq!(format!("{:?} {:#?}", Secret::new("hunter2"), Secret::new("")), "(secret) (secret)");
    }
}
