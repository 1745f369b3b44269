use std::fmt;
use std::sync::Arc;

/// A credential. It is sent and compared, and shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Arc<[u8]>);

impl Secret {
    pub(crate) fn new(content: impl Into<Vec<u8>>) -> Self {
        Self(content.into().into())
    }

    /// The content, for what sends it.
    pub(crate) fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// The content as text without the white space around it, which files end with.
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
