use super::chunks::Chunks;
use super::content::Content;
use super::error::ProtocolError;

/// The body of an answer, by what ends it.
#[derive(Debug)]
pub(super) enum Body {
    /// So many bytes are left.
    Counted(u64),
    Chunked(Chunks),
    UntilClose,
}

impl Body {
    /// Reads bytes up to the end of the next data. Returns how many it took; no content if it needs more bytes.
    pub(super) fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(usize, Option<Content>), ProtocolError> {
        match self {
            Self::Counted(0) => Ok((0, Some(Content::End))),
            Self::Counted(left) => Ok(Content::data(0, bytes.len(), left)),
            Self::Chunked(chunks) => chunks.handle_bytes(bytes),
            Self::UntilClose => {
                let mut endless = u64::MAX;
                Ok(Content::data(0, bytes.len(), &mut endless))
            }
        }
    }

    /// Whether the connection may end here.
    pub(super) fn may_end(&self) -> bool {
        match self {
            Self::Counted(left) => *left == 0,
            Self::Chunked(chunks) => chunks.is_over(),
            Self::UntilClose => true,
        }
    }
}
