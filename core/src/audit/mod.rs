//! Compares a store with a fresh list of the server, without disturbing it: a *drift audit*.
//!
//! | type | purpose |
//! |---|---|
//! | [`Audit`] | requests the list, waits until the store has reached its version, and decides which differences stand |
//! | [`Replica`] | what an audit reads of a store |
//! | [`AuditReport`], [`Difference`] | what it has found, by key |
//! | [`AuditError`] | why it found nothing out |
//! | [`AuditSchedule`] | when the next audit begins |
//!
//! The store changes while the list is read. So a difference is a suspicion at first, and a report names those alone that
//! no order of the changes explains:
//!
//! | kind | the store has reached the list's version `R`, and … |
//! |---|---|
//! | [`Stale`](DifferenceKind::Stale) | has the object of a version up to `R`, which is not the listed one |
//! | [`Extra`](DifferenceKind::Extra) | has an object of a version up to `R`, which is not in the list |
//! | [`Missing`](DifferenceKind::Missing) | lacks the object, and a second list, requested later, has it of the same version |
//!
//! The second list is needed because a store keeps no versions of deletions. It is requested only if objects are missing.
//!
//! client-go compares a watch-list with a list once, if `KUBE_WATCHLIST_INCONSISTENCY_DETECTOR` is set, and panics.

mod config;
mod machine;
mod page;
mod report;
#[cfg(test)]
mod tests;

pub use config::{AuditConfig, AuditSchedule};
pub use machine::{Audit, Replica};
pub use report::{AuditError, AuditReport, Difference, DifferenceKind, Verdict};
