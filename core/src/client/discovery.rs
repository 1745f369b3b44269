use super::call::checked;
use super::{ApiClient, ApiError, ApiRequest, ApiResponse, Method};
use crate::wire::Resource;
use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// All in one answer, where the server can.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// What a server serves, for those who name a kind in short. Who names group, version and plural does not need it.
///
/// Newer servers tell all in two answers; older ones in one for each version of each group.
///
/// ```no_run
/// # fn of(client: &dyn listwatch_core::ApiClient) -> Result<(), listwatch_core::ApiError> {
/// use listwatch_core::Discovery;
///
/// let discovery = Discovery::run(client)?;
/// let deployments = discovery.find("deploy").expect("every server has them");
/// assert_eq!(deployments.resource().path(), "/apis/apps/v1/deployments");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Discovery {
    wanted: VecDeque<String>,
    kinds: Vec<ApiKind>,
    unavailable: Vec<(String, ApiError)>,
}

/// A kind that a server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKind {
    /// The group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// Its name for many, in lower case, as paths have it.
    pub plural: String,
    /// Its name in objects, such as `Deployment`.
    pub kind: String,
    /// Its name for one, in lower case.
    pub singular: String,
    /// Abbreviations, such as `deploy`.
    pub short_names: Vec<String>,
    /// Whether its objects have a namespace.
    pub namespaced: bool,
    /// What can be done, such as `list` and `watch`.
    pub verbs: Vec<String>,
}

impl Discovery {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self { wanted: ["/api", "/apis"].map(str::to_owned).into(), kinds: Vec::new(), unavailable: Vec::new() }
    }

    /// Asks for everything.
    pub fn run(client: &(impl ApiClient + ?Sized)) -> Result<Self, ApiError> {
        let mut discovery = Self::new();
        while let Some(request) = discovery.poll_request() {
            let response = client.send(&request)?;
            discovery.handle(&request, &response)?;
        }
        Ok(discovery)
    }

    /// What to ask next; `None` when everything is known.
    #[must_use]
    pub fn poll_request(&mut self) -> Option<ApiRequest> {
        let mut request = ApiRequest::new(Method::Get, self.wanted.pop_front()?);
        request.accept = AGGREGATED;
        Some(request)
    }

    /// Takes an answer in. A group that is not available does not hide the others.
    pub fn handle(&mut self, request: &ApiRequest, response: &ApiResponse) -> Result<(), ApiError> {
        let result = checked(response).and_then(|()| self.read(&request.path, &response.body));
        match result {
            Err(error) if !matches!(request.path.as_str(), "/api" | "/apis") => {
                self.unavailable.push((request.path.clone(), error));
                Ok(())
            }
            result => result,
        }
    }

    /// All kinds, in the server's order of preference.
    #[must_use]
    pub fn kinds(&self) -> &[ApiKind] {
        &self.kinds
    }

    /// The paths that could not be read, and why: aggregated servers that are down.
    #[must_use]
    pub fn unavailable(&self) -> &[(String, ApiError)] {
        &self.unavailable
    }

    /// The kind of this name: plural, singular, kind or short name, in any case; `NAME.GROUP` and `NAME.VERSION.GROUP`
    /// say which group, `GROUP/VERSION/NAME` too. The first in the order of preference counts.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ApiKind> {
        let wanted = Wanted::of(name);
        let by_name = |kind: &&ApiKind| wanted.fits(kind) && kind.is_named(wanted.name);
        let by_short_name = |kind: &&ApiKind| wanted.fits(kind) && kind.is_short_for(wanted.name);
        self.kinds.iter().find(by_name).or_else(|| self.kinds.iter().find(by_short_name))
    }

    fn read(&mut self, path: &str, body: &[u8]) -> Result<(), ApiError> {
        let Named { kind } = parsed(body)?;
        match kind.as_str() {
            "APIGroupDiscoveryList" => self.on_aggregated(parsed(body)?),
            "APIVersions" => {
                let Versions { versions } = parsed(body)?;
                self.wanted.extend(versions.iter().map(|version| format!("/api/{version}")));
            }
            "APIGroupList" => self.on_groups(parsed(body)?),
            "APIResourceList" => self.on_resources(parsed(body)?),
            other => return Err(ApiError::Unreadable(format!("{path} says `{other}`, which is no API discovery"))),
        }
        Ok(())
    }

    fn on_aggregated(&mut self, list: Aggregated) {
        for group in list.items {
            for version in group.versions {
                if version.freshness == "Stale" {
                    self.on_stale(&group.metadata.name, &version.version);
                    continue;
                }
                for resource in version.resources {
                    self.kinds.push(ApiKind {
                        group: group.metadata.name.clone(),
                        version: version.version.clone(),
                        plural: resource.resource,
                        kind: resource.response_kind.kind,
                        singular: resource.singular_resource,
                        short_names: resource.short_names,
                        namespaced: resource.scope == "Namespaced",
                        verbs: resource.verbs,
                    });
                }
            }
        }
    }

    /// The server behind it is down, and what is known of it is old: as good as nothing.
    fn on_stale(&mut self, group: &str, version: &str) {
        let what = format!("what is known of {group}/{version} is stale: the server behind it cannot be reached");
        self.unavailable.push((format!("/apis/{group}/{version}"), ApiError::Unreadable(what)));
    }

    fn on_groups(&mut self, list: Groups) {
        for group in list.groups {
            let preferred = group.preferred_version.group_version;
            let others = group.versions.into_iter().map(|version| version.group_version);
            let others = others.filter(|version| *version != preferred).collect::<Vec<_>>();
            let versions = Some(preferred.clone()).into_iter().chain(others).filter(|version| !version.is_empty());
            self.wanted.extend(versions.map(|version| format!("/apis/{version}")));
        }
    }

    fn on_resources(&mut self, list: Resources) {
        let (group, version) = list.group_version.rsplit_once('/').unwrap_or(("", &list.group_version));
        // What has a slash is a part of an object.
        for resource in list.resources.into_iter().filter(|resource| !resource.name.contains('/')) {
            self.kinds.push(ApiKind {
                group: group.to_owned(),
                version: version.to_owned(),
                plural: resource.name,
                kind: resource.kind,
                singular: resource.singular_name,
                short_names: resource.short_names,
                namespaced: resource.namespaced,
                verbs: resource.verbs,
            });
        }
    }
}

impl Default for Discovery {
    fn default() -> Self {
        Self::new()
    }
}

impl ApiKind {
    /// All its objects.
    #[must_use]
    pub fn resource(&self) -> Resource {
        let root = if self.group.is_empty() { "/api" } else { "/apis/" };
        Resource::new(&format!("{root}{}/{}/{}", self.group, self.version, self.plural))
    }

    fn is_named(&self, name: &str) -> bool {
        [&self.plural, &self.singular, &self.kind].iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    fn is_short_for(&self, name: &str) -> bool {
        self.short_names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// What a name asks for.
struct Wanted<'a> {
    name: &'a str,
    /// A group, or a version and a group.
    of: Option<&'a str>,
    exact: Option<(&'a str, &'a str)>,
}

impl<'a> Wanted<'a> {
    fn of(text: &'a str) -> Self {
        if let Some((front, name)) = text.rsplit_once('/') {
            return Self { name, of: None, exact: Some(front.rsplit_once('/').unwrap_or(("", front))) };
        }
        let (name, of) = text.split_once('.').map_or((text, None), |(name, of)| (name, Some(of)));
        Self { name, of, exact: None }
    }

    fn fits(&self, kind: &ApiKind) -> bool {
        let ApiKind { group, version, .. } = kind;
        if let Some(exact) = self.exact {
            return exact == (group.as_str(), version.as_str());
        }
        let has_version = |of: &str| of.split_once('.').map_or((of, ""), |parts| parts) == (version, group);
        self.of.is_none_or(|of| of == group || has_version(of))
    }
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::Unreadable(error.to_string()))
}

#[derive(Deserialize)]
struct Named {
    kind: String,
}

#[derive(Deserialize)]
struct Versions {
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Groups {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Group {
    versions: Vec<GroupVersion>,
    preferred_version: GroupVersion,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GroupVersion {
    group_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resources {
    group_version: String,
    resources: Vec<Listed>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Listed {
    name: String,
    singular_name: String,
    namespaced: bool,
    kind: String,
    verbs: Vec<String>,
    short_names: Vec<String>,
}

#[derive(Deserialize)]
struct Aggregated {
    items: Vec<AggregatedGroup>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AggregatedGroup {
    metadata: GroupName,
    versions: Vec<AggregatedVersion>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GroupName {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AggregatedVersion {
    version: String,
    /// `Current` or `Stale`.
    freshness: String,
    resources: Vec<AggregatedResource>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AggregatedResource {
    resource: String,
    response_kind: ResponseKind,
    scope: String,
    singular_resource: String,
    short_names: Vec<String>,
    verbs: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseKind {
    kind: String,
}
