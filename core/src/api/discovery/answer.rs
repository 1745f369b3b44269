//! The answers of discovery, and the limits within which they are read.

use super::resource::ApiResource;
use crate::api::ApiError;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The limit of groups, of versions of a group, and of kinds.
pub(super) const MOST_ENTRIES: usize = 50_000;

/// The limit of verbs, and of short names, of a kind.
const MOST_NAMES: usize = 64;

/// The limit of bytes of a group's name with its version: each kind has a copy.
const LONGEST_NAME: usize = 512;

pub(super) fn parsed<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::Unreadable(error.to_string()))
}

/// The name of a group or of a version, unless it is too long for one.
pub(super) fn short(name: String) -> Result<String, ApiError> {
    if name.len() <= LONGEST_NAME {
        return Ok(name);
    }
    let what = format!("the server names a group or a version with {} bytes; {LONGEST_NAME} are the most", name.len());
    Err(ApiError::Unreadable(what))
}

/// A list of at most `MOST` entries.
pub(super) struct AtMost<T, const MOST: usize>(pub(super) Vec<T>);

impl<T, const MOST: usize> Default for AtMost<T, MOST> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for AtMost<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Counting(PhantomData))
    }
}

struct Counting<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Counting<T, MOST> {
    type Value = AtMost<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MOST} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut read = Vec::new();
        while let Some(entry) = entries.next_element()? {
            if read.len() == MOST {
                return Err(A::Error::custom(format_args!("a list has more than {MOST} entries")));
            }
            read.push(entry);
        }
        Ok(AtMost(read))
    }
}

type Entries<T> = AtMost<T, MOST_ENTRIES>;
type Names = AtMost<String, MOST_NAMES>;

/// The entries of a list within a list, which are read one list at a time: all of them at once could be too many.
fn nested<'a, T: Deserialize<'a>>(list: Option<&'a RawValue>) -> Result<Vec<T>, ApiError> {
    let read = |list: &'a RawValue| parsed::<Entries<T>>(list.get().as_bytes());
    Ok(list.map(read).transpose()?.unwrap_or_default().0)
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) kind: String,
}

#[derive(Deserialize)]
pub(super) struct Versions {
    pub(super) versions: Entries<String>,
}

#[derive(Deserialize)]
pub(super) struct Groups {
    pub(super) groups: Entries<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct Group {
    pub(super) versions: AtMost<GroupVersion, MOST_NAMES>,
    pub(super) preferred_version: GroupVersion,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GroupVersion {
    pub(super) group_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resources {
    pub(super) group_version: String,
    pub(super) resources: Entries<Listed>,
}

/// A kind, in either form of discovery.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Listed {
    #[serde(alias = "resource")]
    pub(super) name: String,
    #[serde(alias = "singularResource")]
    singular_name: String,
    namespaced: bool,
    scope: String,
    kind: String,
    response_kind: ResponseKind,
    verbs: Names,
    short_names: Names,
}

impl Listed {
    pub(super) fn into_resource(self, group: &str, version: &str) -> ApiResource {
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: self.name,
            kind: if self.kind.is_empty() { self.response_kind.kind } else { self.kind },
            singular: self.singular_name,
            short_names: self.short_names.0,
            namespaced: self.namespaced || self.scope == "Namespaced",
            verbs: self.verbs.0,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Aggregated<'a> {
    #[serde(borrow)]
    pub(super) items: Entries<AggregatedGroup<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AggregatedGroup<'a> {
    pub(super) metadata: GroupName,
    #[serde(borrow)]
    versions: Option<&'a RawValue>,
}

impl<'a> AggregatedGroup<'a> {
    pub(super) fn versions(&self) -> Result<Vec<AggregatedVersion<'a>>, ApiError> {
        nested(self.versions)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct GroupName {
    pub(super) name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AggregatedVersion<'a> {
    pub(super) version: String,
    /// `Current` or `Stale`.
    pub(super) freshness: String,
    #[serde(borrow)]
    resources: Option<&'a RawValue>,
}

impl AggregatedVersion<'_> {
    pub(super) fn resources(&self) -> Result<Vec<Listed>, ApiError> {
        nested(self.resources)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseKind {
    kind: String,
}
