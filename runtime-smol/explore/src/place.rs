//! The places of a run at which something can go wrong.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeSet;

/// A place of a run, by its content: the nth request of this method to this object, the nth effect of this name outside of
/// the cluster, or the nth step of the scenario. So it is the same place when other requests come between.
///
/// It is written as `PATCH apps/v1/deployments web/b/status 2`, `CALL s3.delete 1` or `STEP 1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// What happens, without the number: a method, `LIST`, `WATCH`, `CALL` or `STEP`, and where.
    pub at: String,
    /// How often it has happened, this time included.
    pub nth: u32,
}

impl Place {
    /// The word at its begin.
    pub(crate) fn verb(&self) -> &str {
        self.at.split(' ').next().unwrap_or_default()
    }

    /// The name of a call.
    pub(crate) fn name(&self) -> &str {
        self.at.split_once(' ').map_or("", |(_, name)| name)
    }

    /// The resource of a request; empty for others.
    pub(crate) fn resource(&self) -> &str {
        if self.is_request() { self.at.split(' ').nth(1).unwrap_or_default() } else { "" }
    }

    /// The namespace and the name of the object, with the subresource.
    pub(crate) fn key(&self) -> &str {
        self.at.split(' ').nth(2).unwrap_or_default()
    }

    /// The namespace and the name of the object, without the subresource.
    pub(crate) fn object(&self, cluster_wide: &BTreeSet<String>) -> String {
        let parts = if cluster_wide.contains(self.resource()) { 1 } else { 2 };
        let parts: Vec<&str> = self.key().split('/').take(parts).collect();
        parts.join("/")
    }

    /// Whether it is a request to an object, named as `apps/v1/deployments web/b`, or to a subresource of it.
    pub(crate) fn is_to(&self, object: &str) -> bool {
        let named = self.at.split_once(' ').map_or("", |(_, named)| named);
        self.is_request() && named.strip_prefix(object).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn is_request(&self) -> bool {
        !matches!(self.verb(), "CALL" | "STEP")
    }

    pub(crate) fn is_write(&self) -> bool {
        matches!(self.verb(), "POST" | "PUT" | "PATCH" | "DELETE")
    }

    /// Whether it is a request of what all controllers write beside their work.
    pub(crate) fn is_by_the_way(&self) -> bool {
        is_event(self.resource())
    }
}

/// Whether the objects of a resource are Events.
pub(crate) fn is_event(resource: &str) -> bool {
    matches!(resource, "v1/events" | "events.k8s.io/v1/events")
}

/// Whether the objects of a resource tell which replica leads.
pub(crate) fn is_lease(resource: &str) -> bool {
    resource == "coordination.k8s.io/v1/leases"
}

/// Whether a resource has the work of a program: Events and Leases are beside it.
pub(crate) fn is_work(resource: &str) -> bool {
    !is_event(resource) && !is_lease(resource)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.nth)
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("no place is written as {text:?}; one is `PATCH apps/v1/deployments web/b 2`");
        let (at, nth) = text.trim().rsplit_once(' ').ok_or_else(wrong)?;
        Ok(Self { at: at.to_owned(), nth: nth.parse().map_err(|_| wrong())? })
    }
}
