use crate::request::Resource;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A kind that a server serves (`meta/v1` `APIResource`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiResource {
    /// The group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The plural name, in lower case, which paths contain.
    pub plural: String,
    /// The `kind` of its objects, such as `Deployment`.
    pub kind: String,
    /// The singular name, in lower case.
    pub singular: String,
    /// The short names, such as `deploy`.
    pub short_names: Vec<String>,
    /// Whether its objects have a namespace.
    pub namespaced: bool,
    /// The verbs, such as `list` and `watch`.
    pub verbs: Vec<String>,
}

impl ApiResource {
    /// The collection of all its objects, in all namespaces.
    pub fn resource(&self) -> Resource {
        let root = if self.group.is_empty() { "/api" } else { "/apis/" };
        Resource::new(&format!("{root}{}/{}/{}", self.group, self.version, self.plural))
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        [&self.plural, &self.singular, &self.kind].iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    pub(super) fn is_short_for(&self, name: &str) -> bool {
        self.short_names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// A name, as [`Discovery::find`](super::Discovery::find) takes it, in its parts.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    /// A group, or a version and a group.
    of: Option<&'a str>,
    exact: Option<(&'a str, &'a str)>,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        if let Some((front, name)) = text.rsplit_once('/') {
            return Self { name, of: None, exact: Some(front.rsplit_once('/').unwrap_or(("", front))) };
        }
        let (name, of) = text.split_once('.').map_or((text, None), |(name, of)| (name, Some(of)));
        Self { name, of, exact: None }
    }

    pub(super) fn fits(&self, kind: &ApiResource) -> bool {
        let ApiResource { group, version, .. } = kind;
        if let Some(exact) = self.exact {
            return exact == (group.as_str(), version.as_str());
        }
        let has_version = |of: &str| of.split_once('.').map_or((of, ""), |parts| parts) == (version, group);
        self.of.is_none_or(|of| of == group || has_version(of))
    }
}
