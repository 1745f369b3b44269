//! The capacities of an image without an allocator, and its machines.

use crate::line::{KEY, Line, Object, Shown, some};
use crate::panel::Panel;
use listwatch_core::cache::{FixedIndexer, IndexId};
use listwatch_core::fifo::{FixedDeltaFifo, Order};
use listwatch_core::projection::Projector;
use listwatch_core::storage::Fixed;

/// Objects in the cache, and in each index.
pub const OBJECTS: usize = 128;

/// Room of an indexer for that many objects in two indexes: one number bounds objects and pairs.
const INDEXED: usize = 2 * OBJECTS;

/// Deltas that wait, and items of a list that is being read.
pub const DELTAS: usize = 96;

/// Apps in the work queue.
pub const APPS: usize = 16;

/// The bytes that are read at once.
pub const ROOM: usize = 2048;

/// Objects by key, by app and by node.
pub type Cache = FixedIndexer<Object, INDEXED>;

/// The changes between a watch and the cache.
pub type Deltas = FixedDeltaFifo<Object, DELTAS>;

/// The display.
pub type Display = Panel<Fixed<APPS>>;

/// Finds objects in answers.
pub type Fields = Projector<Line, KEY>;

/// Gives a cache its indexes.
///
/// # Errors
/// If there is no room for them.
pub fn index(cache: &mut Cache) -> Result<Indexes, &'static str> {
    let app = cache.try_add_index(|object, emit| emit(object.app())).map_err(|_| "no room for an index")?;
    let node = cache.try_add_index(|object, emit| some(object.node()).into_iter().for_each(emit));
    Ok(Indexes { app, node: node.map_err(|_| "no room for an index")? })
}

/// The indexes of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Indexes {
    /// By app.
    pub app: IndexId,
    /// By node.
    pub node: IndexId,
}

/// A queue without deltas.
#[must_use]
pub fn deltas() -> Deltas {
    Deltas::new(Order::Arrival)
}
