mod work;
mod writes;

use super::lost::is_lost;
use crate::client::{Client, OpenWrite};
use crate::clock::Clock;
use crate::waiting::Waiting;
use core::fmt;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::election::{ElectionEvent, FencingToken, LeaderElector, StopReason};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
pub(crate) use work::{Turn, Work};

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
    /// The program has asked for the end.
    is_asked: bool,
    /// Its work has ended unasked, so it wants no other term.
    is_done: bool,
    /// How much work goes on.
    work: usize,
    /// The writes that were let out and are not over.
    writes: Vec<Arc<OpenWrite>>,
    /// No work goes on but these writes, which have until then.
    closing: Option<Instant>,
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
            is_asked: false,
            is_done: false,
            work: 0,
            writes: Vec::new(),
            closing: None,
        });
        Self(Arc::new(Shared { machine, waiting: Arc::default(), clock, lease, identity, release }))
    }

    /// The namespace and the name of the lease: `web/controller`.
    #[must_use]
    pub fn lease(&self) -> &str {
        &self.0.lease
    }

    /// The name of this candidate in the lease.
    #[must_use]
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
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        self.lock().elector.token(self.0.clock.now()).cloned()
    }

    /// The holder that was seen last. The text comes from the server.
    #[must_use]
    pub fn leader(&self) -> Option<String> {
        self.lock().elector.leader().map(str::to_owned)
    }

    /// Whether all goes on in time, for a health check: see [`LeaderElector::is_on_time`].
    #[must_use]
    #[doc(alias = "HealthzAdaptor")]
    pub fn is_on_time(&self, tolerance: Duration) -> bool {
        self.lock().elector.is_on_time(self.0.clock.now(), tolerance)
    }

    /// Ends the candidacy. If this candidate leads, its work has to stop first; meanwhile the lease is renewed.
    pub fn stop(&self) {
        self.change(|machine| {
            machine.is_asked = true;
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

/// For the driver.
impl Leadership {
    pub(super) fn lock(&self) -> MutexGuard<'_, Machine> {
        self.0.lock()
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(super) fn waiting(&self) -> &Arc<Waiting> {
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
            machine.is_done = true;
            machine.stopped(self.0.clock.now(), until);
        });
    }

    /// Takes note that no work goes on but the open writes, which have until then.
    pub(crate) fn stopped_by(&self, until: Instant) {
        self.change(|machine| machine.stopped(self.0.clock.now(), until));
    }
}

impl Leadership {
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
        self.is_done |= matches!(self.phase, Phase::Leading(_)) && self.elector.token(now).is_some();
        match self.writes.is_empty() {
            true => self.conclude(now),
            false => self.closing = Some(until),
        }
    }

    fn conclude(&mut self, now: Instant) {
        self.closing = None;
        self.elector.handle_stopped(now);
        if self.is_done {
            self.elector.stop(now);
        }
        if !matches!(self.phase, Phase::Ended { .. }) {
            self.phase = Phase::Following;
        }
    }

    /// No work begins any more.
    fn is_over(&self) -> bool {
        self.is_asked || self.has_ended()
    }

    /// The candidacy is over for good.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { lease, identity, .. } = &*self.0;
        f.debug_struct("Leadership").field("lease", lease).field("identity", identity).finish_non_exhaustive()
    }
}
