//! The writes of this life: an answer may be lost, and the write is found in the lease later.

use crate::time::{Instant, WallTime};
use alloc::collections::VecDeque;
use core::time::Duration;

/// When writes were sent, by the `renewTime` in them.
#[derive(Debug, Default)]
pub(super) struct Sent {
    writes: VecDeque<(WallTime, Instant)>,
}

/// Within a renew deadline, fewer are sent. An older one that is found counts as another holder's.
const KEPT: usize = 16;

impl Sent {
    /// Notes a write. No two have one `renewTime`, whatever the wall clock says.
    pub(super) fn note(&mut self, at: Instant, wall: WallTime) -> WallTime {
        let mut time = wall;
        while self.at(Some(time)).is_some() {
            time = time + Duration::from_micros(1);
        }
        if self.writes.len() == KEPT {
            self.writes.pop_front();
        }
        self.writes.push_back((time, at));
        time
    }

    /// Whether there was a write.
    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// When the write with this `renewTime` was sent.
    pub(super) fn at(&self, renewed: Option<WallTime>) -> Option<Instant> {
        self.writes.iter().find(|(time, _)| Some(*time) == renewed).map(|(_, at)| *at)
    }
}
