//! Discovery: a machine that returns the next request, and finds kinds by their names.

mod answer;
mod resource;

pub use resource::ApiResource;

use super::call::checked;
use super::{ApiClient, ApiError, ApiRequest, ApiResponse, Method};
use crate::decode::Status;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use answer::{Aggregated, Groups, Listed, MOST_ENTRIES, Named, Resources, Versions, parsed, short};
use resource::Wanted;

/// The `Accept` header that requests everything in one response, if the server supports it.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The limit of versions that are requested one by one.
const MOST_VERSIONS: usize = 4_096;

/// The limit of characters that are kept of an unreadable answer.
const LONGEST_MESSAGE: usize = 1_024;

/// The kinds that a server serves, found by the names that kubectl takes (client-go `RESTMapper`).
///
/// A caller that names group, version and plural does not need it. Since version 1.30, a server needs two requests; an
/// older one needs one for each version of each group. If a server names more than 50,000 kinds, or more than 4,096
/// versions one by one, discovery fails with [`ApiError::Unreadable`].
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
    /// The paths that a server named, requested or not.
    named: BTreeSet<String>,
    resources: Vec<ApiResource>,
    unavailable: Vec<(String, ApiError)>,
}

impl Discovery {
    /// A discovery that has sent no request.
    pub fn new() -> Self {
        Self {
            wanted: ["/api", "/apis"].map(str::to_owned).into(),
            named: BTreeSet::new(),
            resources: Vec::new(),
            unavailable: Vec::new(),
        }
    }

    /// Sends all requests, and blocks until every response is read.
    ///
    /// # Errors
    /// If `/api` or `/apis` cannot be read, or a limit is exceeded.
    pub fn run(client: &(impl ApiClient + ?Sized)) -> Result<Self, ApiError> {
        let mut discovery = Self::new();
        while let Some(request) = discovery.poll_request() {
            let response = client.send(&request)?;
            discovery.handle(&request, &response)?;
        }
        Ok(discovery)
    }

    /// The next request; `None` when every response is read.
    #[must_use]
    pub fn poll_request(&mut self) -> Option<ApiRequest> {
        let mut request = ApiRequest::new(Method::Get, self.wanted.pop_front()?);
        request.accept = AGGREGATED;
        Some(request)
    }

    /// Takes an answer. If one group is unavailable, the others are still found.
    ///
    /// # Errors
    /// If `/api` or `/apis` cannot be read, or a limit is exceeded.
    pub fn handle(&mut self, request: &ApiRequest, response: &ApiResponse) -> Result<(), ApiError> {
        let result = checked(response, || None).and_then(|()| self.read(&request.path, &response.body));
        match result {
            Err(error) if !matches!(request.path.as_str(), "/api" | "/apis") => {
                self.unavailable.push((request.path.clone(), kept(error)));
                Ok(())
            }
            result => result,
        }
    }

    /// All kinds, in the server's order of preference.
    pub fn resources(&self) -> &[ApiResource] {
        &self.resources
    }

    /// The paths that could not be read, with their errors, such as those of aggregated servers that are down.
    pub fn unavailable(&self) -> &[(String, ApiError)] {
        &self.unavailable
    }

    /// Finds a kind by its plural, singular, kind or short name, in any case. `NAME.GROUP`, `NAME.VERSION.GROUP` and
    /// `GROUP/VERSION/NAME` name the group too. If several fit, the first in the server's order of preference counts.
    pub fn find(&self, name: &str) -> Option<&ApiResource> {
        let wanted = Wanted::of(name);
        let by_name = |kind: &&ApiResource| wanted.fits(kind) && kind.is_named(wanted.name);
        let by_short_name = |kind: &&ApiResource| wanted.fits(kind) && kind.is_short_for(wanted.name);
        self.resources.iter().find(by_name).or_else(|| self.resources.iter().find(by_short_name))
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
                    let named = resources.into_iter().filter(|resource| !resource.name.is_empty());
                    kinds.extend(named.map(|resource| resource.into_resource(&name, &version_name)));
                }
                self.check_room(kinds.len() + stale.len())?;
            }
        }
        self.resources.extend(kinds);
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

    /// Puts a version on the list of requests, once.
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
        // A name with a slash is a subresource.
        let whole = |resource: &Listed| !resource.name.is_empty() && !resource.name.contains('/');
        let resources: Vec<_> = list.resources.0.into_iter().filter(whole).collect();
        self.check_room(resources.len())?;
        self.resources.extend(resources.into_iter().map(|resource| resource.into_resource(group, version)));
        Ok(())
    }

    /// An error unless there is room for so many more entries.
    fn check_room(&self, more: usize) -> Result<(), ApiError> {
        if self.resources.len() + self.unavailable.len() + more <= MOST_ENTRIES {
            return Ok(());
        }
        let what = format!("the server names more than {MOST_ENTRIES} kinds; name group, version and plural instead");
        Err(ApiError::Unreadable(what))
    }
}

/// Shortens an error: there may be one for each version, and a server decides its length.
fn kept(error: ApiError) -> ApiError {
    let cut = |text: &str| text.chars().take(LONGEST_MESSAGE).collect();
    let retry_after = error.retry_after();
    match error {
        ApiError::Status { status, request, .. } => {
            let mut kept = Status::default();
            (kept.code, kept.reason, kept.message) = (status.code, cut(&status.reason), cut(&status.message));
            ApiError::Status { status: Box::new(kept), request, retry_after }
        }
        ApiError::Unreadable(what) => ApiError::Unreadable(cut(&what)),
        other => other,
    }
}

/// An aggregated server is down, and the answer describes an earlier state of it.
fn on_stale(group: &str, version: &str) -> (String, ApiError) {
    let what = format!("the description of {group}/{version} is stale: its server cannot be reached");
    (format!("/apis/{group}/{version}"), ApiError::Unreadable(what))
}

impl Default for Discovery {
    fn default() -> Self {
        Self::new()
    }
}
