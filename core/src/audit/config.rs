use core::time::Duration;

/// The limits of an [`Audit`](super::Audit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditConfig {
    /// How many objects a page has at the most: 500 by default. Zero requests one page.
    pub page_size: u32,
    /// Whether the list is requested of one exact version, which a list of one object shows first. API servers before 1.34
    /// answer it from etcd. Since 1.31 they answer other lists from their watch cache, as they do watches; so what that
    /// cache has lost is in neither. By default it is not.
    pub exact: bool,
    /// How many pages a list has at the most: 10,000 by default.
    pub max_pages: u32,
    /// How often a list begins again after its continue token has expired, or if it is too old: three times by default.
    pub restarts: u32,
    /// How long the store has to reach the version of the list: three minutes by default, because bookmarks come each
    /// minute.
    pub patience: Duration,
    /// How often the store is looked at meanwhile: each second by default. Less than ten milliseconds are ten.
    pub interval: Duration,
    /// How many differences a report names: 1,000 by default. All of them are counted.
    pub named: usize,
}

impl AuditConfig {
    /// The shortest interval: without a pause, the store would not go on.
    pub(super) const SHORTEST: Duration = Duration::from_millis(10);
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            page_size: 500,
            exact: false,
            max_pages: 10_000,
            restarts: 3,
            patience: Duration::from_secs(180),
            interval: Duration::from_secs(1),
            named: 1_000,
        }
    }
}
