use super::page::{Row, Start, page};
use super::{AuditConfig, AuditError, AuditReport, Difference};
use crate::api::{ApiCall, ApiError, ApiRequest, ApiResponse, ObjectList};
use crate::object::{Key, Uid, Version, compare_versions, digits};
use crate::request::Resource;
use crate::time::Instant;
use crate::transport::TransportError;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use core::cmp::Ordering;
use core::mem;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// An audit of one store, or of the part of a store that one list covers. It is over after one report.
///
/// The caller sends what [`poll_request`](Self::poll_request) returns, and passes the answer to
/// [`handle_answer`](Self::handle_answer). At the time of [`poll_timeout`](Self::poll_timeout) it calls
/// [`handle_timeout`](Self::handle_timeout). At most one request is open. The audit is given up by its drop.
///
/// It keeps a key for each object of the list, whose text it shares with the store, and the version of those that differ.
///
/// ```
/// use listwatch_core::api::ApiResponse;
/// use listwatch_core::audit::{Audit, AuditConfig, Replica, Verdict};
/// use listwatch_core::object::Version;
/// use listwatch_core::{Instant, Key, Resource};
///
/// /// A store that has reached version 7, and lacks every object.
/// struct Lacking;
///
/// impl Replica for Lacking {
///     fn applied(&self) -> Option<Version> {
///         Some("7".into())
///     }
///
///     fn find(&self, _: &Key) -> Option<(Key, Version)> {
///         None
///     }
///
///     fn for_each(&self, _: &mut dyn FnMut(&Key, &str)) {}
///
///     fn undecodable(&self, _: &Key) -> Option<Version> {
///         None
///     }
/// }
///
/// let mut audit = Audit::new(Resource::new("/api/v1/pods"), AuditConfig::default());
/// while let Some(request) = audit.poll_request() {
///     assert_eq!(request.to_string(), "/api/v1/pods?limit=500");
///     let list = br#"{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","resourceVersion":"5"}}]}"#;
///     audit.handle_answer(Instant::ZERO, &Lacking, Ok(ApiResponse::new(200, *list)));
/// }
/// let report = audit.poll_result().ok_or("it is over")??;
/// assert_eq!((report.verdict(), report.missing), (Verdict::Drifted, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Audit {
    resource: Resource,
    config: AuditConfig,
    phase: Phase,
    /// The request that the caller has, or gets next.
    call: Option<ApiCall<ObjectList<Row>>>,
    is_open: bool,
    pages: u32,
    restarts: u32,
    /// The list of one object is read, which shows the version.
    asks_version: bool,
    token: String,
    /// The keys of the list. Those whose listed version the store did not have then are suspects, with that version.
    listed: HashMap<Key, Option<Version>, FixedState>,
    unnamed: usize,
    report: AuditReport,
    /// What the store lacked once it had reached the list's version.
    lacking: BTreeMap<Key, Version>,
    /// Those that the second list has, too.
    confirmed: BTreeMap<Key, Version>,
}

#[derive(Debug)]
enum Phase {
    /// The list is read.
    Listing,
    /// The store is to reach the version of the list.
    Waiting {
        next: Instant,
        deadline: Instant,
    },
    /// The second list is read.
    Confirming,
    Over(Option<Result<(), AuditError>>),
}

impl Audit {
    /// An audit by a list of `resource`, of metadata only. The selectors have to be those of the store.
    pub fn new(resource: Resource, config: AuditConfig) -> Self {
        let path = Resource::new(resource.path());
        let path = path.with_label_selector(resource.label_selector().unwrap_or_default());
        let path = path.with_field_selector(resource.field_selector().unwrap_or_default());
        let resource = path.metadata_only().without_managed_fields(true);
        let mut audit = Self {
            call: None,
            resource,
            config,
            phase: Phase::Listing,
            is_open: false,
            pages: 0,
            restarts: 0,
            asks_version: false,
            token: String::new(),
            listed: HashMap::default(),
            unnamed: 0,
            report: AuditReport::default(),
            lacking: BTreeMap::new(),
            confirmed: BTreeMap::new(),
        };
        audit.begin_list();
        audit
    }

    /// The request to send now; `None` while one is open, while the audit waits for the store, and at its end.
    #[must_use]
    pub fn poll_request(&mut self) -> Option<ApiRequest> {
        if self.is_open {
            return None;
        }
        let request = self.call.as_ref()?.request().cloned();
        match request {
            Ok(request) => {
                self.is_open = true;
                Some(request)
            }
            Err(error) => {
                self.end(Err(AuditError::Failed(error)));
                None
            }
        }
    }

    /// Takes the answer to the open request. Without one, it is dropped.
    pub fn handle_answer(
        &mut self,
        now: Instant,
        store: &(impl Replica + ?Sized),
        answer: Result<ApiResponse, TransportError>,
    ) {
        if !mem::take(&mut self.is_open) {
            return;
        }
        let Some(call) = self.call.take() else { return };
        match answer.map_err(ApiError::from).and_then(|response| call.read(&response)) {
            Ok(list) => self.on_page(now, store, list),
            Err(error) if error.is_expired() => self.restart(AuditError::Expired),
            Err(error) => self.end(Err(AuditError::Failed(error))),
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if let Phase::Waiting { next, .. } = self.phase { Some(next) } else { None }
    }

    /// Looks at the store, if it is time.
    pub fn handle_timeout(&mut self, now: Instant, store: &(impl Replica + ?Sized)) {
        let Phase::Waiting { next, deadline } = self.phase else { return };
        if now < next {
            return;
        }
        if self.has_reached(store) {
            self.judge(store);
        } else if now >= deadline {
            self.report.is_behind = true;
            self.judge(store);
        } else {
            self.wait(now, deadline);
        }
    }

    /// The report, once.
    ///
    /// # Errors
    /// [`AuditError`], if the list could not be read.
    #[must_use]
    pub fn poll_result(&mut self) -> Option<Result<AuditReport, AuditError>> {
        let Phase::Over(result) = &mut self.phase else { return None };
        Some(result.take()?.map(|()| mem::take(&mut self.report)))
    }

    /// Whether the list is read for the second time.
    pub fn is_confirming(&self) -> bool {
        matches!(self.phase, Phase::Confirming)
    }
}

impl Audit {
    fn on_page(&mut self, now: Instant, store: &(impl Replica + ?Sized), list: ObjectList<Row>) {
        let ObjectList { meta, items } = list;
        let (version, token) = (meta.resource_version(), meta.continue_token());
        if digits(version).is_err() {
            return self.end(Err(AuditError::Unordered));
        }
        if mem::take(&mut self.asks_version) {
            self.call = Some(page(&self.resource, self.config, Start::At(&Version::from(version))));
            return;
        }
        // Every page has the version of the first one; another one would be of another state.
        let is_first = self.token.is_empty();
        if !is_first && !self.is_confirming() && version != &*self.report.version {
            return self.restart(AuditError::Expired);
        }
        if self.is_confirming() && self.is_before(version) {
            return self.restart(AuditError::BackInTime);
        }
        self.report.version = if self.is_confirming() { self.report.version.clone() } else { Version::from(version) };
        items.into_iter().for_each(|row| self.on_row(store, row));
        self.pages += 1;
        match token {
            "" => self.on_end(now, store),
            token if token == self.token || self.pages >= self.config.max_pages => self.end(Err(AuditError::Endless)),
            token => {
                self.call = Some(page(&self.resource, self.config, Start::Behind(token)));
                self.token = token.to_string();
            }
        }
    }

    fn on_row(&mut self, store: &(impl Replica + ?Sized), row: Row) {
        let Some((key, version, uid)) = row.into_parts() else {
            self.unnamed += usize::from(!self.is_confirming());
            return;
        };
        if !store.keeps(&key, &uid) {
            return;
        }
        if self.is_confirming() {
            if self.lacking.get(&key) == Some(&version) {
                self.confirmed.insert(key, version);
            }
            return;
        }
        match store.find(&key) {
            Some((known, stored)) if stored == version => self.listed.insert(known, None),
            Some((known, _)) => self.listed.insert(known, Some(version)),
            None => self.listed.insert(key, Some(version)),
        };
    }

    /// Whether a list is older than what the store had reached when it lacked objects, so that it confirms nothing.
    fn is_before(&self, version: &str) -> bool {
        let reached = self.report.reached.as_deref().unwrap_or(&self.report.version);
        compare_versions(version, reached).is_ok_and(Ordering::is_lt)
    }

    /// Begins the list again, unless it was begun too often.
    fn restart(&mut self, why: AuditError) {
        if self.restarts >= self.config.restarts {
            return self.end(Err(why));
        }
        self.restarts += 1;
        self.begin_list();
    }

    fn begin_list(&mut self) {
        self.token.clear();
        self.pages = 0;
        self.confirmed.clear();
        if !self.is_confirming() {
            self.listed.clear();
            self.unnamed = 0;
        }
        self.asks_version = self.config.exact;
        let start = if self.asks_version { Start::Version } else { Start::Newest };
        self.call = Some(page(&self.resource, self.config, start));
    }

    /// The last page has come.
    fn on_end(&mut self, now: Instant, store: &(impl Replica + ?Sized)) {
        if self.is_confirming() {
            return self.confirm(store);
        }
        self.report.objects = self.listed.len() + self.unnamed;
        self.report.undecodable = self.unnamed;
        if self.has_reached(store) {
            return self.judge(store);
        }
        // The store is not looked at again: below the version, it may hold an object whose deletion is still to come.
        if self.listed.values().all(Option::is_none) && self.extra(store).is_ok_and(|extra| extra.is_empty()) {
            return self.finish();
        }
        self.wait(now, now + self.config.patience);
    }

    /// Lets the store go on until it is looked at again.
    fn wait(&mut self, now: Instant, deadline: Instant) {
        let interval = self.config.interval.max(AuditConfig::SHORTEST);
        self.phase = Phase::Waiting { next: (now + interval).min(deadline), deadline };
    }

    /// Whether the store has every change up to the version of the list.
    fn has_reached(&mut self, store: &(impl Replica + ?Sized)) -> bool {
        self.report.reached = store.applied();
        let reached = self.report.reached.as_deref();
        reached.is_some_and(|reached| is_ordered(&self.report.version, reached))
    }

    /// Whether the listed state, or a later one that the store has reached, could not be decoded. A later one than that is
    /// of a server that went back to a backup.
    fn is_undecodable(&self, store: &(impl Replica + ?Sized), key: &Key, listed: &Version) -> bool {
        let Some(last) = store.undecodable(key) else { return false };
        let is_reached = || self.report.reached.as_deref().is_some_and(|reached| is_ordered(&last, reached));
        last == *listed || is_ordered(listed, &last) && is_reached()
    }

    /// Decides which suspicions stand.
    fn judge(&mut self, store: &(impl Replica + ?Sized)) {
        match self.judged(store) {
            Err(error) => self.end(Err(error)),
            Ok(()) if self.lacking.is_empty() || self.report.is_behind => self.finish(),
            Ok(()) => {
                self.phase = Phase::Confirming;
                self.begin_list();
            }
        }
    }

    fn judged(&mut self, store: &(impl Replica + ?Sized)) -> Result<(), AuditError> {
        let extra = self.extra(store)?;
        let listed = mem::take(&mut self.listed).into_iter();
        // Hashes decide no order.
        let suspects: BTreeMap<Key, Version> = listed.filter_map(|(key, version)| Some((key, version?))).collect();
        for (key, server) in suspects {
            let stored = store.find(&key).map(|(_, version)| version);
            if stored.as_ref() == Some(&server) {
                continue;
            }
            if let Some(stored) = &stored
                && self.is_later(stored)?
            {
                continue;
            }
            if self.is_undecodable(store, &key, &server) {
                self.report.undecodable += 1;
            } else if stored.is_none() && !self.report.is_behind {
                self.lacking.insert(key, server);
            } else {
                self.report.add(Difference { key, server: Some(server), store: stored }, self.config.named);
            }
        }
        for (key, version) in extra {
            self.report.add(Difference { key, server: None, store: Some(version) }, self.config.named);
        }
        Ok(())
    }

    /// The objects of the store that are not in the list, and are older than it. An item without a name may be any.
    fn extra(&self, store: &(impl Replica + ?Sized)) -> Result<BTreeMap<Key, Version>, AuditError> {
        let mut extra = BTreeMap::new();
        let mut result = Ok(());
        if self.unnamed > 0 {
            return Ok(extra);
        }
        store.for_each(&mut |key, version| {
            if !self.listed.contains_key(key) {
                match self.is_later(version) {
                    Ok(false) => _ = extra.insert(key.clone(), Version::from(version)),
                    Ok(true) => {}
                    Err(error) => result = Err(error),
                }
            }
        });
        result.map(|()| extra)
    }

    /// Whether the list is too old for this version.
    fn is_later(&self, version: &str) -> Result<bool, AuditError> {
        compare_versions(version, &self.report.version).map(Ordering::is_gt).map_err(|_| AuditError::Unordered)
    }

    /// The second list has come: what it has in the same version was there all the time.
    fn confirm(&mut self, store: &(impl Replica + ?Sized)) {
        for (key, server) in mem::take(&mut self.confirmed) {
            if store.find(&key).is_none() {
                self.report.add(Difference { key, server: Some(server), store: None }, self.config.named);
            }
        }
        self.finish();
    }

    fn finish(&mut self) {
        // A store that has all of the list is not behind, whatever version it knows.
        self.report.is_behind &= self.report.total() > 0;
        self.end(Ok(()));
    }

    /// Ends the audit, and gives its memory back.
    fn end(&mut self, result: Result<(), AuditError>) {
        self.call = None;
        self.listed = HashMap::default();
        self.lacking = BTreeMap::new();
        self.confirmed = BTreeMap::new();
        self.phase = Phase::Over(Some(result));
    }
}

/// Whether the second version is the first one or a later one.
fn is_ordered(first: &str, second: &str) -> bool {
    compare_versions(first, second).is_ok_and(Ordering::is_le)
}

/// What an [`Audit`] reads of a store. Its reads need not be of one moment.
pub trait Replica {
    /// The version up to which the store has every change; `None` before the first list. A later read of an object has
    /// every change up to this version.
    fn applied(&self) -> Option<Version>;

    /// The object's key and version, if the store has it. The key is the store's own, so that the audit shares its text.
    fn find(&self, key: &Key) -> Option<(Key, Version)>;

    /// Calls `f` with the key and the version of each object that the audited list covers.
    fn for_each(&self, f: &mut dyn FnMut(&Key, &str));

    /// The version of the object's last state that could not be decoded, if there was one.
    fn undecodable(&self, key: &Key) -> Option<Version>;

    /// Whether the store is to have this object.
    fn keeps(&self, _key: &Key, _uid: &Uid) -> bool {
        true
    }
}
