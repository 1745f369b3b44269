//! The orders in which ready keys are handed out.

mod fifo;
mod lanes;

pub use fifo::Fifo;
pub use lanes::{Lanes, Priority};

use super::record::Record;
use crate::storage::sealed::Empty;
use crate::storage::{Mem, PassingTable, Slot};
use core::hash::Hash;

/// The order in which a queue hands out ready keys: [`Fifo`] or [`Lanes`]. Sealed.
///
/// The counterpart of client-go's `Queue[T]` interface. It is a type, so that a queue pays only for its own discipline.
pub trait Discipline<K>: sealed::Sealed {
    /// The discipline's part of a key's record.
    #[doc(hidden)]
    type Mark: Default;
    /// The ready keys.
    #[doc(hidden)]
    type Ready<M: Mem>: Empty;

    /// The mark of a key of which nothing is known yet.
    #[doc(hidden)]
    fn mark(&self, key: &K) -> Self::Mark;

    #[doc(hidden)]
    fn len<M: Mem>(ready: &Self::Ready<M>) -> usize;

    /// Adds a key that is not ready yet.
    #[doc(hidden)]
    fn push<M: Mem>(&self, ready: &mut Self::Ready<M>, records: &mut Records<K, Self::Mark, M>, slot: Slot)
    where
        K: Hash + Eq;

    /// Takes the next key out.
    #[doc(hidden)]
    fn pop<M: Mem>(&self, ready: &mut Self::Ready<M>, records: &mut Records<K, Self::Mark, M>) -> Option<Slot>
    where
        K: Hash + Eq;
}

/// The records of a queue whose discipline marks them.
pub(super) type Records<K, T, M> = PassingTable<Record<K, T, <M as Mem>::Slot>, M>;

mod sealed {
    #[allow(missing_debug_implementations, reason = "never constructed")]
    pub trait Sealed {}
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
