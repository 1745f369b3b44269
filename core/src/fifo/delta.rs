/// A change of an object: client-go's `Delta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<V> {
    /// The watch reported the object as new.
    Added(V),
    /// The watch reported a change.
    Updated(V),
    /// The watch reported the deletion; the object is its final state.
    Deleted(V),
    /// A list no longer has the object, and its deletion was missed: client-go's `DeletedFinalStateUnknown`. The object
    /// is in the last state that was received, which may be stale.
    Tombstone(V),
    /// A list has the object; whether it changed is not said.
    Replaced(V),
    /// A resync announces the object again.
    Sync(V),
}

impl<V> Delta<V> {
    /// The object, in the state that the delta reports.
    pub const fn object(&self) -> &V {
        match self {
            Self::Added(object)
            | Self::Updated(object)
            | Self::Deleted(object)
            | Self::Tombstone(object)
            | Self::Replaced(object)
            | Self::Sync(object) => object,
        }
    }

    /// The object itself.
    pub fn into_object(self) -> V {
        match self {
            Self::Added(object)
            | Self::Updated(object)
            | Self::Deleted(object)
            | Self::Tombstone(object)
            | Self::Replaced(object)
            | Self::Sync(object) => object,
        }
    }

    /// Whether the delta is a deletion, seen or inferred.
    pub const fn is_deletion(&self) -> bool {
        matches!(self, Self::Deleted(_) | Self::Tombstone(_))
    }
}

/// A delta on its way to the consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popped<V> {
    /// The change.
    pub delta: Delta<V>,
    /// The delta belongs to the initial list (client-go `isInInitialList`); so does its last one, which completes it.
    pub initial: bool,
    /// The next pop gives another delta of the same key. Always false in
    /// [`Order::Arrival`].
    pub more: bool,
}

/// The order in which deltas leave a [`DeltaFifoIn`](crate::fifo::DeltaFifoIn).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By arrival, each delta by itself: client-go's `RealFIFO`, which its informers use.
    #[default]
    Arrival,
    /// Key by key, the key that has waited longest first, with all of its deltas: client-go's `DeltaFIFO`.
    ByKey,
}
