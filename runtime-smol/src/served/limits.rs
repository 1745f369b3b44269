use std::time::Duration;

/// What clients may take of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections at a time. The one that is idle longest gives its place to another.
    pub connections: usize,
    /// The most bytes of the head of a request.
    pub head: usize,
    /// How long the first head of a connection may take.
    pub first_head: Duration,
    /// How long a connection may be without a request, and how long the head of one may take.
    pub idle: Duration,
    /// How long a client may take no byte of its answer.
    pub stalled: Duration,
}
