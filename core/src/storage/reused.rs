use alloc::string::String;
use alloc::vec::Vec;

/// A buffer that is filled again and again.
pub(crate) trait Reused {
    /// Empties the buffer. Its memory is kept for the next time, unless it has grown large.
    fn start_over(&mut self);
}

/// The most bytes of memory that an empty buffer keeps.
const KEPT: usize = 64 * 1024;

impl<T> Reused for Vec<T> {
    fn start_over(&mut self) {
        if self.capacity() * size_of::<T>() > KEPT {
            *self = Self::new();
        }
        self.clear();
    }
}

impl Reused for String {
    fn start_over(&mut self) {
        if self.capacity() > KEPT {
            *self = Self::new();
        }
        self.clear();
    }
}
