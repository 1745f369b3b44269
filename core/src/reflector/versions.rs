//! The versions that are followed: which state is older than which, and whether that can be told.

use crate::object::{Version, compare_versions, is_older};
use core::cmp::Ordering;

/// If the most recent state is older than the last one this many times in a row, the reflector accepts it. The server
/// was restored from a backup.
const BELIEVED: u32 = 2;

/// How far the server's history is followed.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// The version of the last list, or the newest one of an event or bookmark since.
    pub(super) reached: Option<Version>,
    /// The newest version of an object that was applied of a list before its end.
    ahead: Option<Version>,
    /// The server cannot use the version that was reached: request the most recent state (client-go
    /// `isLastSyncResourceVersionUnavailable`).
    pub(super) most_recent: bool,
    /// How many times in a row the most recent state was older than the version that was reached.
    older: u32,
    /// The known objects are of another history than the server's: their versions tell nothing.
    pub(super) foreign: bool,
}

impl Versions {
    /// Begins with the version of a whole state.
    pub(super) fn complete(&mut self, version: &str) {
        *self = Self::default();
        self.accept(version);
    }

    /// Goes on from this version, unless it is older than the one that was reached.
    pub(super) fn accept(&mut self, version: &str) {
        if !version.is_empty() && self.reached.as_deref() != Some(version) && !self.is_passed(version) {
            self.reached = Version::copied(version).or_else(|| self.reached.take());
        }
    }

    /// Whether the version is older than the one that was reached.
    pub(super) fn is_passed(&self, version: &str) -> bool {
        self.reached.as_deref().is_some_and(|reached| is_older(version, reached))
    }

    /// Whether two states of one uid and one version are the same. They may not be if the server's history is another one
    /// than that of the known objects.
    pub(crate) fn are_comparable(&self) -> bool {
        !self.foreign
    }

    /// Whether an object of this version is of the history that is followed. One that could not be decoded since may be of
    /// another one.
    pub(crate) fn has_reached(&self, version: &str) -> bool {
        self.newest().is_none_or(|newest| !is_older(newest, version))
    }

    /// Notes the version of an object that was applied before the list that has it was complete: a list that is older is
    /// not accepted any more.
    pub(crate) fn note_ahead(&mut self, version: &str) {
        let is_newer = |known: &Version| compare_versions(version, known) == Ok(Ordering::Greater);
        if self.newest().is_none_or(is_newer) {
            self.ahead = Version::copied(version);
        }
    }

    /// A whole state of this version and the version that it is older than.
    pub(super) fn older_than_known(&self, version: &str) -> Option<(Version, Version)> {
        let last = self.newest().filter(|last| is_older(version, last))?;
        Some((Version::copied(version).unwrap_or_else(|| last.clone()), last.clone()))
    }

    /// Notes that a state is older than the known one. Returns whether it is accepted all the same: a lagging replica must
    /// not revert the cache, but the most recent state may be older twice in a row.
    pub(super) fn note_older(&mut self, is_most_recent: bool) -> bool {
        self.older += u32::from(is_most_recent);
        self.foreign |= self.older > 0;
        self.older >= BELIEVED
    }

    /// The version that the cache has, or a newer one that a part of it has.
    fn newest(&self) -> Option<&Version> {
        self.ahead.as_ref().or(self.reached.as_ref())
    }
}
