use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Somebody who waits for an answer, until he hangs up. A clone is the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    pub(crate) fn hang_up(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
