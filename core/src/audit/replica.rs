use crate::object::{Key, Version};

/// What an [`Audit`](super::Audit) reads of a store. Its reads need not be of one moment.
pub trait Replica {
    /// The version up to which the store has every change; `None` before the first list. A later read of an object has
    /// every change up to this version.
    fn applied(&self) -> Option<Version>;

    /// The object's key and version, if the store has it. The key is the store's own, so that the audit shares its text.
    fn find(&self, key: &Key) -> Option<(Key, Version)>;

    /// Calls `f` with the key and the version of each object that the audited list covers.
    fn for_each(&self, f: &mut dyn FnMut(&Key, &str));

    /// The version of the object's last state that could not be decoded, if there was one.
    fn undecodable(&self, key: &Key) -> Option<Version>;
}
