use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Notifies the thread of a request that its caller no longer waits. A clone is the same token.
#[derive(Clone, Debug, Default)]
pub(crate) struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
