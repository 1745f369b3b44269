//! An entry of the time line. Its fields are those of a line of JSON.

use crate::arguments::What;
use crate::output::changes::{Changes, FieldChange};
use crate::output::seconds::seconds;
use listwatch::time::{MicroTime, WallTime};
use serde::Serialize;
use std::time::Duration;

/// What happened, and who did it.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Entry {
    /// The date in UTC, if the recording has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<String>,
    /// Seconds since the recording began.
    pub(super) after: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    pub(super) what: Sort,
    /// Such as `MODIFIED`, `PATCH`, `gap` or `took`.
    pub(super) event: String,
    /// Such as `deployments.apps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reconcile: Option<Reconcile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<FieldChange>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) more_changes: usize,
    /// How the answer differs from what was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) answered: Vec<FieldChange>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) more_answered: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) millis: Option<u64>,
    /// What a server, a program or this command says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    pub(super) failed: bool,
    #[serde(skip_serializing_if = "By::is_empty")]
    pub(super) by: By,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) writes: Vec<Self>,
    #[serde(skip)]
    pub(super) at: Duration,
    /// Such as `apps/v1/deployments`.
    #[serde(skip)]
    pub(super) collection: Option<String>,
    /// The users of a binding that is gone, unless it was one of groups.
    #[serde(skip)]
    pub(super) bound: Option<Vec<String>>,
    /// Whether its object has the labels that are asked for.
    #[serde(skip)]
    pub(super) is_labelled: bool,
    /// Whether the options select it, once it was marked.
    #[serde(skip)]
    pub(super) is_selected: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sort {
    #[default]
    Change,
    Reconcile,
    Write,
    Failure,
    Lease,
}

impl Sort {
    /// One of it, and many.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Change => ("change", "changes"),
            Self::Reconcile => ("reconcile", "reconciles"),
            Self::Write => ("write", "writes"),
            Self::Failure => ("failure", "failures"),
            Self::Lease => ("line of leases", "lines of leases"),
        }
    }
}

/// A reconcile as its notes tell it.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Reconcile {
    pub(super) number: u64,
    pub(super) of: String,
    pub(super) attempt: u32,
    pub(super) causes: Vec<String>,
    /// The writes of earlier reconciles that the caches did not show in time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) late: Vec<String>,
    /// The states of caches that it read.
    pub(super) read: Vec<ReadState>,
    /// `None` if it has none up to here.
    pub(super) outcome: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ReadState {
    /// The path of the lists and watches of the cache.
    pub(super) cache: String,
    pub(super) changes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
}

/// The author of a write or a change, as far as the recording tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct By {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reconcile: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) controller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<String>,
    /// The field managers whose fields changed, where no request of the recording made the change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) managers: Vec<String>,
    /// The line of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
}

impl By {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The controller, the program and the managers.
    pub(super) fn programs(&self) -> impl Iterator<Item = &str> {
        self.controller.iter().chain(&self.program).chain(&self.managers).map(String::as_str)
    }
}

impl Entry {
    /// Whether it is of a role or of a binding.
    pub(super) fn is_of_rules(&self) -> bool {
        self.collection.as_deref().is_some_and(|name| name.starts_with("rbac.authorization.k8s.io/"))
    }

    /// Dates it and its writes, in a recording that began then.
    pub(super) fn date(&mut self, began: Option<WallTime>) {
        self.after = seconds(self.at);
        self.time = began.map(|began| millis_of(began + self.at));
        self.writes.iter_mut().for_each(|write| write.date(began));
    }

    pub(super) fn set_changes(&mut self, changes: Changes) {
        (self.changes, self.more_changes) = (changes.listed, changes.more);
    }

    /// The end of its time.
    pub(super) fn until(&self) -> Duration {
        if self.reconcile.as_ref().is_some_and(|own| own.outcome.is_none()) {
            return Duration::MAX;
        }
        let millis = self.millis.filter(|_| self.what != Sort::Failure);
        self.at + Duration::from_millis(millis.unwrap_or(0))
    }

    /// The part of the time line to which it belongs, beside that of failures.
    pub(super) fn what(&self) -> What {
        match self.what {
            Sort::Change => What::Changes,
            Sort::Reconcile => What::Reconciles,
            Sort::Write => What::Writes,
            Sort::Failure => What::Failures,
            Sort::Lease => What::Leases,
        }
    }
}

/// A date to the millisecond.
fn millis_of(date: WallTime) -> String {
    let mut text = MicroTime(date).to_string();
    text.truncate("2026-11-22T14:53:47.123".len());
    text + "Z"
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
