use crate::decode::DecodeErrorOf;
use crate::object::Version;
use crate::reflector::FailureReport;
use crate::storage::Keyed;

/// What an informer tells its [`Cache`](super::Cache) besides the changes of objects.
#[derive(Debug)]
#[non_exhaustive]
pub enum Note<'a, V: Keyed> {
    /// The informer was started, for the first time or again.
    Started,
    /// The cache has every object of the first list (client-go `HasSynced`).
    Synced,
    /// The cache has every change up to this version
    /// ([`Informer::applied_version`](crate::Informer::applied_version)), without another change: after a bookmark, or
    /// a list without items. Otherwise the [change](super::Change::applied) says so.
    Applied(&'a Version),
    /// A request failed.
    Failed(&'a FailureReport),
    /// Requests succeed again.
    Recovered,
    /// An object could not be decoded. The cache keeps its last state.
    Undecodable(&'a DecodeErrorOf<V::Key>),
    /// The informer was stopped.
    Stopped,
}
