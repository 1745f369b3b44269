mod plan;
mod records;

use super::config::{ShardConfig, ShardConfigError};
use super::event::ShardEvent;
use super::map::{Holder, ShardMap};
use crate::api::{Api, ApiError, ApiResponse, CallAction, PendingCalls};
use crate::election::lease::Known;
use crate::random::Random;
use crate::request::{RequestId, Resource};
use crate::time::{Instant, WallTime, earliest};
use crate::transport::TransportError;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use serde_json::Value;

/// A replica among others: which shards it holds.
///
/// # How it is driven
///
/// A [`LeaderElector`](crate::election::LeaderElector) of the caller renews the member's own lease, and
/// [`set_term`](Self::set_term) tells of each of its terms. A list and a watch of the leases with the
/// [label](super::GROUP_LABEL) of the group bring each change, in its order, to [`handle_lease`](Self::handle_lease), and
/// [`handle_synced`](Self::handle_synced) once. After each of these, and after each answer, the caller drains
/// [`poll_event`](Self::poll_event), and only then [`poll_action`](Self::poll_action). It calls
/// [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout).
///
/// The [module](super) says what holds.
///
/// ```
/// use listwatch_core::Instant;
/// use listwatch_core::api::{ApiResponse, CallAction};
/// use listwatch_core::shards::{ShardBy, ShardConfig, ShardEvent, ShardHolder, ShardSpace, ShardState};
/// use listwatch_core::time::WallTime;
///
/// let space = ShardSpace::new(ShardBy::Uid, 2);
/// let mut holder = ShardHolder::new(ShardConfig::new("web", "pages", "pages-a", space))?;
/// let (now, wall) = (Instant::ZERO, "2026-11-23T12:00:00Z".parse::<WallTime>()?);
/// holder.handle_synced(now); // no lease yet
/// holder.set_term(now, Some(wall));
///
/// // The first member makes the map, and holds everything.
/// let Some(CallAction::Open { id, request }) = holder.poll_action(now, wall) else { panic!() };
/// assert_eq!(request.path, "/apis/coordination.k8s.io/v1/namespaces/web/leases");
/// let mut map: serde_json::Value = serde_json::from_slice(&request.body)?;
/// map["metadata"]["resourceVersion"] = "7".into();
/// holder.handle_answer(now, id, Ok(ApiResponse::new(201, map.to_string())));
/// assert_eq!(holder.poll_event(), Some(ShardEvent::Gained(0)));
/// assert_eq!(holder.state(1), ShardState::Active);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardHolder {
    config: ShardConfig,
    api: Api<Value>,
    random: Random,
    now: Instant,
    /// The present term of this member.
    term: Option<WallTime>,
    /// All leases of the group were seen once.
    is_synced: bool,
    /// The leases of the members, by their names.
    members: BTreeMap<String, Known>,
    /// The holders in the map whose lease is absent, and since when.
    absent: BTreeMap<String, Instant>,
    lease: Option<Known>,
    map: Readable,
    states: Vec<ShardState>,
    /// A write that gives shards away, and that may still be made.
    unsettled: Option<Unsettled>,
    /// Leases that have to be read before they are written.
    doubtful: Vec<String>,
    /// Since when there are shards that no member holds.
    orphaned_at: Option<Instant>,
    calls: PendingCalls<Value, Intent>,
    retry_at: Option<Instant>,
    is_mismatch_told: bool,
    events: VecDeque<ShardEvent>,
}

/// How a member stands to a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardState {
    /// Another member holds it, or none does.
    Away,
    /// This member holds it, and works.
    Active,
    /// This member holds it, and its work ends.
    Draining,
    /// This member holds it, and no work goes on. It gives the shard away.
    Drained,
}

/// The map that was seen last.
#[derive(Debug)]
enum Readable {
    Absent,
    Map(ShardMap),
    /// There is something else in its place.
    Unreadable,
}

/// What a request is for.
#[derive(Debug)]
enum Intent {
    /// Reads a lease, as a write of it was refused, or was not answered.
    Read { name: String },
    /// Writes the map.
    Write { map: ShardMap },
    /// Ends the term of a member that did not renew its lease.
    Bury { holder: Holder },
    /// Deletes the lease of a member that has ended.
    Remove { name: String },
}

/// A write of the map that was sent.
#[derive(Debug)]
struct Unsettled {
    /// The version before it. Once another one was seen, the write was made, or never will be.
    base: String,
    shards: Vec<u16>,
}

impl ShardHolder {
    /// A member of a group. It holds nothing before its first [term](Self::set_term).
    ///
    /// # Errors
    /// The first part of the configuration that cannot be used.
    pub fn new(config: ShardConfig) -> Result<Self, ShardConfigError> {
        config.check()?;
        let leases = Resource::new("/apis/coordination.k8s.io/v1/leases").in_namespace(&config.namespace);
        Ok(Self {
            api: Api::new(&leases),
            random: Random::new(config.seed),
            now: Instant::ZERO,
            term: None,
            is_synced: false,
            members: BTreeMap::new(),
            absent: BTreeMap::new(),
            lease: None,
            map: Readable::Absent,
            states: vec![ShardState::Away; config.space.count().into()],
            unsettled: None,
            doubtful: Vec::new(),
            orphaned_at: None,
            calls: PendingCalls::default(),
            retry_at: None,
            is_mismatch_told: false,
            events: VecDeque::new(),
            config,
        })
    }

    /// Says which term this member has now: the [time](crate::election::FencingToken::acquired) of its token. Without a
    /// term, all shards are lost.
    pub fn set_term(&mut self, now: Instant, term: Option<WallTime>) {
        self.advance(now);
        self.term = term;
        self.settle();
    }

    /// A lease of the group, as a watch brings it; `None` if it was deleted.
    pub fn handle_lease(&mut self, now: Instant, name: &str, lease: Option<Value>) {
        self.advance(now);
        match lease {
            Some(lease) => self.note(name, lease, None),
            None => self.forget(name),
        }
        self.settle();
    }

    /// The watch has brought all leases that there are.
    pub fn handle_synced(&mut self, now: Instant) {
        self.advance(now);
        self.is_synced = true;
        self.settle();
    }

    /// No work on this shard goes on, and none can begin: no reconcile runs, and no write is open. It counts if the shard is
    /// [draining](ShardState::Draining).
    pub fn handle_drained(&mut self, now: Instant, shard: u16) {
        self.advance(now);
        if self.state(shard) == ShardState::Draining {
            self.states[usize::from(shard)] = ShardState::Drained;
        }
        self.settle();
    }

    /// The answer to a request; one to a request that was given up is ignored.
    pub fn handle_answer(&mut self, now: Instant, id: RequestId, answer: Result<ApiResponse, TransportError>) {
        self.advance(now);
        if let Some((asked, result)) = self.calls.end(id, answer) {
            match result {
                Ok(lease) => self.on_answer(&asked.about, lease, asked.at),
                Err(error) => self.on_error(&asked.about, error),
            }
        }
        self.settle();
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
        while let Some((asked, late)) = self.calls.end_late(self.now) {
            self.on_error(&asked.about, late);
        }
        self.retry_at.take_if(|at| *at <= self.now);
        self.settle();
    }

    /// When [`handle_timeout`](Self::handle_timeout) has to be called at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let planned = if self.calls.len() > 0 { None } else { self.retry_at.or_else(|| self.plan().err().flatten()) };
        earliest(self.calls.deadline(), planned)
    }

    /// What to do next. A request has the time `wall` in it: the caller sends it at once.
    #[must_use]
    pub fn poll_action(&mut self, now: Instant, wall: WallTime) -> Option<CallAction> {
        self.handle_timeout(now);
        if let Some(abort) = self.calls.poll_abort() {
            return Some(abort);
        }
        if self.calls.len() > 0 || self.retry_at.is_some() {
            return None;
        }
        let intent = self.plan().ok()?;
        let call = self.request(&intent, wall);
        match self.calls.open(self.now, self.config.request_timeout, call, intent) {
            Ok((_, open)) => Some(open),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// The next event.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<ShardEvent> {
        self.events.pop_front()
    }

    /// How this member stands to a shard.
    pub fn state(&self, shard: u16) -> ShardState {
        self.states.get(usize::from(shard)).copied().unwrap_or(ShardState::Away)
    }

    /// The number of members that run, as far as is known.
    pub fn members(&self) -> usize {
        self.live().len()
    }
}

/// Inputs.
impl ShardHolder {
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn on_answer(&mut self, about: &Intent, lease: Value, asked: Instant) {
        match about {
            Intent::Remove { name } => self.forget(name),
            Intent::Read { name } => {
                self.doubtful.retain(|other| other != name);
                self.note(name, lease, Some(asked));
            }
            Intent::Bury { holder } => self.note(&holder.member, lease, Some(asked)),
            Intent::Write { .. } => {
                let group = self.config.group.clone();
                self.note(&group, lease, Some(asked));
            }
        }
    }

    fn on_error(&mut self, about: &Intent, error: ApiError) {
        let name = match about {
            Intent::Read { name } | Intent::Remove { name } => name.clone(),
            Intent::Bury { holder } => String::from(&*holder.member),
            Intent::Write { .. } => self.config.group.clone(),
        };
        let is_known = name == self.config.group && self.lease.is_some() || self.members.contains_key(&name);
        if error.is_not_found() && (is_known || matches!(about, Intent::Read { .. })) {
            self.doubtful.retain(|other| *other != name);
            return self.forget(&name);
        }
        if !matches!(about, Intent::Read { .. }) && !self.doubtful.contains(&name) {
            self.doubtful.push(name);
        }
        if !error.is_conflict() && !error.is_already_exists() {
            self.fail(error);
        }
    }

    /// A request failed. The next one follows after the retry period, or after the time for which the server asks.
    fn fail(&mut self, error: ApiError) {
        let period = self.config.retry_period;
        let asked = error.retry_after().unwrap_or_default().min(self.config.lease_duration);
        self.retry_at = Some(self.now + (period + self.random.below(period)).max(asked));
        self.events.retain(|event| !matches!(event, ShardEvent::Failed(_)));
        self.events.push_back(ShardEvent::Failed(error));
    }

    /// A lease was read or written, by a request that was sent at `asked`, or watched.
    fn note(&mut self, name: &str, lease: Value, asked: Option<Instant>) {
        let Some(lease) = Known::new(lease, self.now) else {
            return self.fail(ApiError::Unreadable("a lease has no metadata.resourceVersion".into()));
        };
        let is_map = name == self.config.group;
        let known = if is_map { self.lease.as_ref() } else { self.members.get(name) };
        if known.is_some_and(|known| lease.is_before(known, asked)) {
            return;
        }
        let lease = lease.after(known);
        if is_map {
            self.unsettled.take_if(|write| *write.base != *lease.version);
            self.map = readable(&lease.lease);
            self.lease = Some(lease);
        } else {
            self.members.insert(name.into(), lease);
        }
    }

    /// There is no lease of this name.
    fn forget(&mut self, name: &str) {
        if name == self.config.group {
            (self.lease, self.map, self.unsettled) = (None, Readable::Absent, None);
        } else {
            self.members.remove(name);
        }
    }

    /// Notes what follows from what is known: the states of the shards, and since when something waits.
    fn settle(&mut self) {
        self.note_absent();
        let (targets, own) = (self.targets(), self.own());
        for shard in 0..self.config.space.count() {
            let place = usize::from(shard);
            let is_held = own.is_some() && self.holder(place) == own.as_ref() && !self.is_given_away(shard);
            let is_wanted = own.is_some() && targets.get(place) == own.as_ref();
            self.pass(shard, is_held, is_wanted);
        }
        let has_orphans = self.has_orphans();
        self.orphaned_at = self.orphaned_at.filter(|_| has_orphans).or_else(|| has_orphans.then_some(self.now));
        self.tell_mismatch();
    }

    fn pass(&mut self, shard: u16, is_held: bool, is_wanted: bool) {
        use ShardState::{Active, Away, Drained, Draining};
        let state = &mut self.states[usize::from(shard)];
        let (next, event) = match (is_held, is_wanted, *state) {
            (false, _, Active | Draining) => (Away, Some(ShardEvent::Lost(shard))),
            (false, _, Away | Drained) => (Away, None),
            (true, true, Active) => (Active, None),
            (true, true, _) => (Active, Some(ShardEvent::Gained(shard))),
            (true, false, Active) => (Draining, Some(ShardEvent::Draining(shard))),
            (true, false, Away) => (Drained, None),
            (true, false, same) => (same, None),
        };
        *state = next;
        self.events.extend(event);
    }

    fn tell_mismatch(&mut self) {
        let is = self.map().map(|map| map.space).filter(|is| *is != self.config.space);
        if let Some(is) = is.filter(|_| !self.is_mismatch_told && self.term.is_some()) {
            self.events.push_back(ShardEvent::Mismatch { is });
        }
        self.is_mismatch_told = is.is_some() && (self.is_mismatch_told || self.term.is_some());
    }
}

/// Questions.
impl ShardHolder {
    fn map(&self) -> Option<&ShardMap> {
        match &self.map {
            Readable::Map(map) => Some(map),
            Readable::Absent | Readable::Unreadable => None,
        }
    }

    /// This member in its present term.
    fn own(&self) -> Option<Holder> {
        Some(Holder { member: self.config.member.as_str().into(), term: self.term? })
    }

    /// The holder of a shard, by a map of the same shards.
    fn holder(&self, place: usize) -> Option<&Holder> {
        self.map().filter(|map| map.space == self.config.space)?.holders.get(place)?.as_ref()
    }

    /// Whether a write that may still be made gives it away.
    fn is_given_away(&self, shard: u16) -> bool {
        self.unsettled.as_ref().is_some_and(|write| write.shards.contains(&shard))
    }
}

fn readable(lease: &Value) -> Readable {
    match ShardMap::read(lease) {
        Some(map) => Readable::Map(map),
        None if lease["metadata"]["annotations"][super::map::ANNOTATION].is_null() => Readable::Absent,
        None => Readable::Unreadable,
    }
}

/// So much later for each member that is to act before.
fn after(at: Instant, rank: usize, period: Duration) -> Instant {
    at + period.saturating_mul(u32::try_from(rank).unwrap_or(u32::MAX))
}
