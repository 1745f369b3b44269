use crate::storage::sealed::{Empty, HeapOnly};
use crate::storage::{Mem, Slot};

/// One object has one value.
///
/// It is in the list of its value, and in the chain of its object. So a query walks the objects of a value, and an
/// update the values of an object.
pub(super) struct Posting<M: Mem> {
    object: M::Slot,
    value: M::Slot,
    /// The [run](super::shared::Runs) of the value's list.
    run: M::HeapOnly<Option<Slot>>,
    /// The next posting of the object.
    chain: Option<M::Slot>,
}

impl<M: Mem> Posting<M> {
    /// A posting at the front of an object's chain, in no list yet.
    pub(super) fn new(object: Slot, value: Slot, chain: Option<Slot>) -> Self {
        Self { object: object.into(), value: value.into(), run: M::HeapOnly::EMPTY, chain: chain.map(Into::into) }
    }

    #[inline]
    pub(super) fn object(&self) -> Slot {
        self.object.into()
    }

    #[inline]
    pub(super) fn value(&self) -> Slot {
        self.value.into()
    }

    /// The next posting of the object.
    #[inline]
    pub(super) fn chain(&self) -> Option<Slot> {
        self.chain.map(Into::into)
    }

    pub(super) fn set_chain(&mut self, next: Option<Slot>) {
        self.chain = next.map(Into::into);
    }

    #[inline]
    pub(super) fn run(&self) -> Option<Slot> {
        self.run.get().copied().flatten()
    }

    pub(super) fn set_run(&mut self, run: Slot) {
        if let Some(own) = self.run.get_mut() {
            *own = Some(run);
        }
    }
}
