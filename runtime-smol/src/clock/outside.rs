use super::source::Source;
use std::sync::Arc;

/// A task waits for a peer outside of the clock's time; see [`Clock::outside`](crate::Clock::outside).
#[derive(Debug)]
#[must_use = "simulated time stands still only while this is held"]
pub struct Outside(Arc<Source>);

impl Outside {
    pub(super) fn hold(source: Arc<Source>) -> Self {
        if let Some(time) = source.simulated() {
            time.hold();
        }
        Self(source)
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        if let Some(time) = self.0.simulated() {
            time.release();
        }
    }
}
