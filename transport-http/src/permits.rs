use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many requests may be open at once, and how many are.
#[derive(Debug)]
pub(crate) struct Permits {
    most: usize,
    open: AtomicUsize,
}

/// One of the open requests that the limit counts.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Permits>);

impl Permits {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, open: AtomicUsize::new(0) })
    }

    /// The most open requests.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Reserves one of the requests that may be open at once.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Permit> {
        // A refusal takes no room for a moment, which another request would miss.
        let admit = |open| (open < self.most).then_some(open + 1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, admit).ok().map(|_| Permit(self.clone()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
