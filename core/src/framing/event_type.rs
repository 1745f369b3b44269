/// The `type` of a watch event about an object (client-go `watch.EventType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum EventType {
    /// `ADDED`: the object is new, or part of the initial state.
    Added,
    /// `MODIFIED`: the object was changed.
    Modified,
    /// `DELETED`: the object was deleted; the event has its final state.
    Deleted,
}

/// The kind of an event's `object`, by its `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(any(feature = "json", feature = "fixed"))]
pub(crate) enum EventKind {
    Object(EventType),
    Bookmark,
    Error,
}

#[cfg(any(feature = "json", feature = "fixed"))]
impl EventKind {
    /// `None` for a type that no server sends today.
    pub(crate) fn of(text: &str) -> Option<Self> {
        Some(match text {
            "ADDED" => Self::Object(EventType::Added),
            "MODIFIED" => Self::Object(EventType::Modified),
            "DELETED" => Self::Object(EventType::Deleted),
            "BOOKMARK" => Self::Bookmark,
            "ERROR" => Self::Error,
            _ => return None,
        })
    }
}
