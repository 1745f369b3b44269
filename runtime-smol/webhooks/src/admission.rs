//! A write, as a function that reviews it sees it.

use core::cell::RefCell;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A write that a function reviews, before the API server stores it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Admission<T> {
    /// Tells the review from others, in logs of the server.
    pub uid: String,
    /// What the client does.
    pub operation: Operation,
    /// The object as it is to be stored; of a deletion, the object that is to go.
    pub object: T,
    /// The object that an update replaces.
    pub old: Option<T>,
    /// The name; empty for one that is to be generated.
    pub name: String,
    /// The namespace; empty for none.
    pub namespace: String,
    /// The client.
    pub user: User,
    /// Whether nothing is stored. A function then has no effect elsewhere, either.
    pub dry_run: bool,
    notes: RefCell<Notes>,
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Operation {
    /// It creates the object.
    Create,
    /// It changes the object.
    Update,
    /// It deletes the object.
    Delete,
    /// It connects to the object, such as to a pod.
    Connect,
}

/// The client of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct User {
    /// Its name.
    #[serde(rename = "username")]
    pub name: String,
    /// Its uid; empty for none.
    pub uid: String,
    /// Its groups.
    pub groups: Vec<String>,
}

/// Why a write is refused. A text is a refusal with the status 403.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub(crate) code: u16,
    pub(crate) message: String,
}

impl Denial {
    /// A refusal with a status from 400 to 599; the server makes 400 of another one.
    #[must_use]
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl<T: Into<String>> From<T> for Denial {
    fn from(message: T) -> Self {
        Self::new(403, message)
    }
}

/// What a function tells beside its verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) warnings: Vec<String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

/// What a review has of a write beside its objects.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About {
    pub(crate) uid: String,
    pub(crate) operation: Operation,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    user_info: User,
    #[serde(default)]
    dry_run: bool,
}

impl<T> Admission<T> {
    pub(crate) fn new(about: About, object: T, old: Option<T>) -> Self {
        let About { uid, operation, name, namespace, user_info: user, dry_run } = about;
        Self { uid, operation, object, old, name, namespace, user, dry_run, notes: RefCell::default() }
    }

    /// Shows the client a warning, whatever the verdict is. A good one has at most 120 characters, and names the field.
    pub fn warn(&self, warning: impl Into<String>) {
        self.notes.borrow_mut().warnings.push(warning.into());
    }

    /// Adds an annotation to the event in the server's audit log. The server puts the name of the webhook before the key.
    pub fn annotate(&self, key: impl Into<String>, value: impl Into<String>) {
        self.notes.borrow_mut().annotations.insert(key.into(), value.into());
    }

    pub(crate) fn into_notes(self) -> Notes {
        self.notes.into_inner()
    }

    pub(crate) fn into_parts(self) -> (T, Notes) {
        (self.object, self.notes.into_inner())
    }
}
