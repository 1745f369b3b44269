use crate::object::Version;

/// Hears of each read of a store, for a recorder of what its readers see, or a replay of it.
///
/// [`StoreWriterIn::observed_by`](super::StoreWriterIn::observed_by) sets it. The informer's own reads are not told.
pub trait Observer: Send + Sync {
    /// A read begins. The lock is open: the observer may let the informer write first.
    fn before_read(&self);

    /// A read sees the store at these positions, one for each stream, in the order of
    /// [`StoreIn::streams`](super::StoreIn::streams). The lock is held, so this must be short, and must not read the store.
    fn on_read(&self, streams: &mut dyn Iterator<Item = Position<'_>>);
}

/// How far a stream of a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position<'a> {
    /// How many changes of objects its informer has applied since the store was made.
    pub changes: u64,
    /// The version up to which the store has every change.
    pub applied: Option<&'a Version>,
}

impl<'a> Position<'a> {
    pub(super) fn new(changes: u64, applied: Option<&'a Version>) -> Self {
        Self { changes, applied }
    }
}
