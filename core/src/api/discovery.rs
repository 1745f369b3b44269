use super::call::checked;
use super::discovery_answer::{Aggregated, Groups, Listed, MOST_ENTRIES, Named, Resources, Versions, parsed, short};
use super::{ApiClient, ApiError, ApiRequest, ApiResponse, Method};
use crate::decode::Status;
use crate::request::Resource;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// All in one answer, where the server can.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// How many versions are asked for one by one.
const MOST_VERSIONS: usize = 4_096;

/// How many characters are kept of the answer of a version that cannot be read.
const LONGEST_MESSAGE: usize = 1_024;

/// What a server serves, for those who name a kind in short. Who names group, version and plural does not need it.
///
/// Newer servers tell all in two answers; older ones in one for each version of each group. A server that names more than
/// 50,000 kinds, or more than 4,096 versions one by one, is refused with [`ApiError::Unreadable`].
///
/// ```no_run
/// # fn of(client: &dyn listwatch_core::api::ApiClient) -> Result<(), listwatch_core::api::ApiError> {
/// use listwatch_core::api::Discovery;
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
    /// The paths that a server named, asked for or wanted.
    named: BTreeSet<String>,
    kinds: Vec<ApiResource>,
    unavailable: Vec<(String, ApiError)>,
}

/// A kind that a server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResource {
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
        Self {
            wanted: ["/api", "/apis"].map(str::to_owned).into(),
            named: BTreeSet::new(),
            kinds: Vec::new(),
            unavailable: Vec::new(),
        }
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
                self.unavailable.push((request.path.clone(), kept(error)));
                Ok(())
            }
            result => result,
        }
    }

    /// All kinds, in the server's order of preference.
    #[must_use]
    pub fn kinds(&self) -> &[ApiResource] {
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
    pub fn find(&self, name: &str) -> Option<&ApiResource> {
        let wanted = Wanted::of(name);
        let by_name = |kind: &&ApiResource| wanted.fits(kind) && kind.is_named(wanted.name);
        let by_short_name = |kind: &&ApiResource| wanted.fits(kind) && kind.is_short_for(wanted.name);
        self.kinds.iter().find(by_name).or_else(|| self.kinds.iter().find(by_short_name))
    }

    fn read(&mut self, path: &str, body: &[u8]) -> Result<(), ApiError> {
        let Named { kind } = parsed(body)?;
        match kind.as_str() {
            "APIGroupDiscoveryList" => self.on_aggregated(parsed(body)?),
            "APIVersions" => {
                let Versions { versions } = parsed(body)?;
                versions.0.into_iter().try_for_each(|version| self.want("/api", version))
            }
            "APIGroupList" => self.on_groups(parsed(body)?),
            "APIResourceList" => self.on_resources(parsed(body)?),
            other => Err(ApiError::Unreadable(format!("{path} says `{other}`, which is no API discovery"))),
        }
    }

    fn on_aggregated(&mut self, list: Aggregated<'_>) -> Result<(), ApiError> {
        let (mut kinds, mut stale) = (Vec::new(), Vec::new());
        for group in list.items.0 {
            let versions = group.versions()?;
            let name = short(group.metadata.name)?;
            for version in versions {
                let resources = version.resources()?;
                let version_name = short(version.version)?;
                if version.freshness == "Stale" {
                    stale.push(on_stale(&name, &version_name));
                } else {
                    let named = resources.into_iter().filter(|resource| !resource.resource.is_empty());
                    kinds.extend(named.map(|resource| resource.into_kind(&name, &version_name)));
                }
                self.check_room(kinds.len() + stale.len())?;
            }
        }
        self.kinds.extend(kinds);
        self.unavailable.extend(stale);
        Ok(())
    }

    fn on_groups(&mut self, list: Groups) -> Result<(), ApiError> {
        for group in list.groups.0 {
            let preferred = Some(group.preferred_version).into_iter();
            let versions = preferred.chain(group.versions.0).map(|version| version.group_version);
            versions.filter(|version| !version.is_empty()).try_for_each(|version| self.want("/apis", version))?;
        }
        Ok(())
    }

    /// Asks for a version, once.
    fn want(&mut self, root: &str, version: String) -> Result<(), ApiError> {
        let path = format!("{root}/{}", short(version)?);
        if self.named.contains(&path) {
            return Ok(());
        }
        if self.named.len() == MOST_VERSIONS {
            let what =
                format!("the server names more than {MOST_VERSIONS} versions; name group, version and plural instead");
            return Err(ApiError::Unreadable(what));
        }
        self.named.insert(path.clone());
        self.wanted.push_back(path);
        Ok(())
    }

    fn on_resources(&mut self, list: Resources) -> Result<(), ApiError> {
        let of = short(list.group_version)?;
        let (group, version) = of.rsplit_once('/').unwrap_or(("", &of));
        // What has a slash is a part of an object.
        let whole = |resource: &Listed| !resource.name.is_empty() && !resource.name.contains('/');
        let resources: Vec<_> = list.resources.0.into_iter().filter(whole).collect();
        self.check_room(resources.len())?;
        self.kinds.extend(resources.into_iter().map(|resource| resource.into_kind(group, version)));
        Ok(())
    }

    /// Whether so many more can be held.
    fn check_room(&self, more: usize) -> Result<(), ApiError> {
        if self.kinds.len() + self.unavailable.len() + more <= MOST_ENTRIES {
            return Ok(());
        }
        let what = format!("the server names more than {MOST_ENTRIES} kinds; name group, version and plural instead");
        Err(ApiError::Unreadable(what))
    }
}

/// What is kept of an error: a server may be as wordy as it likes, and there may be one for each version.
fn kept(error: ApiError) -> ApiError {
    let cut = |text: &str| text.chars().take(LONGEST_MESSAGE).collect();
    let retry_after = error.retry_after();
    match error {
        ApiError::Status { status, .. } => {
            let mut kept = Status::default();
            (kept.code, kept.reason, kept.message) = (status.code, cut(&status.reason), cut(&status.message));
            ApiError::Status { status: Box::new(kept), retry_after }
        }
        ApiError::Unreadable(what) => ApiError::Unreadable(cut(&what)),
        other => other,
    }
}

/// The server behind it is down, and what is known of it is old: as good as nothing.
fn on_stale(group: &str, version: &str) -> (String, ApiError) {
    let what = format!("what is known of {group}/{version} is stale: the server behind it cannot be reached");
    (format!("/apis/{group}/{version}"), ApiError::Unreadable(what))
}

impl Default for Discovery {
    fn default() -> Self {
        Self::new()
    }
}

impl ApiResource {
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

    fn fits(&self, kind: &ApiResource) -> bool {
        let ApiResource { group, version, .. } = kind;
        if let Some(exact) = self.exact {
            return exact == (group.as_str(), version.as_str());
        }
        let has_version = |of: &str| of.split_once('.').map_or((of, ""), |parts| parts) == (version, group);
        self.of.is_none_or(|of| of == group || has_version(of))
    }
}
