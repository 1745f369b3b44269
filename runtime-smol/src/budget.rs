use core::task::{Context, Poll};

/// How much a task does before it lets others go on, where it never has to wait.
///
/// An executor goes on with a task for as long as it says that it is ready, whoever waits beside it.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u32,
}

/// As many steps as the other tasks get for one of `main` under a simulated clock.
const FULL: u32 = 64;

impl Budget {
    pub(crate) const fn new() -> Self {
        Self { left: FULL }
    }

    /// The task waits by itself, so the others go on anyhow.
    pub(crate) fn refill(&mut self) {
        self.left = FULL;
    }

    /// Takes one of what is left. Where nothing is, the task is to return, and will be woken at once.
    pub(crate) fn poll_spend(&mut self, cx: &Context<'_>) -> Poll<()> {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return Poll::Ready(());
        }
        self.refill();
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
