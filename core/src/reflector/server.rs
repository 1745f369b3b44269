//! What a server has shown of itself, and what is requested accordingly.

use super::failure::FailureClass;
use super::retry_policy::REFUSED_WATCHES;
use crate::time::{Instant, eighths};
use core::ops::RangeInclusive;
use core::time::Duration;

/// For how long a server that refused a watch-list is listed. Then the reflector tries again: the server may have been
/// upgraded.
const LISTED: Duration = Duration::from_secs(24 * 3600);
/// If a server refuses watches, one watch follows after this many watch-lists and refusals in a row.
const TRIED: u32 = 8;
/// After at most this many silent watches in a row, a relist follows.
const MOST_SILENT: u32 = 16;
/// The time between periodic bookmarks: API servers send one a minute. Outside this range, a bookmark has another
/// cause, or was read late.
const USUAL_GAPS: RangeInclusive<Duration> = Duration::from_secs(30)..=Duration::from_secs(120);

/// What is known of the server that is followed.
#[derive(Debug, Default)]
pub(super) struct Server {
    /// When it last refused a watch-list, or sent one that did not end.
    pub(super) lists_since: Option<Instant>,
    /// The next state is requested by a list.
    pub(super) lists_next: bool,
    /// How many times in a row a watch-list failed, by class.
    pub(super) failures: [u8; FailureClass::ALL.len()],
    /// It pages lists of version `0` too, so it has no watch cache.
    pub(super) paginated: bool,
    /// How many times in a row it refused to watch on.
    pub(super) refused: u32,
    /// The time between the last two bookmarks; `None` while it has not sent two.
    pub(super) bookmarks: Option<Duration>,
    /// How many watches in a row lived for long and brought neither event nor bookmark.
    pub(super) silent: u32,
}

impl Server {
    /// Whether the next state is requested by a watch-list.
    pub(super) fn may_stream(&self, now: Instant) -> bool {
        !self.lists_next && self.lists_since.is_none_or(|since| now.saturating_since(since) >= LISTED)
    }

    /// Whether it refuses watches, so that a watch-list has to follow, which goes on as a watch. After the first watch-list a
    /// watch is tried, and then now and then.
    pub(super) fn refuses_watches(&mut self) -> bool {
        let refuses = self.refused >= REFUSED_WATCHES;
        self.refused = self.refused.saturating_add(u32::from(refuses));
        refuses && self.refused % TRIED != (REFUSED_WATCHES + 2) % TRIED
    }

    /// Notes a silent watch, and says whether a relist follows: to a quiet server less and less often, but at least after
    /// every `MOST_SILENT`th watch.
    pub(super) fn note_silent(&mut self) -> bool {
        self.silent = self.silent.saturating_add(1);
        self.silent.is_power_of_two() || self.silent.is_multiple_of(MOST_SILENT)
    }

    /// Notes that a bookmark of a watch came so long after the one before.
    pub(super) fn note_gap(&mut self, gap: Duration) {
        if USUAL_GAPS.contains(&gap) {
            self.bookmarks = Some(gap);
        }
    }

    /// How long a watch may bring nothing from a server that is known to send bookmarks.
    pub(super) fn longest_silence(&self, overdue: Option<Duration>) -> Option<Duration> {
        Some(eighths(self.bookmarks?, 20).min(overdue?))
    }
}
