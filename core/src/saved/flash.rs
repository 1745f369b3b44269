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
