//! How much a history takes into memory.

use crate::error::{CaptureErrorKind, Fault};
pub(super) use crate::weight::{ENTRY, weight, weight_of_text};
use listwatch_core::Key;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes of an object, or of an event.
pub(super) const OBJECT_LIMIT: usize = 8 * 1024 * 1024;

/// The most bytes of the lists that are read and of the first states, and again of the objects that are there, as they are
/// in memory.
pub(super) const MOST_STATE: u64 = 4 << 30;

/// What a byte of an object's text counts, until the object is a value that is weighed.
pub(super) const TEXT: u64 = 2;

/// The memory of the key of an object, about.
pub(super) fn weight_of_key(key: &Key) -> u64 {
    ENTRY + key.as_str().len() as u64
}

/// The memory that a history takes. Each of its parts has a clone of this.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    held: Arc<AtomicU64>,
    most: u64,
}

impl Memory {
    pub(super) fn at_most(most: u64) -> Self {
        Self { held: Arc::default(), most }
    }

    /// None, with the same limit.
    pub(super) fn anew(&self) -> Self {
        Self::at_most(self.most)
    }

    /// Takes this much or, if it is too much, nothing.
    pub(super) fn take(&self, bytes: u64) -> Result<(), Fault> {
        self.check(bytes)?;
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Checks whether this much can be taken.
    pub(super) fn check(&self, bytes: u64) -> Result<(), Fault> {
        if self.held.load(Ordering::Relaxed).saturating_add(bytes) <= self.most {
            return Ok(());
        }
        let most = self.most;
        let message = format!("the lists up to here take more than {most} bytes of memory; record fewer resources");
        Err(Fault::new(CaptureErrorKind::TooLong, message))
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The fault of an object over the limit.
pub(super) fn object_too_long() -> Fault {
    Fault::too_long("object", OBJECT_LIMIT)
}
