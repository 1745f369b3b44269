//! The memory of the machines: on the heap, or of a fixed capacity.
//!
//! A container is an array of records, which are addressed by slots. The order of a queue, of timers or of the objects of
//! an index value is in links *beside* the records. So lists, timers and tables are arithmetic on slots, written once for
//! both memories. [`Mem`] names the differences: the array of the records, with the index that finds them by their hash;
//! a text and a function; the form of a slot. [`Heap`] and [`Fixed`] are its only implementations.
//!
//! | on the heap | what | it serves |
//! |---|---|---|
//! | `Vec` and `PassingIndex` | one array, half of whose cells are empty | work queues, whose keys come and go |
//! | `Segments` and `Shards` | an array and an index that grow without a pause, and shrink | caches and delta FIFOs |

#[cfg(feature = "alloc")]
mod cells;
#[cfg(feature = "fixed")]
mod fixed;
#[cfg(feature = "fixed")]
mod half_sip;
#[cfg(feature = "alloc")]
mod heap;
mod keyed;
mod list;
mod memory;
mod same;
#[cfg(feature = "alloc")]
mod segments;
#[cfg(feature = "alloc")]
mod shards;
mod slab;
mod slot;
mod table;
mod timers;
mod zeroed;

#[cfg(feature = "alloc")]
pub(crate) use cells::PassingIndex;
#[cfg(feature = "fixed")]
pub use fixed::{Fixed, Indexed};
#[cfg(feature = "alloc")]
pub use heap::Heap;
#[cfg(feature = "alloc")]
pub(crate) use heap::Reused;
pub use keyed::{Keyed, KnownObjects, Versioned};
pub(crate) use list::{Chained, Linked, List};
#[cfg(any(feature = "alloc", feature = "fixed"))]
pub(crate) use memory::InPlace;
#[cfg(feature = "alloc")]
use memory::NeverFull;
#[cfg(feature = "alloc")]
pub(crate) use memory::never_full;
pub(crate) use memory::sealed;
pub use memory::{Full, Mem};
pub(crate) use same::is_same;
pub(crate) use slab::{IndexSlab, PostingSlab, Slab};
#[cfg(feature = "fixed")]
use slot::ShortSlot;
pub(crate) use slot::Slot;
pub(crate) use table::{PassingTable, Table, ValueTable};
pub(crate) use timers::{Timed, Timers};
pub(crate) use zeroed::{Initially, Maybe};

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
macro_rules! in_both_memories {
    ($($name:ident),+ $(,)?) => {
        mod on_the_heap { $(#[test] fn $name() { super::$name::<crate::storage::Heap>(); })+ }
        mod in_fixed_memory { $(#[test] fn $name() { super::$name::<crate::storage::Fixed<64>>(); })+ }
    };
}
#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
pub(crate) use in_both_memories;
