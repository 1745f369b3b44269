//! How a candidate stands: its term, the work under it, and the writes that it lets out.

use super::report::is_lost;
use crate::client::{Client, Gate, OpenWrite};
use crate::clock::Clock;
use crate::mutex::Mutex;
use crate::waiting::Waiting;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::api::SendGate;
use listwatch_core::election::{ElectionEvent, FencingToken, LeaderElector, StopReason};
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::{Arc, MutexGuard};
use std::task::Wake;

/// How the candidacy for a lease stands, and its end: a handle for any task or thread. A clone is of the same candidate.
///
/// It tells nothing new before its [`Candidate`](super::Candidate) is driven.
#[derive(Clone)]
pub struct Leadership(Arc<Shared>);

struct Shared {
    machine: Mutex<Machine>,
    waiting: Arc<Waiting>,
    clock: Clock,
    lease: String,
    identity: String,
    /// A release takes no longer.
    release: Duration,
}

/// The elector, and what it has told.
pub(super) struct Machine {
    pub(super) elector: LeaderElector,
    phase: Phase,
    /// The program knows of the term, so it says when its work has stopped.
    is_noticed: bool,
    /// Each term is known to the program.
    is_attended: bool,
    /// How often work had to stop, and why the last time.
    stops: (u64, StopReason),
    wish: Wish,
    /// How much work goes on.
    work: usize,
    /// The writes that were let out and are not over.
    writes: Vec<Arc<OpenWrite>>,
    /// No work goes on but these writes, which have until then.
    closing: Option<Instant>,
}

/// What the program wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// To lead, as often as it can.
    Terms,
    /// No other term: its work has ended unasked.
    NoOther,
    /// The end.
    End,
}

enum Phase {
    /// Waits for the lease.
    Following,
    Leading(FencingToken),
    Stopping(StopReason),
    Ended {
        released: bool,
    },
}

impl Leadership {
    pub(super) fn new(
        elector: LeaderElector,
        clock: Clock,
        lease: String,
        identity: String,
        release: Duration,
    ) -> Self {
        let machine = Mutex::new(Machine {
            elector,
            phase: Phase::Following,
            is_noticed: false,
            is_attended: false,
            stops: (0, StopReason::Asked),
            wish: Wish::Terms,
            work: 0,
            writes: Vec::new(),
            closing: None,
        });
        Self(Arc::new(Shared { machine, waiting: Arc::default(), clock, lease, identity, release }))
    }

    /// The namespace and the name of the lease: `web/controller`.
    pub fn lease(&self) -> &str {
        &self.0.lease
    }

    /// The name of this candidate in the lease.
    pub fn identity(&self) -> &str {
        &self.0.identity
    }

    /// Waits until this candidate leads. `None` if its candidacy has ended.
    ///
    /// The program calls [`stopped`](Self::stopped) when its work under this term has stopped. Until then, the candidate
    /// neither leads again nor releases the lease.
    pub async fn begun(&self) -> Option<FencingToken> {
        self.find(|machine| match machine.leading() {
            Some(token) => {
                machine.is_noticed = true;
                Some(Some(token))
            }
            None => matches!(machine.phase, Phase::Ended { .. }).then_some(None),
        })
        .await
    }

    /// Waits until work has to stop, whether it was asked to or its term is over. It may still write while there is a
    /// [`token`](Self::token).
    pub async fn over(&self) -> StopReason {
        self.stop_for(|_| true).await
    }

    /// Waits until no write may be sent any more: the term is over although the program did not ask for that, or the
    /// candidacy has ended.
    pub async fn lost(&self) -> StopReason {
        self.stop_for(is_lost).await
    }

    /// Waits until the candidacy has ended. Returns whether the lease was left free.
    pub async fn ended(&self) -> bool {
        self.find(|machine| match machine.phase {
            Phase::Ended { released } => Some(released),
            _ => None,
        })
        .await
    }

    /// The token of the term, if a write may be sent now. [`guarded`](Self::guarded) asks for it before each write.
    ///
    /// A program that asks for nothing but this calls no [`stopped`](Self::stopped): after a loss, the candidate applies
    /// again, and after [`stop`](Self::stop) it releases the lease at once.
    pub fn token(&self) -> Option<FencingToken> {
        self.lock().elector.token(self.0.clock.now()).cloned()
    }

    /// The holder that was seen last. The text comes from the server.
    pub fn leader(&self) -> Option<String> {
        self.lock().elector.leader().map(str::to_owned)
    }

    /// How this candidate stands, as of one moment.
    pub fn status(&self) -> ElectionStatus {
        let (now, machine) = (self.clock().now(), self.lock());
        let (elector, has_ended) = (&machine.elector, machine.has_ended());
        ElectionStatus {
            lease: self.lease().to_owned(),
            identity: self.identity().to_owned(),
            leader: elector.leader().map(str::to_owned),
            token: elector.token(now).filter(|_| !has_ended).cloned(),
            remaining: elector
                .term_end()
                .filter(|_| !has_ended)
                .map_or(Duration::ZERO, |end| end.saturating_since(now)),
            has_ended,
        }
    }

    /// Whether all goes on in time, for a health check: see [`LeaderElector::is_on_time`].
    #[doc(alias = "HealthzAdaptor")]
    pub fn is_on_time(&self, tolerance: Duration) -> bool {
        self.lock().elector.is_on_time(self.0.clock.now(), tolerance)
    }

    /// Ends the candidacy. If this candidate leads, its work has to stop first; meanwhile the lease is renewed.
    pub fn stop(&self) {
        self.change(|machine| {
            machine.wish = Wish::End;
            machine.elector.stop(self.0.clock.now());
        });
    }

    /// Takes note that no work goes on: see [`LeaderElector::handle_stopped`]. The program calls this once for each term that
    /// [`begun`](Self::begun) has told it of. Another term needs no such call.
    ///
    /// From now on, [guarded](Self::guarded) clients send no change. The lease is renewed until the changes that they have
    /// sent are answered, for [`request_timeout`](super::Election::request_timeout) at most. Those that are not are given
    /// up, and [told](super::ElectionReport::GivenUp). Only then is the lease released.
    pub fn stopped(&self) {
        self.stopped_by(self.0.clock.now() + self.0.release);
    }

    /// A clone of a client that sends changes only while this candidate leads. Otherwise they fail, and nothing is sent.
    /// Reads are sent in any case.
    ///
    /// The client asks for the [`token`](Self::token) when it hands the request to its transport. The transport asks again
    /// when it writes the request: a connection that has to be made, a plugin for credentials, or a repetition after a 401
    /// may have taken longer than the term. A request of one term does not leave in another one. When the term is lost, the
    /// changes that are not answered are given up. As for `token`, no [`stopped`](Self::stopped) has to be called.
    #[must_use]
    pub fn guarded(&self, client: &Client) -> Client {
        client.behind(Arc::clone(&self.0) as _)
    }
}

/// For the driver, and for controllers.
impl Leadership {
    pub(super) fn lock(&self) -> MutexGuard<'_, Machine> {
        self.0.lock()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(crate) fn waiting(&self) -> &Arc<Waiting> {
        &self.0.waiting
    }

    /// Says that each term is known to the program, which calls [`stopped`](Self::stopped) after it.
    pub(crate) fn attend(&self) {
        self.lock().is_attended = true;
    }

    /// Ends the candidacy, whatever its state: no task drives it.
    pub(crate) fn abandon(&self) {
        self.change(|machine| {
            if !matches!(machine.phase, Phase::Ended { .. }) {
                machine.phase = Phase::Ended { released: false };
            }
        });
    }

    /// Notes what the elector has told. Returns whether that was the end.
    ///
    /// If the term is lost, the writes that are open are aborted first.
    pub(super) fn note(&self, event: &ElectionEvent) -> bool {
        if matches!(event, ElectionEvent::Stopping(reason) if is_lost(reason)) {
            let writes = core::mem::take(&mut self.lock().writes);
            self.0.revoke(&writes);
        }
        let phase = match event {
            ElectionEvent::Started(token) => Phase::Leading(token.clone()),
            ElectionEvent::Stopping(reason) => Phase::Stopping(reason.clone()),
            ElectionEvent::Ended { released } => Phase::Ended { released: *released },
            _ => return false,
        };
        let now = self.0.clock.now();
        self.change(|machine| machine.enter(phase, now, now + self.0.release));
        matches!(event, ElectionEvent::Ended { .. })
    }

    /// Takes note that the work has ended for good, whatever becomes of the term.
    pub(super) fn finished(&self) {
        let until = self.0.clock.now() + self.0.release;
        self.change(|machine| {
            machine.want_no_other();
            machine.stopped(self.0.clock.now(), until);
        });
    }

    /// Takes note that no work goes on but the open writes, which have until then.
    pub(crate) fn stopped_by(&self, until: Instant) {
        self.change(|machine| machine.stopped(self.0.clock.now(), until));
    }

    /// Waits until this candidate leads, has lost its term, or is driven no more.
    pub(crate) async fn turn(&self) -> Turn {
        self.find(|machine| match &machine.phase {
            Phase::Leading(_) => Some(Turn::Leads),
            Phase::Stopping(reason) if is_lost(reason) => Some(Turn::Lost(reason.clone())),
            Phase::Ended { .. } => Some(Turn::Ended),
            Phase::Following | Phase::Stopping(_) => None,
        })
        .await
    }

    /// How long a release takes at most.
    pub(crate) fn release_limit(&self) -> Duration {
        self.0.release
    }

    /// Waits until this candidate leads, or is asked to end.
    pub(crate) async fn leads_or_ends(&self) {
        self.find(|machine| (machine.is_over() || machine.leading().is_some()).then_some(())).await;
    }

    /// Begins work as soon as this candidate leads. `None` if it is asked to end.
    pub(crate) async fn work(&self) -> Option<Work> {
        self.find(|machine| match machine.leading().filter(|_| machine.wish != Wish::End) {
            Some(token) => {
                machine.work += 1;
                Some(Some(Work { leadership: self.clone(), token }))
            }
            None => machine.is_over().then_some(None),
        })
        .await
    }

    /// Waits until no work goes on.
    pub(crate) async fn idle(&self) {
        self.find(|machine| (machine.work == 0).then_some(())).await;
    }

    /// Until when writes are waited for that go on alone.
    pub(super) fn closing(&self) -> Option<Instant> {
        self.lock().closing
    }

    /// Aborts the writes whose time is over, and takes note that no work goes on. Returns them.
    pub(super) fn give_up_late(&self) -> Vec<Arc<OpenWrite>> {
        let mut machine = self.lock();
        if machine.closing.is_none_or(|until| self.0.clock.now() < until) {
            return Vec::new();
        }
        let writes = core::mem::take(&mut machine.writes);
        drop(machine);
        // Before the release: nothing leaves after it.
        self.0.revoke(&writes);
        self.change(|machine| _ = machine.close(self.0.clock.now()));
        writes
    }

    /// Waits until work has to stop for such a reason. It may have been noted already that none goes on.
    async fn stop_for(&self, is_it: fn(&StopReason) -> bool) -> StopReason {
        let before = self.lock().stops.0;
        self.find(|machine| match &machine.phase {
            Phase::Stopping(reason) if is_it(reason) => Some(reason.clone()),
            Phase::Ended { .. } => Some(StopReason::Asked),
            _ if machine.stops.0 != before => Some(machine.stops.1.clone()).filter(is_it),
            _ => None,
        })
        .await
    }

    async fn find<T>(&self, mut found: impl FnMut(&mut Machine) -> Option<T>) -> T {
        self.0.waiting.until(|| found(&mut self.lock())).await
    }

    fn change(&self, change: impl FnOnce(&mut Machine)) {
        change(&mut self.lock());
        self.0.waiting.wake_by_ref();
    }
}

impl Machine {
    fn leading(&self) -> Option<FencingToken> {
        let Phase::Leading(token) = &self.phase else { return None };
        Some(token.clone())
    }

    /// The end is for ever. Writes that go on alone have until then.
    fn enter(&mut self, phase: Phase, now: Instant, until: Instant) {
        if matches!(self.phase, Phase::Ended { .. }) {
            return;
        }
        match &phase {
            Phase::Leading(_) => self.is_noticed = self.is_attended,
            Phase::Stopping(reason) => self.stops = (self.stops.0 + 1, reason.clone()),
            Phase::Following | Phase::Ended { .. } => {}
        }
        let is_over = matches!(phase, Phase::Stopping(_));
        self.phase = phase;
        if is_over && (!self.is_noticed || self.closing.is_some()) {
            self.stopped(now, self.closing.unwrap_or(until));
        }
    }

    fn stopped(&mut self, now: Instant, until: Instant) {
        if matches!(self.phase, Phase::Leading(_)) && self.elector.token(now).is_some() {
            self.want_no_other();
        }
        match self.writes.is_empty() {
            true => self.conclude(now),
            false => self.closing = Some(until),
        }
    }

    fn conclude(&mut self, now: Instant) {
        self.closing = None;
        self.elector.handle_stopped(now);
        if self.wish == Wish::NoOther {
            self.elector.stop(now);
        }
        if !matches!(self.phase, Phase::Ended { .. }) {
            self.phase = Phase::Following;
        }
    }

    /// Takes note that no work goes on, once the writes are over that went on alone. Returns whether they are.
    fn close(&mut self, now: Instant) -> bool {
        let is_closed = self.closing.is_some() && self.writes.is_empty();
        if is_closed {
            self.conclude(now);
        }
        is_closed
    }

    fn want_no_other(&mut self) {
        if self.wish == Wish::Terms {
            self.wish = Wish::NoOther;
        }
    }

    /// No work begins any more.
    fn is_over(&self) -> bool {
        self.wish == Wish::End || self.has_ended()
    }

    /// The candidacy is over for good.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }
}

listwatch_core::summary!("Leadership" for Leadership, |it| { lease: it.0.lease, identity: it.0.identity });

/// How a candidate stands in its election, as [`Leadership::status`] read it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionStatus {
    /// The namespace and the name of the lease.
    pub lease: String,
    /// The name of this candidate in the lease.
    pub identity: String,
    /// The holder that was seen last. The text comes from the server.
    pub leader: Option<String>,
    /// The token of the term, if a write may be sent now.
    pub token: Option<FencingToken>,
    /// For how long writes may be sent, unless a renewal follows; zero without a term.
    pub remaining: Duration,
    /// The candidacy is over for good: it was stopped, or nothing drives it any more.
    pub has_ended: bool,
}

impl ElectionStatus {
    /// Whether this candidate may write now (`IsLeader` of client-go).
    pub fn is_leading(&self) -> bool {
        self.token.is_some()
    }
}

/// Where the election of a controller stands.
pub(crate) enum Turn {
    Leads,
    Lost(StopReason),
    /// No task drives the candidate.
    Ended,
}

/// Work that goes on under a term, until it is dropped.
pub(crate) struct Work {
    leadership: Leadership,
    token: FencingToken,
}

impl Work {
    /// Whether it has to stop at once.
    pub(crate) fn is_over(&self) -> bool {
        self.leadership.token().is_none_or(|token| token != self.token)
    }

    /// Waits until it has to stop at once.
    pub(crate) async fn over(&self) {
        self.leadership.lost().await;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.leadership.change(|machine| machine.work -= 1);
    }
}

impl Gate for Shared {
    fn enter(self: Arc<Self>, write: &Arc<OpenWrite>) -> Result<SendGate, TransportError> {
        let mut machine = self.lock();
        let token = machine.elector.token(self.clock.now()).filter(|_| machine.closing.is_none()).cloned();
        let token = token.ok_or_else(|| self.refusal())?;
        machine.writes.push(Arc::clone(write));
        drop(machine);
        let write = Arc::clone(write);
        Ok(SendGate::new(move || write.check().and_then(|()| self.check(&token))))
    }

    fn leave(&self, write: &Arc<OpenWrite>) {
        let mut machine = self.lock();
        machine.writes.retain(|other| !Arc::ptr_eq(other, write));
        let is_closed = machine.close(self.clock.now());
        drop(machine);
        if is_closed {
            self.waiting.wake_by_ref();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock()
    }

    /// Whether a write of this term may leave now.
    fn check(&self, term: &FencingToken) -> Result<(), TransportError> {
        let is_term = self.lock().elector.token(self.clock.now()) == Some(term);
        if is_term { Ok(()) } else { Err(self.refusal()) }
    }

    fn refusal(&self) -> TransportError {
        let why = format!("not sent: {} does not hold the lease {}", self.identity, self.lease);
        TransportError::new(TransportErrorKind::Other, why)
    }

    /// Aborts writes. The machine must not be locked: transports ask it.
    pub(super) fn revoke(&self, writes: &[Arc<OpenWrite>]) {
        let why =
            format!("given up: {} holds the lease {} no longer; it may have been made", self.identity, self.lease);
        writes.iter().for_each(|write| write.revoke(TransportError::new(TransportErrorKind::Other, why.clone())));
    }
}
