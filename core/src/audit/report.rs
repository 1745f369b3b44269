use crate::api::ApiError;
use crate::object::{Key, Version};
use crate::text::{Counted, Printable};
use alloc::vec::Vec;
use core::fmt;

/// What an [`Audit`](super::Audit) has found.
///
/// [`Display`](fmt::Display) writes it in one line:
/// `drift at version 2453: 1 missing, 2 stale of 120 objects: web/a missing (server 2440), …`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditReport {
    /// The version of the list.
    pub version: Version,
    /// The version that the store had reached; `None` if it has no first list.
    pub reached: Option<Version>,
    /// Whether the store did not reach the version of the list in time. The differences are suspicions then.
    pub is_behind: bool,
    /// How many objects the list had.
    pub objects: usize,
    /// How many objects the store lacks.
    pub missing: usize,
    /// How many objects only the store has.
    pub extra: usize,
    /// How many objects the store has in another version.
    pub stale: usize,
    /// How many objects the store lacks, or has in another version, because the listed state could not be decoded. They
    /// are no drift.
    pub undecodable: usize,
    /// The first differences, by key.
    pub differences: Vec<Difference>,
}

/// An object of which server and store have two states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The object.
    pub key: Key,
    /// The version in the list; `None` if the list does not have the object.
    pub server: Option<Version>,
    /// The version in the store; `None` if the store does not have it.
    pub store: Option<Version>,
}

/// How server and store differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// The store lacks the object.
    Missing,
    /// Only the store has the object.
    Extra,
    /// The store has the object in another version.
    Stale,
}

/// The result of an audit in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The store had what the server had.
    Clean,
    /// The store has reached the list's version, and differs.
    Drifted,
    /// The store differs, and has not reached the list's version in time: its stream is stuck, or slow.
    Behind,
}

impl AuditReport {
    /// The result in a word.
    pub fn verdict(&self) -> Verdict {
        match self.total() {
            _ if self.is_behind => Verdict::Behind,
            0 => Verdict::Clean,
            _ => Verdict::Drifted,
        }
    }

    /// How many objects differ, those without a name in [`differences`](Self::differences) too.
    pub fn total(&self) -> usize {
        self.missing + self.extra + self.stale
    }

    pub(super) fn add(&mut self, difference: Difference, named: usize) {
        *match difference.kind() {
            DifferenceKind::Missing => &mut self.missing,
            DifferenceKind::Extra => &mut self.extra,
            DifferenceKind::Stale => &mut self.stale,
        } += 1;
        let at = self.differences.partition_point(|it| it.key < difference.key);
        self.differences.insert(at, difference);
        self.differences.truncate(named);
    }
}

impl Difference {
    /// How they differ.
    pub fn kind(&self) -> DifferenceKind {
        match (&self.server, &self.store) {
            (Some(_), None) => DifferenceKind::Missing,
            (None, _) => DifferenceKind::Extra,
            (Some(_), Some(_)) => DifferenceKind::Stale,
        }
    }
}

impl DifferenceKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Stale => "stale",
        }
    }
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Drifted => "drifted",
            Self::Behind => "behind",
        }
    }
}

/// How many differences a line names.
const SHOWN: usize = 5;

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, objects) = (Printable::new(&self.version), Counted(self.objects, "object", "objects"));
        match (self.verdict(), &self.reached) {
            (Verdict::Clean, _) => write!(f, "no drift at version {version}: {objects}")?,
            (Verdict::Drifted, _) => write!(f, "drift at version {version}:")?,
            (Verdict::Behind, Some(reached)) => {
                write!(f, "behind: the store is at version {}, the server at {version}:", Printable::new(reached))?;
            }
            (Verdict::Behind, None) => write!(f, "behind: the store has no first list, the server is at {version}:")?,
        }
        let counts = [("missing", self.missing), ("extra", self.extra), ("stale", self.stale)];
        let mut separator = " ";
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            write!(f, "{separator}{count} {name}")?;
            separator = ", ";
        }
        if self.total() > 0 {
            write!(f, " of {objects}")?;
        }
        if self.undecodable > 0 {
            write!(f, "; {} could not be decoded", self.undecodable)?;
        }
        let mut separator = ": ";
        for difference in self.differences.iter().take(SHOWN) {
            write!(f, "{separator}{difference}")?;
            separator = ", ";
        }
        let is_cut = self.total() > self.differences.len().min(SHOWN);
        f.write_str(if is_cut { ", …" } else { "" })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Printable::new(&self.key), self.kind().name())?;
        match (&self.server, &self.store) {
            (Some(server), Some(store)) => {
                write!(f, " (server {}, store {})", Printable::new(server), Printable::new(store))
            }
            (Some(server), None) => write!(f, " (server {})", Printable::new(server)),
            (None, Some(store)) => write!(f, " (store {})", Printable::new(store)),
            (None, None) => Ok(()),
        }
    }
}

/// Why an [`Audit`](super::Audit) did not compare the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditError {
    /// A request for the list failed.
    Failed(ApiError),
    /// The list expired between its pages, each time that it began again.
    Expired,
    /// The second list is older than the store, each time that it began again: the server does not answer with its newest
    /// state.
    BackInTime,
    /// The list has too many pages, or a page names itself as the next one.
    Endless,
    /// A version is not a decimal number, so nothing tells whether the store has reached it.
    Unordered,
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Expired => f.write_str("the list expired before its last page, again and again"),
            Self::BackInTime => {
                f.write_str("the server answers with lists that are older than the store, again and again")
            }
            Self::Endless => f.write_str("the list has no end: too many pages, or one that names itself as the next"),
            Self::Unordered => {
                f.write_str("the server's resource versions have no order, so the store cannot be compared")
            }
        }
    }
}

impl core::error::Error for AuditError {}
