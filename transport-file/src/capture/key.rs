use super::digest::{RequestDigest, hashed};
use listwatch_core::Resource;
use listwatch_core::request::{Query, Request};

/// The digest by which an exchange is found: of a list or a watch, or of a client's request.
///
/// Requests have any size, so that only their digests are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u64);

/// The digest of a resource. Its metadata-only form has the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResourceKey(u64);

impl ResourceKey {
    pub(crate) fn of(resource: &Resource) -> Self {
        Self(hashed((resource.path(), resource.label_selector(), resource.field_selector())))
    }
}

impl Key {
    /// The key of a list or a watch that got whole objects or metadata alone: the resource, the kind and the page.
    pub(crate) fn of_request(request: &Request, metadata_only: bool) -> Self {
        Self::of(&request.resource, request.query(), request.continue_token(), metadata_only)
    }

    /// The key of the first page of a list.
    pub(crate) fn of_list(resource: &Resource, metadata_only: bool) -> Self {
        Self::of(resource, Query::List, None, metadata_only)
    }

    pub(crate) fn of_watch_list(resource: &Resource, metadata_only: bool) -> Self {
        Self::of(resource, Query::WatchList, None, metadata_only)
    }

    fn of(resource: &Resource, query: Query, page: Option<&str>, metadata_only: bool) -> Self {
        Self(hashed((ResourceKey::of(resource), query, page, metadata_only)))
    }

    /// The key of a client's request.
    pub(crate) fn of_call(digest: RequestDigest) -> Self {
        Self(hashed(("call", digest)))
    }

    /// A number that is spread over all bits.
    pub(super) fn digest(self) -> u64 {
        self.0
    }
}
