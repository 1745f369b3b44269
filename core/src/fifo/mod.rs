//! The queue between a reflector and a cache: changes of objects, oldest first.
//!
//! One structure serves both orders. Every delta is a node in the order of arrival, and knows the next newer delta of
//! its key. So the front of the queue is the oldest delta of its key. To pop it alone is client-go's `RealFIFO`; to pop
//! it with the rest of its key, `DeltaFIFO`. The key of a node is that of its object, so a queue keeps no keys. A key
//! finds its newest queued node; that one names what is staged under the key. If none is queued, it finds the newest
//! staged one. A delta that waits alone has no node until another one comes.

mod check;
mod coalesce;
mod delta;
mod node;
mod queue;
mod stage;
#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
mod unchanged;

pub use delta::{Delta, Order, Popped};
#[cfg(feature = "alloc")]
pub use queue::DeltaFifo;
pub use queue::DeltaFifoIn;
#[cfg(feature = "fixed")]
pub use queue::FixedDeltaFifo;
