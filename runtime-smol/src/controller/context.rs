use super::by_object::{ObjectId, is_there};
use super::cleaned::Cleaned;
use super::expected::Expected;
use super::obstacle::Obstacle;
use super::report::Report;
use super::settled::Answer;
use super::state::State;
use super::writes::Writes;
use super::written::Written;
use crate::client::{Client, Sender};
use crate::clock::Clock;
use crate::informers::{Found, InformerHandle, Informers};
use crate::stable_hash::StableHash;
use core::fmt;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::api::{ApiCall, ApiError, ApiRequest, ApiResponse, ReconcileId};
use listwatch_core::controller::{Cause, Write};
use listwatch_core::election::FencingToken;
use listwatch_core::object::Version;
use listwatch_core::queue::Outcome;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a reconcile works with. A clone is the same context. After its reconcile, it still sends requests, and awaits
/// no [`write`](Self::write) any more.
///
/// Each request goes to the world of its object's informer. The controller's user needs these rights there:
///
/// | call | verbs |
/// |---|---|
/// | [`create`](Self::create) | `create`; with an owner, `get` if the name is taken |
/// | [`change`](Self::change), [`change_status`](Self::change_status) | `patch` of the object or its `status`; `get` for lists, after a conflict, and after a late write |
/// | [`apply`](Self::apply) | `patch`, and `create` for a new object |
/// | [`patch`](Self::patch), [`patch_status`](Self::patch_status) | `patch` of the object or its `status` |
/// | [`delete`](Self::delete) | `delete`; `get` after a conflict |
/// | [`ensure`](Self::ensure) | those of `create` and `change`, `get` among them |
/// | [`adopt`](Self::adopt) | `patch`; `get` of the owner |
/// | [`finalizer`](Self::finalizer) | `patch` and `get` |
/// | [`event`](Self::event), [`warning_event`](Self::warning_event), [`record`](Self::record) | `create` and `patch` of `events.events.k8s.io` |
///
/// A late write is one of the [`timed_out_writes`](Self::timed_out_writes). Some clusters let only those name an owner
/// who may `update` its `finalizers` (`OwnerReferencesPermissionEnforcement`).
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    state: Arc<State>,
    sender: Sender,
    /// That of the controller's world, for this reconcile.
    client: Client,
    key: Key,
    causes: Vec<(Cause, Duration)>,
    timed_out: Vec<Write>,
    /// The same with their informers.
    late: Vec<Expected>,
    writes: Mutex<Writes>,
}

/// The bytes that the API server takes.
const MAX_FIELD_MANAGER: usize = 128;

impl Context {
    pub(super) fn new(
        state: &Arc<State>,
        sender: Sender,
        key: Key,
        causes: Vec<(Cause, Duration)>,
        late: Vec<Expected>,
    ) -> Self {
        let stale = state.stale_writes(&key);
        let all: Vec<_> = late.iter().chain(&stale).cloned().collect();
        let timed_out = all.iter().map(|expected| expected.write.clone()).collect();
        let writes = Mutex::new(Writes::new(late, stale));
        let (state, client) = (Arc::clone(state), state.client.of(sender));
        Self(Arc::new(Inner { state, sender, client, key, causes, timed_out, late: all, writes }))
    }

    /// That of a reconcile on a tape. Its late writes are known by their paths alone.
    #[cfg(feature = "file")]
    pub(super) fn replayed(
        state: &Arc<State>,
        sender: Sender,
        key: Key,
        causes: Vec<(Cause, Duration)>,
        timed_out: Vec<Write>,
    ) -> Self {
        let (late, writes) = (Vec::new(), Mutex::new(Writes::new(Vec::new(), Vec::new())));
        let (state, client) = (Arc::clone(state), state.client.of(sender));
        Self(Arc::new(Inner { state, sender, client, key, causes, timed_out, late, writes }))
    }

    /// The id of this reconcile. Each request by this context carries it in the headers `Audit-ID` and `traceparent`, so
    /// that kube-apiserver's audit log has it as the `auditID` of each write ([`TraceContext`]). The requests of clones do
    /// too, and those of a task that the reconcile spawns with one; requests by any other client do not.
    ///
    /// Under a simulated clock each run has the same ids, and the replay of a tape has those of the tape.
    ///
    /// [`TraceContext`]: crate::api::TraceContext
    #[must_use]
    pub fn id(&self) -> ReconcileId {
        self.0.sender.id()
    }

    /// The client of the controller's world, whose requests carry the [id](Self::id).
    ///
    /// If the controller has an [election](super::Reconciler::lead_by), it sends changes only while this replica leads.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// The clock of the controller's world.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.state.clock
    }

    /// The token of the term, for writes whose receiver compares terms. `None` if the term is over, or if the controller has
    /// no [election](super::Reconciler::lead_by). The replay of a tape has none, so writes that carry a token differ there.
    #[must_use]
    pub fn fencing_token(&self) -> Option<FencingToken> {
        self.0.state.leadership.as_ref()?.token()
    }

    /// Sends a request to the controller's world. The next reconcile of the key does not wait for its effect;
    /// [`write`](Self::write) does that.
    ///
    /// # Errors
    /// Those of [`Client::call`].
    pub async fn call<R>(&self, call: ApiCall<R>) -> Result<R, ApiError> {
        self.client().call(call).await
    }

    /// Sends a request that changes an object of `kind`, to the world of `kind`. After this reconcile the key waits,
    /// without a worker, until the store of `kind` shows the change: so the next reconcile does not repair what this one
    /// has just written. [`create`](Self::create), [`change`](Self::change) and the others do so too, and make the request.
    ///
    /// The store shows a create, replace or patch when it has the object's version, or a later one. It shows a delete
    /// when no object of that uid is left, or its `deletionTimestamp` is set. Before that, it must have the versions of
    /// the object that this reconcile wrote or [read live](Self::live) by `kind`, and that of the answer. If that takes
    /// too long ([`Reconciler::await_writes`](super::Reconciler::await_writes)), the key is reconciled, and
    /// [told](Self::timed_out_writes). A request that failed or was not answered is not waited for. Neither is an object
    /// that `kind` does not select, as far as its labels tell.
    ///
    /// Three writes are made, but not waited for, and [reported](Self::warn) as `WriteNotAwaited`: that of another
    /// collection than `kind`, by its group, plural and namespace; one whose answer is about another name or namespace;
    /// and one after the end of the reconcile.
    ///
    /// # Errors
    /// Those of [`Client::call`].
    pub async fn write<T: Send + Sync + 'static, R>(
        &self,
        kind: &InformerHandle<T>,
        call: ApiCall<R>,
    ) -> Result<R, ApiError> {
        Ok(self.write_with_body(kind, call).await?.0)
    }

    /// The same, with the body of the answer.
    pub(super) async fn write_with_body<T: Send + Sync + 'static, R>(
        &self,
        kind: &InformerHandle<T>,
        call: ApiCall<R>,
    ) -> Result<(R, Vec<u8>), ApiError> {
        let (call, response) = self.respond(kind, call).await?;
        // The change is made, whether or not its answer can be read as an `R`.
        if let Some(written) = Written::read(call.request()?, &response) {
            self.on_written(kind, call.request()?, written);
        }
        Ok((call.read(&response)?, response.body))
    }

    /// Sends a request to the world of `kind`. What the server warns of is told, once for each kind.
    pub(super) async fn respond<T: Send + Sync + 'static, R>(
        &self,
        kind: &InformerHandle<T>,
        call: ApiCall<R>,
    ) -> Result<(ApiCall<R>, ApiResponse), ApiError> {
        let (call, response) = self.client_of(kind).respond(call).await?;
        for text in &response.warnings {
            if self.0.state.told.is_new(&(kind.resource().path(), text)) {
                let (key, about) = (self.key(), kind.title());
                self.0.state.report(&Report::Warning {
                    key,
                    about: Some(about),
                    reason: "ServerWarning",
                    message: text,
                });
            }
        }
        Ok((call, response))
    }

    pub(super) fn state(&self) -> &State {
        &self.0.state
    }

    /// The client of an informer's world, for this reconcile.
    pub(super) fn client_of<T: Send + Sync + 'static>(&self, kind: &InformerHandle<T>) -> Client {
        self.0.state.client_of(&Informers::of(kind)).of(self.0.sender)
    }

    /// The key that is reconciled.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The events that woke this reconcile, and for how long each waited. They are the newest 16, the oldest first. A
    /// retry has those of the reconcile that failed; the repetition of one that succeeded has none.
    #[must_use]
    pub fn causes(&self) -> &[(Cause, Duration)] {
        &self.0.causes
    }

    /// The writes of earlier reconciles that their stores did not show in time. Until its store shows it, a write is told
    /// to each reconcile of the key. The key waits for it after three reconciles. After that the write is
    /// [reported](super::Report::Warning) as `WriteNotShown`, delays and wakes the key no more, and is forgotten after
    /// half an hour.
    #[must_use]
    pub fn timed_out_writes(&self) -> &[Write] {
        &self.0.timed_out
    }

    /// The outcome that repeats the key after between `period` and 1.1 × `period`, as client-go's
    /// `wait.Jitter(period, 0.1)`. So keys that were reconciled together, as all are when the controller starts, are
    /// repeated apart.
    ///
    /// Under a [simulated clock](Clock::simulated), each run draws the same delays.
    #[must_use]
    #[doc(alias("Jitter", "requeue_after"))]
    pub fn requeue_about(&self, period: Duration) -> Outcome {
        Outcome::RequeueAfter(self.jittered(period))
    }

    /// A delay from `period` to 1.1 × `period`. Beside a tape it depends on the reconcile alone, so that its replay draws
    /// the same, whatever others draw.
    fn jittered(&self, period: Duration) -> Duration {
        #[cfg(feature = "file")]
        if let Some(witness) = crate::witness::present() {
            let hash = self.hash().number(witness.reconcile());
            let hash = hash.number(period.as_secs()).number(period.subsec_nanos().into());
            let most = u64::try_from((period / 10).as_nanos()).unwrap_or(u64::MAX);
            let drawn = (u128::from(hash.finish()) * u128::from(most)) >> u64::BITS;
            return period.saturating_add(Duration::from_nanos(drawn as u64));
        }
        self.0.state.machine.jittered(period)
    }

    /// Runs work that blocks, as `std::fs` does, on a thread of the `blocking` crate's pool, while other reconciles go on
    /// (tokio `spawn_blocking`). A panic of `work` is one of the reconcile.
    ///
    /// If the reconcile is dropped, such as at its [deadline](super::Reconciler::deadline), work that has begun goes on,
    /// and its value is dropped. A controller with an [election](super::Reconciler::lead_by) waits for it until the end of
    /// the [drain](super::Reconciler::drain). If it still goes on, the lease is not released.
    ///
    /// Under a [simulated clock](Clock::simulated), the work is done on the thread of the reconcile, so that each run is the
    /// same.
    #[doc(alias("spawn_blocking", "unblock"))]
    pub async fn blocking<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> R {
        if self.clock().is_simulated() {
            return work();
        }
        let goes_on = self.0.state.blocking.begin(self.key());
        let work = move || {
            let _goes_on = goes_on;
            work()
        };
        smol::unblock(work).await
    }

    /// [Reports](super::Report::Warning) a problem with an object: its reason in one word, and a message.
    pub fn warn<T>(&self, about: &Found<T>, reason: &str, message: &str) {
        let about = about.title();
        self.0.state.report(&Report::Warning { key: self.key(), about: Some(&about), reason, message });
    }

    /// The name under which fields are written: that of the controller, up to the server's limit.
    pub(super) fn field_manager(&self) -> &str {
        let name = &*self.0.state.name;
        let end = (0..=name.len().min(MAX_FIELD_MANAGER)).rev().find(|end| name.is_char_boundary(*end));
        match end.map_or("", |end| &name[..end]) {
            "" => "listwatch",
            name => name,
        }
    }

    /// The seed of the delays after the conflicts of an object. Others that collide with this reconcile have other seeds.
    pub(super) fn conflict_seed<T>(&self, object: &Found<T>) -> u64 {
        let version = object.meta().resource_version();
        self.hash().text(self.key().as_str()).text(object.key().as_str()).text(version).finish()
    }

    /// The beginning of the hashes that delays are drawn by.
    fn hash(&self) -> StableHash {
        let State { seed, name, .. } = &*self.0.state;
        StableHash::new().number(*seed).text(name)
    }

    /// The objects that were cleaned up.
    pub(super) fn cleaned(&self) -> &Cleaned {
        &self.0.state.cleaned
    }

    /// Whether the object is as after such an answer.
    pub(super) fn is_settled<T>(&self, object: &Found<T>, is_answer: impl Fn(&Answer) -> bool) -> bool {
        ObjectId::of(object).is_some_and(|id| self.0.state.settled.has(&id, is_answer))
    }

    /// Nothing is to be sent while the object is as after this answer.
    pub(super) fn settle<T: Send + Sync + 'static>(&self, object: &Found<T>, answer: Answer) {
        if let Some(id) = ObjectId::of(object) {
            self.0.state.settled.insert(&id, answer, is_there(object));
        }
    }

    /// Tells, once for each kind, in which places the server has not stored what was written.
    pub(super) fn warn_stored_otherwise<T>(&self, object: &Found<T>, places: &[String]) {
        let message = format!("the server has not stored what was written: {}", places.join(", "));
        let kind = object.informer().resource().path();
        if !places.is_empty() && self.0.state.told.is_new(&(kind, &message)) {
            self.warn(object, "StoredOtherwise", &message);
        }
    }

    /// Reports that changes of the objects of this informer wake no owner, if that is so.
    pub(super) fn warn_unfollowed<T>(&self, informer: &InformerHandle<T>) {
        self.0.state.warn_unfollowed(self.key(), informer.resource().path());
    }

    /// The same about the key.
    pub(super) fn warn_of_key(&self, reason: &str, message: &str) {
        self.0.state.report(&Report::Warning { key: self.key(), about: None, reason, message });
    }

    /// Lets the key wait until the store shows this state of an object. Returns false if it may never do so.
    pub(super) fn await_state<T: Send + Sync + 'static>(&self, object: &Found<T>) -> bool {
        let (state, informer) = (Written::Version(object.meta().clone()), object.informer());
        let is_shown = state.is_surely_of(informer);
        if is_shown {
            self.writes().expect(state.expected_in(informer));
        }
        is_shown
    }

    /// Reconciles the key when this object, which is in its way, is gone or has another controller.
    pub(super) fn wake_after<T: Send + Sync + 'static>(&self, object: &Found<T>) {
        let (state, informer) = (&self.0.state, object.informer());
        let over = state.waits.begin(self.key());
        let obstacle = Obstacle::new(self.key(), informer, object.meta(), over);
        // Without the streams' side, the controller has ended.
        let _ended = state.added.try_send(Box::new(obstacle));
    }

    fn on_written<T: Send + Sync + 'static>(&self, kind: &InformerHandle<T>, request: &ApiRequest, written: Written) {
        let mut mistake = written.mistake(request, kind.resource());
        if mistake.is_none() && written.is_of(kind) {
            let object = written.key().clone();
            if !self.writes().expect(written.expected_in(kind)) {
                mistake = Some(format!("the write of {object} came after the end of its reconcile"));
            }
        }
        mistake.iter().for_each(|mistake| self.warn_of_key("WriteNotAwaited", mistake));
    }

    /// An object has been read live at this version.
    pub(super) fn saw<T: Send + Sync + 'static>(&self, kind: &InformerHandle<T>, object: &Key, version: Version) {
        self.writes().saw(kind.identity(), object, version);
    }

    /// Whether the store of the object's informer lacks a write to it that was waited for too long.
    pub(super) fn is_outdated<T: Send + Sync + 'static>(&self, object: &Found<T>) -> bool {
        let (informer, path) = (object.informer().identity(), object.informer().resource().path());
        let is_late = |write: &Write| *write.source == *path && write.object == *object.key();
        // In a replay, none has its informer.
        let is_replayed = self.0.late.is_empty() && self.0.timed_out.iter().any(is_late);
        is_replayed || self.0.late.iter().any(|late| late.is_of(&informer, object.key()))
    }

    /// Ends the reconcile: its writes, and those of earlier reconciles that are awaited again.
    pub(super) fn take_writes(&self) -> Vec<Expected> {
        self.writes().end()
    }

    fn writes(&self) -> MutexGuard<'_, Writes> {
        self.0.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("key", self.key()).field("causes", &self.causes()).finish_non_exhaustive()
    }
}
