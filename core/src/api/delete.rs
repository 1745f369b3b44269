use crate::object::Uid;
use alloc::string::{String, ToString};
use serde::Serialize;

/// How the server deletes an object, and under which conditions (`meta/v1` `DeleteOptions`).
///
/// ```
/// use listwatch_core::api::{DeleteOptions, PropagationPolicy};
///
/// let options = DeleteOptions::default()
///     .with_uid("7c9e6679-7425-40de-944b-e07fc1f90ae7")
///     .with_propagation(PropagationPolicy::Foreground);
/// assert_eq!(options.grace_period_seconds, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeleteOptions {
    /// If set, the server deletes the object only while it has this uid, and never its successor of the same name.
    pub uid: Option<Uid>,
    /// If set, the server deletes the object only in this version.
    pub resource_version: Option<String>,
    /// The seconds that the object has to shut down; `None` for the default of its kind.
    pub grace_period_seconds: Option<u32>,
    /// The policy for its dependents; `None` for the default of its kind.
    pub propagation: Option<PropagationPolicy>,
}

/// The policy for the dependents of a deleted object (`meta/v1` `DeletionPropagation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum PropagationPolicy {
    /// The dependents stay.
    Orphan,
    /// The dependents are deleted after the object.
    Background,
    /// The dependents are deleted before the object.
    Foreground,
}

impl DeleteOptions {
    /// Deletes the object only while it has this uid.
    #[must_use]
    pub fn with_uid(mut self, uid: impl Into<Uid>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// Deletes the object only in this version.
    #[must_use]
    pub fn with_resource_version(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// Gives the object this many seconds to shut down.
    #[must_use]
    pub fn with_grace_period(mut self, seconds: u32) -> Self {
        self.grace_period_seconds = Some(seconds);
        self
    }

    /// Sets the policy for the object's dependents.
    #[must_use]
    pub fn with_propagation(mut self, policy: PropagationPolicy) -> Self {
        self.propagation = Some(policy);
        self
    }

    /// The body of the request.
    pub(super) fn body(&self) -> impl Serialize + '_ {
        let (uid, resource_version) = (self.uid.as_ref().map(Uid::to_string), self.resource_version.as_deref());
        let has_any = uid.is_some() || resource_version.is_some();
        DeleteBody {
            kind: "DeleteOptions",
            api_version: "v1",
            preconditions: has_any.then_some(Preconditions { uid, resource_version }),
            grace_period_seconds: self.grace_period_seconds,
            propagation_policy: self.propagation,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeleteBody<'a> {
    kind: &'static str,
    api_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    preconditions: Option<Preconditions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_period_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    propagation_policy: Option<PropagationPolicy>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preconditions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<&'a str>,
}
