use super::error::{ChangeError, ChangeErrorKind};
use super::place::Place;
use super::value::{names, same};
use serde_json::Value;

/// The fields of the metadata that a server refuses to change, or sets itself.
const READ_ONLY: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The part of an object that one request changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Everything but the status. The server ignores differences in the status of a kind that has the subresource.
    Object,
    /// The status, by its subresource. The server ignores differences elsewhere.
    Status,
}

impl Part {
    /// Refuses differences that the request would not make.
    pub(super) fn check(self, before: &Value, after: &Value) -> Result<(), ChangeError> {
        let changed = names(before, after).into_iter().filter(|name| !same(&before[*name], &after[*name]));
        for name in changed {
            let place = Place::Root.field(name);
            match (self, name) {
                (Self::Status, "status") => {}
                (Self::Status, _) => return Err(ChangeError::at(place, ChangeErrorKind::NotStatus)),
                (Self::Object, "status") => return Err(ChangeError::at(place, ChangeErrorKind::Status)),
                (Self::Object, "apiVersion" | "kind") => {
                    return Err(ChangeError::at(place, ChangeErrorKind::ReadOnly));
                }
                (Self::Object, "metadata") => check_metadata(place, &before[name], &after[name])?,
                (Self::Object, _) => {}
            }
        }
        Ok(())
    }
}

fn check_metadata(place: Place<'_>, before: &Value, after: &Value) -> Result<(), ChangeError> {
    match READ_ONLY.iter().find(|name| !same(&before[**name], &after[**name])) {
        Some(name) => Err(ChangeError::at(place.field(name), ChangeErrorKind::ReadOnly)),
        None => Ok(()),
    }
}
