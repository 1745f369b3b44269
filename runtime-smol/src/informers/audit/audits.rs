//! The audits of streams: one, and those of a schedule.

use super::report::{AuditFailure, StreamAudit};
use crate::calls::{Caller, Calls};
use crate::caught::caught_call;
use crate::client::{Client, Unanswered};
use crate::clock::Clock;
use crate::informers::board::Board;
#[cfg(feature = "file")]
use crate::informers::world::DumpCause;
use crate::informers::world::World;
use core::cmp::Ordering;
use core::future::poll_fn;
use core::time::Duration;
use listwatch_core::api::{ApiResponse, CallAction};
use listwatch_core::audit::{Audit, AuditConfig, AuditReport, AuditSchedule, Replica};
#[cfg(feature = "shards")]
use listwatch_core::object::Uid;
use listwatch_core::object::{Version, compare_versions};
use listwatch_core::request::RequestId;
use listwatch_core::time::earliest;
use listwatch_core::{Instant, Key, Resource, Store};
use smol::future::or;
use std::sync::Arc;

/// The audits of an informer by a schedule. [`InformerHandle::audit_every`](crate::InformerHandle::audit_every) returns
/// it.
///
/// It audits while [`next`](Self::next) is awaited, one stream after the other, and ends with its drop. It does not keep
/// the informer running.
#[must_use = "a schedule audits nothing unless `next` is awaited"]
pub struct Audits {
    targets: Vec<Target>,
    clock: Clock,
    schedule: AuditSchedule,
    config: AuditConfig,
    /// When the next round begins, or has begun.
    begins: Instant,
    /// How many streams of the round were audited.
    done: usize,
}

impl Audits {
    pub(crate) fn new(targets: Vec<Target>, clock: Clock, mut schedule: AuditSchedule, config: AuditConfig) -> Self {
        let begins = schedule.next(clock.now());
        Self { targets, clock, schedule, config, begins, done: 0 }
    }

    /// The same within other limits.
    pub fn with_config(self, config: AuditConfig) -> Self {
        Self { config, ..self }
    }

    /// The same, compared with the lists of another API server of the same cluster: the watch cache of the informer's own
    /// may be what has lost an event.
    pub fn against(mut self, server: &Client) -> Self {
        self.targets = self.targets.into_iter().map(|target| target.against(server)).collect();
        self
    }

    /// The next audit of a stream; `None` once the informer has ended.
    ///
    /// If the future is dropped before it is ready, the next one audits the same stream, from the beginning.
    pub async fn next(&mut self) -> Option<Arc<StreamAudit>> {
        let (_place, audit) = self.next_placed().await?;
        Some(audit)
    }

    /// The same with the stream's place in a round. Streams of one name may have several.
    pub(crate) async fn next_placed(&mut self) -> Option<(usize, Arc<StreamAudit>)> {
        loop {
            let begun = async {
                self.clock.sleep_until(self.begins).await;
                true
            };
            let all_stopped = async {
                for target in &self.targets {
                    target.stopped().await;
                }
                false
            };
            if !or(begun, all_stopped).await {
                return None;
            }
            while let Some(target) = self.targets.get(self.done) {
                let audit = if target.is_stopped() { None } else { Some(target.audit(self.config).await) };
                let place = self.done;
                self.done += 1;
                if let Some(audit) = audit.filter(|_| !target.is_stopped()) {
                    return Some((place, audit));
                }
            }
            (self.begins, self.done) = (self.schedule.next(self.clock.now()), 0);
        }
    }
}

listwatch_core::summary!("Audits" for Audits, |it| { schedule: it.schedule });

/// A stream that can be audited, of any type. It does not keep its informer running.
#[derive(Clone)]
pub(crate) struct Target {
    board: Arc<Board>,
    replica: Arc<dyn Replica + Send + Sync>,
    world: World,
    /// Whose lists the store is compared with.
    client: Client,
}

impl Target {
    /// The streams of a store.
    pub(in crate::informers) fn all_of<T: Send + Sync + 'static>(
        world: &World,
        store: &Store<T>,
        boards: &[Arc<Board>],
    ) -> Vec<Self> {
        let target = |(place, board): (usize, &Arc<Board>)| {
            let replica = Arc::new(Stored { store: store.clone(), place, board: Arc::clone(board) });
            Self { board: Arc::clone(board), replica, world: world.clone(), client: world.client().clone() }
        };
        boards.iter().enumerate().map(target).collect()
    }

    /// The same, compared with the lists of another server.
    pub(in crate::informers) fn against(self, server: &Client) -> Self {
        Self { client: server.clone(), ..self }
    }

    /// Compares the stream's part of the store with a list.
    pub(in crate::informers) async fn audit(&self, config: AuditConfig) -> Arc<StreamAudit> {
        let (clock, name) = (self.world.clock(), self.board.name().clone());
        let begun = clock.now();
        let result = if self.world.is_recording() {
            Err(AuditFailure::Recording)
        } else {
            let compared = self.compared(config);
            let stopped = async {
                self.stopped().await;
                Err(AuditFailure::Stopped)
            };
            or(stopped, compared).await
        };
        let now = clock.now();
        let audit = StreamAudit { name, date: clock.wall(), took: now.saturating_since(begun), result };
        let audit = Arc::new(audit);
        self.board.note_audit(&audit);
        #[cfg(feature = "file")]
        if let Some(objects) = audit.drift() {
            self.world.dump_for(DumpCause::Drift, &format_args!("{}: {objects}", audit.name));
        }
        #[cfg(feature = "tracing")]
        audit.trace();
        audit
    }

    /// Compares once the store has the objects that are selected, and again if others were selected meanwhile.
    async fn compared(&self, config: AuditConfig) -> Result<AuditReport, AuditFailure> {
        let clock = self.world.clock();
        loop {
            let [wanted, has] = self.board.selected();
            if wanted != has {
                clock.sleep(PAUSE).await;
                continue;
            }
            let compared = drive(&self.client, clock, self.board.name().resource(), &*self.replica, config).await;
            if self.board.selected() == [wanted, has] {
                return compared;
            }
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.board.is_stopped()
    }

    /// Waits until the stream does not go on.
    pub(super) async fn stopped(&self) {
        poll_fn(|cx| self.board.poll_stopped(cx)).await;
    }
}

/// One stream's part of a store. It does not keep its informer running.
pub(super) struct Stored<T> {
    pub(super) store: Store<T>,
    /// Which one of the store's streams it is.
    pub(super) place: usize,
    pub(super) board: Arc<Board>,
}

impl<T> Replica for Stored<T> {
    /// The older one of two versions: the board's comes later than the store's, when it knows each object up to there
    /// that could not be decoded.
    fn applied(&self) -> Option<Version> {
        let noted = self.board.applied()?;
        let applied = self.store.streams().into_iter().nth(self.place)?.applied?;
        let is_older = compare_versions(&noted, &applied).is_ok_and(Ordering::is_lt);
        Some(if is_older { noted } else { applied })
    }

    fn find(&self, key: &Key) -> Option<(Key, Version)> {
        self.store.read(|objects| {
            let object = objects.get(key)?;
            Some((object.key().clone(), object.meta().resource_version().into()))
        })
    }

    fn for_each(&self, f: &mut dyn FnMut(&Key, &str)) {
        let namespace = self.board.name().namespace();
        let objects = self.store.list();
        let covered = objects.iter().filter(|object| namespace.is_none() || object.key().namespace() == namespace);
        covered.for_each(|object| f(object.key(), object.meta().resource_version()));
    }

    fn undecodable(&self, key: &Key) -> Option<Version> {
        self.board.undecodable(key)
    }

    #[cfg(feature = "shards")]
    fn keeps(&self, key: &Key, uid: &Uid) -> bool {
        self.board.keeps(key.namespace(), uid)
    }
}

/// The time between two pages, so that an audit of a large store is no burst of requests.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs an audit to its end.
async fn drive(
    client: &Client,
    clock: &Clock,
    resource: &Resource,
    replica: &(dyn Replica + Send + Sync),
    config: AuditConfig,
) -> Result<AuditReport, AuditFailure> {
    let audit = Audit::new(resource.clone(), config);
    let mut running = Running { audit, replica, clock, next_page: clock.now(), panicked: None };
    let mut calls = Calls::new(client, clock).within_limit_of_client();
    poll_fn(|cx| calls.poll(&mut running, cx)).await
}

/// An audit that runs.
struct Running<'a> {
    audit: Audit,
    replica: &'a (dyn Replica + Send + Sync),
    clock: &'a Clock,
    /// No request is sent before.
    next_page: Instant,
    /// The message of a panic of the program's own code.
    panicked: Option<String>,
}

impl Caller for Running<'_> {
    type End = Result<AuditReport, AuditFailure>;

    fn poll_call(&mut self) -> Option<CallAction> {
        if self.clock.now() < self.next_page {
            return None;
        }
        let request = self.audit.poll_request()?;
        // One is open at a time.
        Some(CallAction::Open { id: RequestId(0), request: request.unrecorded() })
    }

    fn handle_answer(&mut self, _: RequestId, answer: Result<ApiResponse, Unanswered>) {
        let now = self.clock.now();
        self.next_page = now + PAUSE;
        match answer {
            Err(Unanswered::Panicked(message)) => self.panicked = Some(message),
            answer => self.act(|audit, replica| audit.handle_answer(now, replica, answer.map_err(Into::into))),
        }
    }

    fn poll_end(&mut self) -> Option<Self::End> {
        if let Some(message) = self.panicked.take() {
            return Some(Err(AuditFailure::Panicked(message.into())));
        }
        self.audit.poll_result().map(|result| result.map_err(AuditFailure::NotRead))
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        let next_page = Some(self.next_page).filter(|at| *at > self.clock.now());
        earliest(self.audit.poll_timeout(), next_page)
    }

    fn handle_timeout(&mut self) {
        let now = self.clock.now();
        self.act(|audit, replica| audit.handle_timeout(now, replica));
    }
}

impl Running<'_> {
    /// The audit may be the last to let go of objects, whose drop is the program's code.
    fn act(&mut self, act: impl FnOnce(&mut Audit, &dyn Replica)) {
        let Self { audit, replica, panicked, .. } = self;
        *panicked = caught_call(|| act(audit, *replica)).err();
    }
}
