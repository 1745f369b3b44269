use listwatch::time::WallTime;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The date that the recording has reached. A clone is the same date.
#[derive(Clone, Debug)]
pub(super) struct RecordedDate(Arc<AtomicI64>);

impl RecordedDate {
    pub(super) fn new(date: WallTime) -> Self {
        Self(Arc::new(date.as_unix_micros().into()))
    }

    pub(super) fn set(&self, date: WallTime) {
        self.0.store(date.as_unix_micros(), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> WallTime {
        WallTime::from_unix_micros(self.0.load(Ordering::Relaxed))
    }
}
