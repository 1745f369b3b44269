//! The capacities of an image without an allocator, and its machines.

use crate::line::{KEY, Line, Object, Shown, some};
use crate::panel::Panel;
use crate::tape::Tape;
use crate::transport;
use listwatch_core::cache::{FixedIndexer, IndexId};
use listwatch_core::decode::ProjectedJson;
use listwatch_core::informer::DriverIn;
use listwatch_core::storage::{Fixed, Indexed};

/// Objects in the cache.
pub const OBJECTS: usize = 128;

/// Deltas that wait, and items of a list that is being read: a longer list is applied in parts.
pub const DELTAS: usize = 8;

/// Apps in the work queue.
pub const APPS: usize = 16;

/// The bytes that are read at once.
pub const ROOM: usize = 2048;

/// Objects by key, by app and by node: each has one value in either index, and there are few values.
pub type Cache = FixedIndexer<Object, OBJECTS, Indexed<2, { 2 * OBJECTS }, 32, 16>>;

/// Finds objects in answers, and has the bytes that are read at once.
pub type Decoder = ProjectedJson<Line, KEY, ROOM>;

/// An informer of a tape. Its cache and its decoder have places of their own, so that they do not pass over the stack.
pub type Driver = DriverIn<&'static mut Decoder, Transport, &'static mut Cache, Fixed<DELTAS>>;

/// The tape itself.
#[cfg(not(feature = "http"))]
pub type Transport = transport::Player;
/// A server that answers as the tape says.
#[cfg(feature = "http")]
pub type Transport = crate::wire::Client;

/// The display.
pub type Display = Panel<Fixed<APPS>>;

/// An informer that follows this tape, and then an object that is larger than all memory.
#[must_use]
pub fn driver(tape: Tape, decoder: &'static mut Decoder, cache: &'static mut Cache) -> Driver {
    #[cfg(not(feature = "http"))]
    let transport = transport::Player::with_large(tape);
    #[cfg(feature = "http")]
    let transport = crate::wire::client(tape);
    transport::driver(transport, decoder, cache)
}

/// Gives the cache of an informer its indexes.
///
/// # Errors
/// If there is no room for them.
pub fn index(driver: &mut Driver) -> Result<Indexes, &'static str> {
    const FULL: &str = "no room for an index";
    let informer = driver.informer_mut();
    let app = informer.try_add_index(|object, emit| emit(object.app())).map_err(|_| FULL)?;
    let node = informer.try_add_index(|object, emit| some(object.node()).into_iter().for_each(emit));
    Ok(Indexes { app, node: node.map_err(|_| FULL)? })
}

/// The indexes of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Indexes {
    /// By app.
    pub app: IndexId,
    /// By node.
    pub node: IndexId,
}
