use crate::fifo::Delta;

/// A change that a [`Cache`](super::Cache) applies. Together with the object that the cache had, it gives the
/// informer's event.
#[derive(Debug)]
#[non_exhaustive]
pub struct Change<'a, V> {
    /// The delta of the object.
    pub delta: &'a Delta<V>,
    /// Whether the delta belongs to the first list (client-go `isInInitialList`).
    pub initial: bool,
}

impl<'a, V> Change<'a, V> {
    /// A change by `delta`.
    #[must_use]
    pub const fn new(delta: &'a Delta<V>, initial: bool) -> Self {
        Self { delta, initial }
    }
}

impl<V> Clone for Change<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Change<'_, V> {}
