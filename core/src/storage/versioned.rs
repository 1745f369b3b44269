use super::Keyed;

/// The version and the identity of an object, which an informer compares.
pub trait Versioned: Keyed {
    /// `metadata.resourceVersion`; empty where the object has none.
    fn resource_version(&self) -> &str;

    /// Whether both are states of one object: their uids are equal. Otherwise one was deleted, and the other one
    /// created under its name.
    fn is_same_object(&self, other: &Self) -> bool;

    /// Whether both are the same state of one object: uid and version are equal, and neither is empty. The informer
    /// then keeps the handle that it has, so that a relist costs memory only for objects that changed.
    fn is_same_state(&self, other: &Self) -> bool;

    /// Takes the memory of equal parts over from an earlier state, which another state is about to replace. The informer
    /// calls this for each state that it receives. Does nothing unless the type says otherwise.
    fn share_with(&mut self, _earlier: &Self) {}
}
