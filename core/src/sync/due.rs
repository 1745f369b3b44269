use crate::time::Instant;

/// The time until which a task that follows the delays can sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Until this time, or until the task is woken.
    At(Instant),
    /// Until the task is woken, because no key is delayed.
    Idle,
    /// For ever, because the queue is shut down, and [nothing is left to wait for](crate::queue::WorkQueueIn::drained).
    Closed,
}
