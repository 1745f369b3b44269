mod record;

use super::config::{ElectionConfig, ElectionConfigError};
use super::event::{ElectionEvent, FencingToken, StopReason};
use super::lease::{Known, Sent};
use crate::api::{Api, ApiError, ApiResponse, Asked, CallAction, PendingCalls};
use crate::random::Random;
use crate::request::{RequestId, Resource};
use crate::time::{Instant, WallTime, earliest, nanos};
use crate::transport::TransportError;
use alloc::collections::VecDeque;
use alloc::string::String;
use core::time::Duration;
use serde_json::Value;

/// A candidate for a lease: acquires it, renews it while work goes on, stops work in time, and releases it.
///
/// # How it is driven
///
/// After each `handle_…`, the caller drains [`poll_action`](Self::poll_action) and [`poll_event`](Self::poll_event). It
/// sends each request at once, because a term counts from that poll. It calls
/// [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout).
///
/// # What holds
///
/// - [`token`](Self::token) is `Some` only until [`renew_deadline`](ElectionConfig::renew_deadline) after the last
///   successful renewal was *sent*. A program that asks before each write sends none after that. A write that is on its
///   way has the rest of the lease to arrive, five seconds by default. After that, only its receiver can refuse it, by
///   the token.
/// - Expiry is a matter of the caller's clock: a record that did not change for its duration has expired. The times in a
///   lease are other clocks', and count nowhere. The clock must go on while the machine sleeps (`CLOCK_BOOTTIME`).
/// - While work stops because [`stop`](Self::stop) was called, the lease is renewed. It is released after
///   [`handle_stopped`](Self::handle_stopped).
/// - A record with this identity that this life did not write belongs to another holder. client-go takes it over at
///   once; then two candidates of one identity both lead.
/// - A leader whose record was changed or cleared by another client has lost its term. Until it finds out, its token
///   stays, and another candidate may lead already, as with client-go.
/// - A leader whose lease was deleted creates it again. A candidate that knew the holder leaves it the time: it creates
///   the lease when the deleted one would have expired. client-go's candidates create it at once, and two lead.
///
/// A leader that lost its term is a candidate again after `handle_stopped`; client-go's `Run` ends instead.
///
/// ```
/// use listwatch_core::Instant;
/// use listwatch_core::api::{ApiResponse, CallAction};
/// use listwatch_core::election::{ElectionConfig, ElectionEvent, LeaderElector};
/// use listwatch_core::time::WallTime;
///
/// let mut elector = LeaderElector::new("web", "controller", ElectionConfig::new("a-1"))?;
/// let (now, wall) = (Instant::ZERO, "2026-11-23T12:00:00Z".parse::<WallTime>()?);
/// elector.start(now);
/// let Some(CallAction::Open { id, request }) = elector.poll_action(now, wall) else { panic!() };
/// assert_eq!(request.path, "/apis/coordination.k8s.io/v1/namespaces/web/leases/controller");
///
/// // There is no lease, so the candidate creates one. The server returns it with a version.
/// elector.handle_answer(now, id, Ok(ApiResponse::new(404, *b"{}")));
/// let Some(CallAction::Open { id, request }) = elector.poll_action(now, wall) else { panic!() };
/// let mut lease: serde_json::Value = serde_json::from_slice(&request.body)?;
/// assert_eq!(lease["spec"]["renewTime"], "2026-11-23T12:00:00.000000Z");
/// lease["metadata"]["resourceVersion"] = "7".into();
/// elector.handle_answer(now, id, Ok(ApiResponse::new(201, lease.to_string())));
/// let events: Vec<_> = core::iter::from_fn(|| elector.poll_event()).collect();
/// assert!(matches!(&events[1], ElectionEvent::Started(token) if token.to_string() == "0-7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LeaderElector {
    config: ElectionConfig,
    api: Api<Value>,
    namespace: String,
    name: String,
    random: Random,
    now: Instant,
    state: Candidacy,
    /// `stop` was called.
    is_asked: bool,
    known: Option<Known>,
    /// A lease that was deleted is left to its holder until it would have expired.
    left_until: Option<Instant>,
    /// The lease has to be read before it is written.
    is_doubtful: bool,
    /// A watch brings each change of the lease.
    is_watched: bool,
    sent: Sent,
    wanted: Option<Intent>,
    /// At most one is open.
    calls: PendingCalls<Value, Intent>,
    /// Before this, no request is sent: a renewal is not due yet, or one failed.
    retry_at: Option<Instant>,
    /// When a lease that another candidate holds is looked at again.
    look_at: Option<Instant>,
    /// Conflicts since the last write that succeeded.
    conflicts: u32,
    /// Since when work goes on that has no term.
    lost_at: Option<Instant>,
    events: VecDeque<ElectionEvent>,
}

#[derive(Clone, Debug)]
enum Candidacy {
    Idle,
    Following,
    Leading(Term),
    /// Work stops. The term is `None` if it is over.
    Stopping(Option<Term>),
    /// Work has stopped. The lease is released until this time at the latest.
    Releasing(Instant),
    Ended,
}

#[derive(Clone, Debug)]
struct Term {
    until: Instant,
    token: FencingToken,
}

/// After so many conflicts in a row, the next attempt waits.
const CONFLICTS: u32 = 2;

impl LeaderElector {
    /// A candidate for the lease of this name. It does nothing before [`start`](Self::start).
    ///
    /// # Errors
    /// If the configuration does not pass its [check](ElectionConfig::check), or if a name is empty, `.` or `..`.
    pub fn new(namespace: &str, name: &str, config: ElectionConfig) -> Result<Self, ElectionConfigError> {
        config.check()?;
        if [namespace, name].iter().any(|text| matches!(*text, "" | "." | "..")) {
            return Err(ElectionConfigError::NoName);
        }
        let leases = Resource::new("/apis/coordination.k8s.io/v1/leases").in_namespace(namespace);
        Ok(Self {
            api: Api::new(&leases),
            namespace: namespace.into(),
            name: name.into(),
            random: Random::new(config.seed),
            config,
            now: Instant::ZERO,
            state: Candidacy::Idle,
            is_asked: false,
            known: None,
            left_until: None,
            is_doubtful: true,
            is_watched: false,
            sent: Sent::default(),
            wanted: None,
            calls: PendingCalls::default(),
            retry_at: None,
            look_at: None,
            conflicts: 0,
            lost_at: None,
            events: VecDeque::new(),
        })
    }

    /// Becomes a candidate, once.
    pub fn start(&mut self, now: Instant) {
        self.advance(now);
        if matches!(self.state, Candidacy::Idle) {
            self.follow();
        }
    }

    /// Ends the candidacy. A leader is told to stop its work first.
    pub fn stop(&mut self, now: Instant) {
        self.advance(now);
        self.is_asked = true;
        match &self.state {
            Candidacy::Leading(term) => {
                self.state = Candidacy::Stopping(Some(term.clone()));
                self.tell(ElectionEvent::Stopping(StopReason::Asked));
            }
            Candidacy::Idle | Candidacy::Following => self.finish(),
            Candidacy::Stopping(_) | Candidacy::Releasing(_) | Candidacy::Ended => {}
        }
    }

    /// Takes note that no work goes on. If the term was lost, the candidate applies again, or ends if it was asked to.
    /// Otherwise it releases the lease, for [`request_timeout`](ElectionConfig::request_timeout) at most, and ends, also if
    /// the work ended unasked.
    pub fn handle_stopped(&mut self, now: Instant) {
        self.advance(now);
        let is_lost = self.lost_at.take().is_some();
        match self.state {
            Candidacy::Stopping(_) if is_lost && !self.is_asked => self.follow(),
            // The lease is another's, or the server does not answer.
            Candidacy::Stopping(_) if is_lost => self.end(false),
            Candidacy::Stopping(_) | Candidacy::Leading(_) => self.finish(),
            _ => {}
        }
    }

    /// The answer to a request; one to a request that was given up is ignored.
    pub fn handle_answer(&mut self, now: Instant, id: RequestId, answer: Result<ApiResponse, TransportError>) {
        self.advance(now);
        // The answer counts before the deadlines: it may have waited for its caller, and a term counts from its request.
        if let Some((call, read)) = self.calls.end(id, answer) {
            match read.and_then(|lease| seen(lease, self.now)) {
                Ok(lease) => self.on_lease(&call, lease),
                Err(error) => self.on_error(&call, error),
            }
        }
        self.handle_timeout(now);
        self.decide();
    }

    /// The lease as a watch brings it; `None` if it was deleted. An older state than the known one is ignored.
    pub fn handle_watched(&mut self, now: Instant, lease: Option<Value>) {
        self.advance(now);
        if !self.is_candidate() {
            return;
        }
        match lease.map(|lease| seen(lease, self.now)) {
            Some(Ok(lease)) => self.note(lease, None),
            Some(Err(error)) => self.tell(ElectionEvent::Failed(error)),
            // It may be there again.
            None => self.is_doubtful = true,
        }
        self.handle_timeout(now);
        self.decide();
    }

    /// Says whether a watch brings each change. While it does, a candidate sends no request before the lease is free.
    pub fn set_watched(&mut self, now: Instant, is_watched: bool) {
        self.advance(now);
        self.is_watched = is_watched;
        self.is_doubtful |= !is_watched && matches!(self.state, Candidacy::Following);
        self.decide();
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
        self.on_call_deadline();
        self.on_term_deadline();
        if matches!(self.state, Candidacy::Releasing(until) if self.now >= until) {
            self.end(false);
        }
        let is_due = |at: Instant| self.now >= at;
        let retried = self.retry_at.take_if(|at| is_due(*at));
        let looked = self.look_at.take_if(|at| is_due(*at));
        if retried.or(looked).is_some() {
            self.is_doubtful |= matches!(self.state, Candidacy::Following) && !self.is_watched;
            self.decide();
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has to be called at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let state = match &self.state {
            Candidacy::Leading(term) | Candidacy::Stopping(Some(term)) => Some(term.until),
            Candidacy::Releasing(until) => Some(*until),
            _ => None,
        };
        [state, self.retry_at, self.look_at].into_iter().fold(self.calls.deadline(), earliest)
    }

    /// What to do next. A request has the time `wall` in it, and a term counts from `now`: the caller sends it at once.
    #[must_use]
    pub fn poll_action(&mut self, now: Instant, wall: WallTime) -> Option<CallAction> {
        self.handle_timeout(now);
        if let Some(abort) = self.calls.poll_abort() {
            return Some(abort);
        }
        let intent = self.wanted.take()?;
        let call = self.request(intent, wall);
        match self.calls.open(self.now, self.config.request_timeout, call, intent) {
            Ok((_, open)) => Some(open),
            Err(error) => {
                self.on_failure(error, self.now);
                None
            }
        }
    }

    /// The next event.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<ElectionEvent> {
        self.events.pop_front()
    }

    /// The token of the term, if a write may be sent now.
    pub fn token(&self, now: Instant) -> Option<&FencingToken> {
        self.term().filter(|term| now.max(self.now) < term.until).map(|term| &term.token)
    }

    /// The holder that was seen last. The text comes from the server.
    pub fn leader(&self) -> Option<&str> {
        self.known.as_ref()?.record.holder.as_deref()
    }

    /// The end of the term, unless a renewal moves it; `None` if this candidate has no term.
    pub fn term_end(&self) -> Option<Instant> {
        self.term().map(|term| term.until)
    }

    /// Whether this candidate has neither ended nor to be started.
    pub fn is_candidate(&self) -> bool {
        !matches!(self.state, Candidacy::Idle | Candidacy::Ended)
    }

    /// Whether all goes on in time. False if a term is over by more than `tolerance`, and nobody was told, or work still goes
    /// on.
    pub fn is_on_time(&self, now: Instant, tolerance: Duration) -> bool {
        let over = self.term().map(|term| term.until).or(self.lost_at);
        over.is_none_or(|over| now < over + tolerance)
    }
}

/// Inputs.
impl LeaderElector {
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn on_call_deadline(&mut self) {
        if let Some((call, late)) = self.calls.end_late(self.now) {
            self.on_error(&call, late);
        }
    }

    fn on_term_deadline(&mut self) {
        if self.term().is_some_and(|term| self.now >= term.until) {
            self.lose(StopReason::Expired);
        }
    }

    fn on_lease(&mut self, call: &Asked<Intent>, lease: Known) {
        self.is_doubtful = false;
        // A lease that can be read may still refuse each write.
        if call.about != Intent::Read {
            self.conflicts = 0;
        }
        let is_released = call.about == Intent::Release && lease.record.holder.is_none();
        let is_kept = match call.about {
            Intent::Read => true,
            Intent::Write => self.written(&lease.record) == Some(call.at),
            Intent::Release => is_released,
        };
        self.note(lease, Some(call.at));
        if is_released {
            self.end(true);
        } else if !is_kept && !self.rests() {
            let changed = ApiError::Unreadable("the server did not keep the record that it was sent".into());
            self.on_failure(changed, call.at);
        }
    }

    fn on_error(&mut self, call: &Asked<Intent>, error: ApiError) {
        if call.about == Intent::Write && error.status().is_some_and(|status| is_refusal(status.code)) {
            self.sent.take_back();
        }
        let is_gone = error.is_not_found() && (call.about == Intent::Read || self.known.is_some());
        let is_other = error.is_conflict() || error.is_already_exists();
        if is_gone {
            self.is_doubtful = false;
            self.forget();
        } else if is_other && self.conflicts < CONFLICTS {
            self.conflicts += 1;
            self.is_doubtful = true;
        } else {
            self.on_failure(error, call.at);
        }
    }

    /// A request failed that was sent at `at`. The next one follows after the retry period, or after the time for which the
    /// server asks.
    fn on_failure(&mut self, error: ApiError, at: Instant) {
        // A write may have been made nevertheless. A leader finds that out by its next renewal.
        self.is_doubtful |= self.term().is_none() || !matches!(error, ApiError::Transport(_));
        let (period, longest) = match self.state {
            Candidacy::Following => (self.jittered(), self.config.lease_duration),
            _ => (self.config.retry_period, self.config.request_timeout),
        };
        let asked = self.now + error.retry_after().unwrap_or_default().min(longest);
        // Before the end of a term, time for another request is left.
        let latest = self.term().map_or(asked, |term| before(term.until, self.config.request_timeout));
        self.retry_at = Some((at + period).max(asked.min(latest)));
        self.conflicts = 0;
        self.tell(ElectionEvent::Failed(error));
    }
}

/// States.
impl LeaderElector {
    fn follow(&mut self) {
        self.state = Candidacy::Following;
        self.is_doubtful = true;
        self.decide();
    }

    /// Work has stopped, or never began, and is not wanted again.
    fn finish(&mut self) {
        // A write that is open, or whose answer was lost, may make this candidate the holder.
        let may_hold = self.calls.len() > 0 || self.is_doubtful || self.holds();
        if self.config.release && may_hold && !self.sent.is_empty() {
            self.state = Candidacy::Releasing(self.now + self.config.request_timeout);
            (self.retry_at, self.look_at) = (None, None);
            self.decide();
        } else {
            self.end(false);
        }
    }

    fn end(&mut self, released: bool) {
        self.rest(Candidacy::Ended);
        self.tell(ElectionEvent::Ended { released });
    }

    fn lose(&mut self, reason: StopReason) {
        self.lost_at = Some(self.now);
        self.rest(Candidacy::Stopping(None));
        self.tell(ElectionEvent::Stopping(reason));
    }

    /// Enters a state without requests.
    fn rest(&mut self, state: Candidacy) {
        self.state = state;
        (self.wanted, self.retry_at, self.look_at) = (None, None, None);
        self.calls.abort();
    }

    /// There is no lease.
    fn forget(&mut self) {
        let Some(known) = self.known.take() else { return };
        self.left_until = (!self.is_free(&known)).then(|| known.expiry(self.config.lease_duration));
        if known.record.holder.is_some() {
            self.tell(ElectionEvent::Leader(None));
        }
    }

    /// A lease was read or written, by a request that was sent at `asked`, or watched.
    fn note(&mut self, lease: Known, asked: Option<Instant>) {
        if self.known.as_ref().is_some_and(|known| lease.is_before(known, asked)) {
            return;
        }
        let lease = lease.after(self.known.as_ref());
        if self.leader() != lease.record.holder.as_deref() {
            self.tell(ElectionEvent::Leader(lease.record.holder.clone()));
        }
        let written = self.written(&lease.record);
        self.left_until = None;
        let known = self.known.insert(lease);
        match (&mut self.state, written) {
            (Candidacy::Following, Some(at)) => {
                let (transitions, version, acquired) =
                    (known.record.transitions, known.version.clone(), known.record.acquired);
                self.begin(at, FencingToken { transitions, version, acquired });
            }
            (Candidacy::Leading(term) | Candidacy::Stopping(Some(term)), Some(at)) => {
                term.until = term.until.max(at + self.config.renew_deadline);
                self.retry_at = Some(at + self.config.retry_period);
            }
            (Candidacy::Leading(term) | Candidacy::Stopping(Some(term)), None) => {
                // A caller that is late hears of the next leader before the deadline.
                let is_over = self.now >= term.until;
                let by = known.record.holder.clone();
                self.lose(if is_over { StopReason::Expired } else { StopReason::Taken { by } });
            }
            _ => {}
        }
    }

    /// A write that was sent at `at` made the lease this candidate's. If its answer took too long, the term is over already.
    fn begin(&mut self, at: Instant, token: FencingToken) {
        let until = at + self.config.renew_deadline;
        if self.now < until {
            (self.retry_at, self.look_at) = (Some(at + self.config.retry_period), None);
            self.tell(ElectionEvent::Started(token.clone()));
            self.state = Candidacy::Leading(Term { until, token });
        }
    }

    /// Chooses the next request, or when to choose again.
    fn decide(&mut self) {
        if self.calls.len() > 0 || self.retry_at.is_some() || self.rests() {
            return;
        }
        let is_free = match &self.known {
            Some(known) => self.is_free(known),
            None => self.left_until.is_none_or(|until| until <= self.now),
        };
        self.wanted = match &self.state {
            _ if self.is_doubtful => Some(Intent::Read),
            Candidacy::Releasing(_) if self.holds() => Some(Intent::Release),
            Candidacy::Releasing(_) => return self.end(self.leader().is_none()),
            Candidacy::Following if !is_free => None,
            _ => Some(Intent::Write),
        };
        let waits = self.wanted.is_none() && matches!(self.state, Candidacy::Following);
        self.look_at = if waits { self.next_look() } else { None };
    }

    /// When to look at a lease that another candidate holds or held: at its expiry, and before it, unless a watch tells of changes.
    fn next_look(&mut self) -> Option<Instant> {
        let expiry = self.known.as_ref().map(|known| known.expiry(self.config.lease_duration)).or(self.left_until);
        if self.is_watched { expiry } else { earliest(expiry, Some(self.now + self.jittered())) }
    }

    fn jittered(&mut self) -> Duration {
        let period = self.config.retry_period;
        period + self.random.below(period + period / 5)
    }

    fn tell(&mut self, event: ElectionEvent) {
        // Of leaders and of failures, the last one counts: a caller that takes no events keeps few of them.
        let same = core::mem::discriminant(&event);
        if matches!(event, ElectionEvent::Leader(_) | ElectionEvent::Failed(_)) {
            self.events.retain(|other| core::mem::discriminant(other) != same);
        }
        self.events.push_back(event);
    }
}

/// Questions.
impl LeaderElector {
    fn term(&self) -> Option<&Term> {
        match &self.state {
            Candidacy::Leading(term) | Candidacy::Stopping(Some(term)) => Some(term),
            _ => None,
        }
    }

    /// Whether no request may be sent.
    fn rests(&self) -> bool {
        matches!(self.state, Candidacy::Idle | Candidacy::Stopping(None) | Candidacy::Ended)
    }
}

/// Whether a server that answers with this status has not made the write. At 408, a proxy may have given up waiting.
fn is_refusal(code: u16) -> bool {
    (400..500).contains(&code) && code != 408
}

/// So much time before `at`.
fn before(at: Instant, time: Duration) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_sub(nanos(time)))
}

/// A lease that is seen now.
fn seen(lease: Value, now: Instant) -> Result<Known, ApiError> {
    Known::new(lease, now).ok_or_else(|| ApiError::Unreadable("the lease has no metadata.resourceVersion".into()))
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Read,
    /// Acquires or renews.
    Write,
    Release,
}
