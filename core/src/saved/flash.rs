//! Where a saved state is kept.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;

/// Where a saved state is kept: a file, or two regions of a flash memory.
///
/// It has the last whole state, and at times the beginning of the next one. If the power fails at any moment, the last
/// whole state is there at the next start. The bytes themselves are checked by [`Saved`](super::Saved).
pub trait Flash {
    /// Why it fails.
    type Error: fmt::Display;

    /// Opens the last whole state, to be read from its beginning. False if there is none.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open(&mut self) -> Result<bool, Self::Error>;

    /// Reads the next bytes of what was opened, and returns their number: zero at the end alone.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error>;

    /// Begins a new state. The last whole one stays. An earlier new one that was not committed is forgotten.
    ///
    /// # Errors
    /// If there is no room for it.
    fn create(&mut self) -> Result<(), Self::Error>;

    /// Appends bytes to the new state.
    ///
    /// # Errors
    /// If they cannot be written.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Makes the new state the last whole one, in one step, once its bytes would survive a power failure.
    ///
    /// # Errors
    /// If that fails. The last whole state stays.
    fn commit(&mut self) -> Result<(), Self::Error>;
}

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
}

impl InMemory {
    /// The last whole state. Empty if there is none.
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
        let len = buffer.len().min(rest.len());
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
