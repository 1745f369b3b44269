use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A kind of object by the name that paths have for it.
///
/// ```
/// use listwatch_core::ResourceType;
///
/// let deployments = ResourceType::parse("apps/v1/deployments").expect("group, version and name");
/// assert_eq!(deployments.path(Some("web")), "/apis/apps/v1/namespaces/web/deployments");
/// assert_eq!(ResourceType::parse("v1/nodes").expect("version and name").path(None), "/api/v1/nodes");
/// assert_eq!(ResourceType::parse("pods"), None, "a server would have to be asked");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceType {
    /// The group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The plural in lower case, such as `pods`.
    pub plural: String,
}

impl ResourceType {
    /// Reads `VERSION/NAME` or `GROUP/VERSION/NAME`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (front, plural) = text.rsplit_once('/')?;
        let (group, version) = front.rsplit_once('/').unwrap_or(("", front));
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'))
        };
        let is_one = (group.is_empty() && !front.contains('/')) || is_name(group);
        let found = Self { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned() };
        (is_one && is_name(version) && is_name(plural)).then_some(found)
    }

    /// The path of the collection: in one namespace, or everywhere (and of what has no namespace).
    #[must_use]
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis/" };
        let namespace = namespace.map(|namespace| format!("/namespaces/{namespace}")).unwrap_or_default();
        format!("{root}{}/{}{namespace}/{}", self.group, self.version, self.plural)
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.group.is_empty() { "" } else { "/" };
        write!(f, "{}{separator}{}/{}", self.group, self.version, self.plural)
    }
}
