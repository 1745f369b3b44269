//! The writes of this life: an answer may be lost, and the write is found in the lease later.

use crate::time::{Instant, WallTime};
use alloc::collections::VecDeque;
use core::time::Duration;

/// When writes were sent, by the `renewTime` in them.
#[derive(Debug, Default)]
pub(super) struct Sent {
    writes: VecDeque<(WallTime, Instant)>,
    last: Option<WallTime>,
}

/// A wall clock that shows a later time is wrong, and leaves no later ones.
const LATEST: WallTime = WallTime::from_unix_seconds(WallTime::MAX.as_unix_seconds() - 86_400);

impl Sent {
    /// Notes a write. No two have one `renewTime`, whatever the wall clock says.
    pub(super) fn note(&mut self, at: Instant, wall: WallTime) -> WallTime {
        let wall = wall.min(LATEST);
        let next = self.last.map(|last| last + Duration::from_micros(1));
        let time = next.map_or(wall, |next| wall.max(next));
        self.last = Some(time);
        self.writes.push_back((time, at));
        time
    }

    /// Forgets the last write, which the server has refused: a lease with its `renewTime` is another candidate's.
    pub(super) fn take_back(&mut self) {
        self.writes.pop_back();
    }

    /// Forgets the writes that were sent before `oldest`, but for the one with this `renewTime`.
    pub(super) fn forget(&mut self, oldest: Instant, but: Option<WallTime>) {
        self.writes.retain(|(time, at)| *at >= oldest || Some(*time) == but);
    }

    /// When the write with this `renewTime` was sent.
    pub(super) fn at(&self, renewed: Option<WallTime>) -> Option<Instant> {
        self.writes.iter().find(|(time, _)| Some(*time) == renewed).map(|(_, at)| *at)
    }

    /// Whether there never was a write.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }
}
