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
        if self.open.fetch_add(1, Ordering::Relaxed) < self.most {
            return Some(Permit(self.clone()));
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
