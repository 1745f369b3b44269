//! The status of an informer, for people.

use super::InformerIn;
use super::restore::SavedAge;
use crate::cache::Cache;
use crate::decode::Decode;
use crate::object::Version;
use crate::reflector::{FailureClass, Outage, Phase};
use crate::storage::Mem;
use crate::text::{Counted, Printable};
use crate::time::{Instant, Span};
use core::fmt;
use core::task::Poll;
use core::time::Duration;

/// The status of an [`Informer`](crate::Informer) at a moment.
///
/// [`Display`](fmt::Display) writes it in one line:
/// `failing for 3 min: forbidden (status 403), 4 attempts, next in 42 s; nothing listed yet`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum InformerStatus {
    /// The informer was not started.
    Idle,
    /// The informer reads a list.
    Listing {
        /// For how long it has been reading.
        elapsed: Duration,
        /// The number of items so far.
        items: usize,
        /// Whether the cache has an earlier state.
        synced: bool,
    },
    /// The informer reads the initial events of a watch-list.
    Streaming {
        /// For how long it has been reading.
        elapsed: Duration,
        /// The number of items so far.
        items: usize,
        /// Whether the cache has an earlier state.
        synced: bool,
    },
    /// The first list is complete, but not all of its events were taken.
    Delivering {
        /// The number of queued changes.
        queued: usize,
    },
    /// The cache follows the server.
    Synced {
        /// The time since the last event, bookmark or list.
        age: Duration,
        /// Whether the next bookmark is overdue; see
        /// [`ReflectorConfig::bookmark_overdue`](crate::reflector::ReflectorConfig::bookmark_overdue).
        overdue: bool,
        /// The version up to which every change was received.
        received: Option<Version>,
        /// The version up to which every change was taken and is in the cache.
        applied: Option<Version>,
    },
    /// The cache has a [restored](crate::Informer::restore) state, which may be old: the server was not asked yet, or the
    /// watch has not caught up with it.
    Restored {
        /// The time since the state was saved.
        age: SavedAge,
    },
    /// Requests fail.
    Failing {
        /// The class of the last failure.
        class: FailureClass,
        /// The HTTP status of the last failure, where it has one.
        status: Option<u16>,
        /// How many attempts in a row failed.
        attempts: u32,
        /// For how long requests have failed.
        elapsed: Duration,
        /// The time to the next attempt; `None` during an attempt.
        next_try: Option<Duration>,
        /// Whether the cache has an earlier state.
        synced: bool,
        /// The time since the state was saved, if the cache has a [restored](crate::Informer::restore) one.
        restored: Option<SavedAge>,
    },
    /// The informer was stopped.
    Stopped,
}

impl InformerStatus {
    /// Whether the cache has a state, which may be an old one.
    pub fn is_synced(&self) -> bool {
        match self {
            Self::Synced { .. } | Self::Restored { .. } => true,
            Self::Listing { synced, .. } | Self::Streaming { synced, .. } | Self::Failing { synced, .. } => *synced,
            Self::Idle | Self::Delivering { .. } | Self::Stopped => false,
        }
    }

    /// The status in a word, such as `listing`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Listing { .. } => "listing",
            Self::Streaming { .. } => "streaming",
            Self::Delivering { .. } => "delivering",
            Self::Synced { .. } => "synced",
            Self::Restored { .. } => "restored",
            Self::Failing { .. } => "failing",
            Self::Stopped => "stopped",
        }
    }

    /// The status `by` later, if nothing has happened meanwhile.
    #[must_use]
    pub fn later(mut self, by: Duration) -> Self {
        match &mut self {
            Self::Listing { elapsed, .. } | Self::Streaming { elapsed, .. } => *elapsed = elapsed.saturating_add(by),
            Self::Synced { age, .. } => *age = age.saturating_add(by),
            Self::Restored { age } => *age = age.later(by),
            Self::Failing { elapsed, next_try, restored, .. } => {
                *elapsed = elapsed.saturating_add(by);
                *restored = restored.map(|age| age.later(by));
                *next_try = next_try.map(|next| next.saturating_sub(by));
            }
            Self::Idle | Self::Delivering { .. } | Self::Stopped => {}
        }
        self
    }
}

/// Whether the cache has an earlier state.
fn again(synced: bool) -> &'static str {
    if synced { " again" } else { "" }
}

impl fmt::Display for InformerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("not started"),
            Self::Stopped => f.write_str("stopped"),
            Self::Streaming { elapsed, items: 0, synced } => {
                write!(f, "waiting for the state{} for {}, no items yet", again(*synced), Span(*elapsed))
            }
            Self::Listing { elapsed, items, synced } | Self::Streaming { elapsed, items, synced } => {
                let what = if matches!(self, Self::Listing { .. }) { "listing" } else { "streaming the state" };
                write!(
                    f,
                    "{what}{} for {}, {} so far",
                    again(*synced),
                    Span(*elapsed),
                    Counted(*items, "item", "items")
                )
            }
            Self::Delivering { queued } => {
                write!(f, "listed; {}", Counted(*queued, "event is queued", "events are queued"))
            }
            Self::Synced { age, overdue, received, applied } => {
                write!(f, "synced")?;
                if let Some(applied) = applied.as_ref().or(received.as_ref()) {
                    write!(f, " at version {}", Printable::new(applied))?;
                }
                if let Some(received) = received.as_ref().filter(|_| applied != received) {
                    write!(f, " of {}", Printable::new(received))?;
                }
                write!(f, ", last update {} ago", Span(*age))?;
                f.write_str(if *overdue { " (a bookmark is overdue)" } else { "" })
            }
            Self::Restored { age } => write!(f, "restored from a state that was saved {age}"),
            Self::Failing { class, status, attempts, elapsed, next_try, synced, restored } => {
                match elapsed.as_secs() {
                    0 => write!(f, "failing: {class}")?,
                    _ => write!(f, "failing for {}: {class}", Span(*elapsed))?,
                }
                // An error event may have no status.
                if let Some(status @ 1..) = status {
                    write!(f, " (status {status})")?;
                }
                write!(f, ", {}, ", Counted(*attempts, "attempt", "attempts"))?;
                match next_try {
                    Some(next) if next.as_secs() == 0 => f.write_str("next in under 1 s")?,
                    Some(next) => write!(f, "next in {}", Span(*next))?,
                    None => f.write_str("trying again now")?,
                }
                match restored {
                    Some(age) => write!(f, "; the cache was saved {age}"),
                    None if *class == FailureClass::DoesNotFit => f.write_str("; the cache lacks objects"),
                    None if *synced => f.write_str("; the cache may be old"),
                    None => f.write_str("; nothing listed yet"),
                }
            }
        }
    }
}

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    /// The status at `now`.
    pub fn status(&self, now: Instant) -> InformerStatus {
        let elapsed = now.saturating_since(self.reflector.began());
        let (items, synced) = (self.list.items, self.fifo.has_synced());
        if let Some(outage) = self.reflector.outage() {
            return self.failing(outage, now);
        }
        let follows = matches!(self.reflector.phase(), Phase::Resuming | Phase::Watching | Phase::BackingOff);
        if let Some(age) = self.restored_age(now).filter(|_| synced && follows) {
            return InformerStatus::Restored { age };
        }
        match self.reflector.phase() {
            Phase::Idle => InformerStatus::Idle,
            Phase::Stopped => InformerStatus::Stopped,
            Phase::Listing if self.reflector.is_streaming() => InformerStatus::Streaming { elapsed, items, synced },
            Phase::Listing => InformerStatus::Listing { elapsed, items, synced },
            _ if !synced => InformerStatus::Delivering { queued: self.fifo.len() },
            Phase::Resuming | Phase::Watching | Phase::BackingOff => InformerStatus::Synced {
                age: now.saturating_since(self.reflector.last_heard()),
                overdue: self.reflector.is_overdue(now),
                received: self.reflector.version().cloned(),
                applied: self.progress.applied.clone(),
            },
        }
    }

    /// Ready once every object of the first list has been reported and is in the cache (client-go `WaitForCacheSync`).
    /// Call it again whenever events were taken.
    ///
    /// # Errors
    /// The status, if the informer was stopped before, or if the failure needs a manual change
    /// ([`FailureClass::requires_intervention`](crate::reflector::FailureClass::requires_intervention)).
    pub fn poll_synced(&self, now: Instant) -> Poll<Result<(), InformerStatus>> {
        if self.fifo.has_synced() {
            return Poll::Ready(Ok(()));
        }
        match self.status(now) {
            status @ InformerStatus::Stopped => Poll::Ready(Err(status)),
            status @ InformerStatus::Failing { class, .. } if class.requires_intervention() => Poll::Ready(Err(status)),
            _ => Poll::Pending,
        }
    }

    /// The version up to which [`poll_event`](Self::poll_event) has returned every change, so that the cache has them.
    /// It is that of the last event or bookmark before the oldest queued delta. If the queue is empty, it is
    /// [`received_version`](Self::received_version).
    pub fn applied_version(&self) -> Option<&str> {
        self.progress.applied.as_deref()
    }

    fn failing(&self, outage: Outage, now: Instant) -> InformerStatus {
        let backed_off = self.reflector.poll_timeout().filter(|_| self.reflector.phase() == Phase::BackingOff);
        let next = outage.again.or(backed_off);
        InformerStatus::Failing {
            class: outage.class,
            status: outage.status,
            attempts: outage.attempts,
            elapsed: now.saturating_since(outage.since),
            next_try: next.map(|next| next.saturating_since(now)),
            synced: self.fifo.has_synced(),
            restored: self.restored_age(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::WallTime;
    use std::string::ToString;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_status_is_one_line_for_people() {
        let version = |version: &str| Version::copied(version);
        let synced =
            |applied, overdue| InformerStatus::Synced { age: 4 * SECOND, overdue, received: version("2453"), applied };
        let failing = |status, next_try, synced| InformerStatus::Failing {
            class: FailureClass::Forbidden,
            status,
            attempts: 4,
            elapsed: 190 * SECOND,
            next_try,
            synced,
            restored: None,
        };
        let lines = [
            (InformerStatus::Idle, "not started"),
            (InformerStatus::Stopped, "stopped"),
            (InformerStatus::Delivering { queued: 12 }, "listed; 12 events are queued"),
            (
                InformerStatus::Listing { elapsed: 3 * SECOND, items: 120, synced: false },
                "listing for 3 s, 120 items so far",
            ),
            (
                InformerStatus::Streaming { elapsed: 7200 * SECOND, items: 1, synced: true },
                "streaming the state again for 2 h, 1 item so far",
            ),
            (synced(version("2453"), false), "synced at version 2453, last update 4 s ago"),
            (
                synced(version("2440"), true),
                "synced at version 2440 of 2453, last update 4 s ago (a bookmark is overdue)",
            ),
            (
                failing(Some(403), Some(42 * SECOND), false),
                "failing for 3 min: forbidden (status 403), 4 attempts, next in 42 s; nothing listed yet",
            ),
            (
                failing(None, None, true),
                "failing for 3 min: forbidden, 4 attempts, trying again now; the cache may be old",
            ),
        ];
        for (status, line) in lines {
            assert_eq!(status.to_string(), line);
        }
    }

    #[test]
    fn a_restored_state_says_how_old_it_is_and_grows_older() {
        let failing = InformerStatus::Failing {
            class: FailureClass::Unreachable,
            status: None,
            attempts: 2,
            elapsed: SECOND,
            next_try: None,
            synced: true,
            restored: Some(SavedAge::Known(7200 * SECOND)),
        };
        let line = "failing for 60 min: unreachable, 2 attempts, trying again now; the cache was saved 3 h ago";
        assert_eq!(failing.later(3600 * SECOND).to_string(), line);
        let restored = InformerStatus::Restored { age: SavedAge::Known(60 * SECOND) };
        assert!(restored.is_synced());
        assert_eq!(restored.later(60 * SECOND).to_string(), "restored from a state that was saved 2 min ago");
    }

    #[test]
    fn a_state_dated_later_than_the_clock_has_an_unknown_age() {
        let (then, now) = (WallTime::UNIX_EPOCH + SECOND, WallTime::UNIX_EPOCH);
        assert_eq!(SavedAge::between(now, now), SavedAge::Known(Duration::ZERO));
        let restored = InformerStatus::Restored { age: SavedAge::between(then, now) }.later(3600 * SECOND);
        let line = "restored from a state that was saved at an unknown time: the clock is behind its date";
        assert_eq!(restored.to_string(), line);
    }

    #[test]
    fn a_status_without_items_is_waiting_for_the_state() {
        let streaming = |items, synced| InformerStatus::Streaming { elapsed: 2 * SECOND, items, synced }.to_string();
        assert_eq!(streaming(0, false), "waiting for the state for 2 s, no items yet");
        assert_eq!(streaming(0, true), "waiting for the state again for 2 s, no items yet");
        assert_eq!(streaming(2, false), "streaming the state for 2 s, 2 items so far");
    }

    #[test]
    fn an_outage_of_less_than_a_second_is_told_without_its_length() {
        let failing = |elapsed, next_try| InformerStatus::Failing {
            class: FailureClass::Unreachable,
            status: None,
            attempts: 1,
            elapsed,
            next_try,
            synced: false,
            restored: None,
        };
        let millis = Duration::from_millis(800);
        let (first, later) = (failing(millis, Some(millis)), failing(SECOND, Some(SECOND)));
        assert_eq!(first.to_string(), "failing: unreachable, 1 attempt, next in under 1 s; nothing listed yet");
        assert_eq!(later.to_string(), "failing for 1 s: unreachable, 1 attempt, next in 1 s; nothing listed yet");
    }

    #[test]
    fn an_error_event_without_a_status_is_told_without_a_number() {
        let failing = InformerStatus::Failing {
            class: FailureClass::StreamError,
            status: Some(0),
            attempts: 1,
            elapsed: SECOND,
            next_try: None,
            synced: true,
            restored: None,
        };
        let line = "failing for 1 s: error event, 1 attempt, trying again now; the cache may be old";
        assert_eq!(failing.to_string(), line);
    }
}
