use super::Flash;
use alloc::vec::Vec;
use core::convert::Infallible;

/// A [`Flash`] in memory, for tests and for programs that keep the bytes elsewhere.
///
/// ```
/// use listwatch_core::saved::{Flash, InMemory};
///
/// let mut flash = InMemory::from(b"last".to_vec());
/// flash.create()?;
/// flash.write(b"next")?;
/// assert_eq!(flash.bytes(), b"last");
/// flash.commit()?;
/// assert_eq!(flash.bytes(), b"next");
/// # Ok::<(), core::convert::Infallible>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    last: Vec<u8>,
    next: Vec<u8>,
    read: usize,
    piece: Option<usize>,
}

impl InMemory {
    /// The same, of which a read brings `most` bytes at most, and one at least.
    #[must_use]
    pub fn in_pieces(self, most: usize) -> Self {
        Self { piece: Some(most.max(1)), ..self }
    }

    /// The last whole state. Empty if there is none.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.last
    }
}

impl From<Vec<u8>> for InMemory {
    fn from(last: Vec<u8>) -> Self {
        Self { last, ..Self::default() }
    }
}

impl Flash for InMemory {
    type Error = Infallible;

    fn open(&mut self) -> Result<bool, Infallible> {
        self.read = 0;
        Ok(!self.last.is_empty())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let rest = &self.last[self.read..];
        let len = buffer.len().min(rest.len()).min(self.piece.unwrap_or(usize::MAX));
        buffer[..len].copy_from_slice(&rest[..len]);
        self.read += len;
        Ok(len)
    }

    fn create(&mut self) -> Result<(), Infallible> {
        self.next.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.next.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Infallible> {
        (self.last, self.read) = (core::mem::take(&mut self.next), 0);
        Ok(())
    }
}
