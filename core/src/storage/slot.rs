//! The addresses of records.

use core::num::NonZeroU32;

/// The address of a record in its slab. Numbers start at one, so that an `Option<Slot>` is no larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(NonZeroU32);

impl Slot {
    /// The slot's place in the array.
    pub(crate) const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    #[inline]
    pub(crate) fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("a container holds fewer than 2^32 records"))
    }
}

/// A slot in half of its memory: fixed memory has few enough.
#[cfg(feature = "fixed")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortSlot(core::num::NonZeroU16);

#[cfg(feature = "fixed")]
impl From<Slot> for ShortSlot {
    fn from(slot: Slot) -> Self {
        let number = u16::try_from(slot.index() + 1).ok().and_then(core::num::NonZeroU16::new);
        Self(number.expect("fixed memory has fewer than 2^16 records"))
    }
}

#[cfg(feature = "fixed")]
impl From<ShortSlot> for Slot {
    fn from(slot: ShortSlot) -> Self {
        Self::at(usize::from(slot.0.get()) - 1)
    }
}
