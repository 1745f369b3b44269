use core::task::{Context, Poll};

/// How many steps a task takes in one poll, if none of them has to wait.
///
/// An executor polls no other task until this one returns.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u32,
}

/// As many steps as [`run`](crate::run()) gives the other tasks for one of `main` under a simulated clock.
const FULL: u32 = 64;

impl Budget {
    pub(crate) const fn new() -> Self {
        Self { left: FULL }
    }

    /// The task returns to wait: its next poll has the full budget.
    pub(crate) fn refill(&mut self) {
        self.left = FULL;
    }

    /// Takes one step. If none is left, the task has to return, and its next poll has the full budget.
    pub(crate) fn try_spend(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(FULL);
        left.is_some()
    }

    /// Takes one step. If none is left, the task has to return, and is woken at once.
    pub(crate) fn poll_spend(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.try_spend() {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
