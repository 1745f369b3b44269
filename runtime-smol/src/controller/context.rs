//! What a reconcile works with.

use super::loops::Watched;
use super::memory::{Answer, ObjectId, is_there};
use super::obstacle;
use super::report::Report;
use super::sharded::PlaceGate;
use super::state::ControllerState;
use super::writes::{Expected, Writes, Written, version_in, version_of};
use crate::client::{Client, Sender};
use crate::clock::Clock;
use crate::informers::{Found, InformerHandle, Informers};
use crate::mutex::Mutex;
use crate::stable_hash::StableHash;
use crate::traced;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::api::{ApiCall, ApiError, ApiRequest, ApiResponse, ReconcileId};
use listwatch_core::controller::{Cause, Write};
use listwatch_core::election::FencingToken;
use listwatch_core::object::{Condition, ConditionStatus, Version};
use listwatch_core::queue::Outcome;
use serde::de::DeserializeOwned;
use std::sync::Arc;

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
/// | [`delete`](Self::delete), [`prune`](Self::prune) | `delete`; `get` after a conflict |
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
    state: Arc<ControllerState>,
    sender: Sender,
    /// That of the controller's world, for this reconcile.
    client: Client,
    key: Key,
    causes: Vec<(Cause, Duration)>,
    timed_out: Vec<Write>,
    writes: Mutex<Writes>,
    /// Of the key's shard, if there are shards.
    gate: Option<PlaceGate>,
}

/// The bytes that the API server takes.
const MAX_FIELD_MANAGER: usize = 128;

impl Context {
    pub(super) fn new(
        state: &Arc<ControllerState>,
        sender: Sender,
        key: Key,
        causes: Vec<(Cause, Duration)>,
        timed_out: Vec<Write>,
        writes: Writes,
        gate: Option<PlaceGate>,
    ) -> Self {
        let (state, client) = (Arc::clone(state), state.client_of(&state.informers, gate.as_ref()).of(sender));
        Self(Arc::new(Inner { state, sender, client, key, causes, timed_out, writes: Mutex::new(writes), gate }))
    }

    /// The id of this reconcile. Each request by this context carries it in the headers `Audit-ID` and `traceparent`, so
    /// that kube-apiserver's audit log has it as the `auditID` of each write ([`TraceContext`]). The requests of clones do
    /// too, and those of a task that the reconcile spawns with one; requests by any other client do not.
    ///
    /// Under a simulated clock each run has the same ids, and the replay of a tape has those of the tape.
    ///
    /// [`TraceContext`]: crate::api::TraceContext
    pub fn id(&self) -> ReconcileId {
        self.0.sender.id()
    }

    /// The client of the controller's world, whose requests carry the [id](Self::id).
    ///
    /// If the controller has an [election](super::Reconciler::lead_by), it sends changes only while this replica leads.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// The clock of the controller's world.
    pub fn clock(&self) -> &Clock {
        &self.0.state.clock
    }

    /// The token of the term, for writes whose receiver compares terms. `None` if the term is over, or if the controller has
    /// no [election](super::Reconciler::lead_by). The replay of a tape has none, so writes that carry a token differ there.
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
        let watched = self.watch(kind, call.request()?).await;
        let (call, response) = self.respond(kind, call).await?;
        // The change is made, whether or not its answer can be read as an `R`.
        if let Some(written) = Written::read(call.request()?, &response) {
            self.report_loop(kind, (call.request()?, &response), &written, &watched);
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
        traced::answered(call.request()?, &response);
        for text in &response.warnings {
            if self.0.state.told.is_new(&(kind.resource().path(), text)) {
                self.0.state.warn(self.key(), Some(kind.title()), "ServerWarning", text);
            }
        }
        Ok((call, response))
    }

    /// The key's shard, if there are shards.
    pub(super) fn shard(&self) -> Option<u16> {
        self.0.gate.as_ref().map(PlaceGate::shard)
    }

    pub(super) fn state(&self) -> &ControllerState {
        &self.0.state
    }

    /// The client of an informer's world, for this reconcile.
    pub(super) fn client_of<T: Send + Sync + 'static>(&self, kind: &InformerHandle<T>) -> Client {
        self.0.state.client_of(&Informers::of(kind), self.0.gate.as_ref()).of(self.0.sender)
    }

    /// The key that is reconciled.
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The events that woke this reconcile, and for how long each waited. They are the newest 16, the oldest first. A
    /// retry has those of the reconcile that failed; the repetition of one that succeeded has none.
    pub fn causes(&self) -> &[(Cause, Duration)] {
        &self.0.causes
    }

    /// The writes of earlier reconciles that their stores did not show in time. Until its store shows it, a write is told
    /// to each reconcile of the key. The key waits for it after three reconciles. After that the write is
    /// [reported](super::Report::Warning) as `WriteNotShown`, delays and wakes the key no more, and is forgotten after
    /// half an hour.
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
        if let Some(witness) = crate::witness::present() {
            let hash = self.hash().number(witness.reconcile());
            let hash = hash.number(period.as_secs()).number(period.subsec_nanos().into());
            let most = u64::try_from((period / 10).as_nanos()).unwrap_or(u64::MAX);
            let drawn = (u128::from(hash.finish()) * u128::from(most)) >> u64::BITS;
            return period.saturating_add(Duration::from_nanos(drawn as u64));
        }
        self.0.state.machine.update(|it, _| it.jittered(period))
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
        let goes_on = (self.0.state.blocking.begin(self.key()), self.0.gate.as_ref().and_then(PlaceGate::work));
        let work = move || {
            let _goes_on = goes_on;
            work()
        };
        smol::unblock(work).await
    }

    /// [Reports](super::Report::Warning) a problem with an object: its reason in one word, and a message.
    pub fn warn<T>(&self, about: &Found<T>, reason: &str, message: &str) {
        self.0.state.warn(self.key(), Some(&about.title()), reason, message);
    }

    /// The name under which fields are written: that of the controller, up to the server's limit.
    pub(super) fn field_manager(&self) -> &str {
        field_manager(&self.0.state.name)
    }

    /// The seed of the delays after the conflicts of an object. Others that collide with this reconcile have other seeds.
    pub(super) fn conflict_seed<T>(&self, object: &Found<T>) -> u64 {
        let version = object.meta().resource_version();
        self.hash().text(self.key().as_str()).text(object.key().as_str()).text(version).finish()
    }

    /// The beginning of the hashes that delays are drawn by.
    fn hash(&self) -> StableHash {
        let ControllerState { seed, name, .. } = &*self.0.state;
        StableHash::new().number(*seed).text(name)
    }

    /// Whether the object is as after such an answer.
    pub(super) fn is_settled<T>(&self, object: &Found<T>, is_answer: impl Fn(&Answer) -> bool) -> bool {
        ObjectId::of(object).is_some_and(|id| self.0.state.memory.has_answer(&id, is_answer))
    }

    /// Nothing is to be sent while the object is as after this answer.
    pub(super) fn settle<T: Send + Sync + 'static>(&self, object: &Found<T>, answer: Answer) {
        if let Some(id) = ObjectId::of(object) {
            self.0.state.memory.add_answer(&id, answer, is_there(object));
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

    /// Warns the operator about the key.
    pub(super) fn warn_of_key(&self, reason: &str, message: &str) {
        self.0.state.warn(self.key(), None, reason, message);
    }

    /// Lets the key wait until the store shows this state of an object. Returns false if it may never do so.
    pub(super) fn await_state<T: Send + Sync + 'static>(&self, object: &Found<T>) -> bool {
        let (state, informer) = (Written::from(object.meta().clone()), object.informer());
        let is_shown = state.is_surely_of(informer);
        if is_shown {
            _ = self.0.writes.lock().expect(state.expected_in(informer));
        }
        is_shown
    }

    /// Reconciles the key when this object, which is in its way, is gone or has another controller.
    pub(super) fn wake_after<T: Send + Sync + 'static>(&self, object: &Found<T>) {
        if !obstacle::follow(&self.0.state, self.key(), object.informer(), object.meta()) {
            let message = format!("too many objects are awaited; no key is reconciled when {} moves", object.title());
            self.warn_of_key("ObstacleNotAwaited", &message);
        }
    }

    /// Looks at the object of a request that is about to leave, also as the server has it if a loop is likely.
    async fn watch<T: Send + Sync + 'static>(&self, kind: &InformerHandle<T>, request: &ApiRequest) -> Watched {
        let mut watched = self.0.state.loops.watch(self.clock().now(), kind, request);
        if let Some(read) = watched.read(kind)
            && let Ok(state) = self.client_of(kind).call(read).await
        {
            watched.saw(state);
        }
        watched
    }

    /// Reports the loop that a write shows.
    fn report_loop<T>(
        &self,
        kind: &InformerHandle<T>,
        exchange: (&ApiRequest, &ApiResponse),
        written: &Written,
        watched: &Watched,
    ) {
        let state = &self.0.state;
        let found = state.loops.on_written(self.clock().now(), self.causes(), exchange, written, watched);
        if let Some(found) = found {
            state.tally.looped();
            let about = format!("{} {}", kind.title(), written.key());
            state.report(&Report::WriteLoop { key: self.key(), about: &about, found: &found });
        }
    }

    fn on_written<T: Send + Sync + 'static>(&self, kind: &InformerHandle<T>, request: &ApiRequest, written: Written) {
        let mut mistake = written.mistake(request, kind.resource());
        if mistake.is_none() && written.is_of(kind) {
            let object = written.key().clone();
            let awaited = self.0.writes.lock().expect(written.expected_in(kind));
            mistake = awaited.err().map(|why| format!("the write of {object} {why}"));
        }
        mistake.iter().for_each(|mistake| self.warn_of_key("WriteNotAwaited", mistake));
    }

    /// An object has been read live at this version.
    pub(super) fn saw<T: Send + Sync + 'static>(&self, kind: &InformerHandle<T>, object: &Key, version: Version) {
        self.0.writes.lock().saw(kind.identity(), object, version);
    }

    /// Whether the store of the object's informer lacks a write to it that was waited for too long.
    pub(super) fn is_outdated<T: Send + Sync + 'static>(&self, object: &Found<T>) -> bool {
        let (informer, path) = (object.informer().identity(), object.informer().resource().path());
        let is_it = |write: &Write| *write.source == *path && write.object == *object.key();
        let is_late = self.0.writes.lock().is_late(&informer, object.key());
        is_late.unwrap_or_else(|| self.0.timed_out.iter().any(is_it))
    }

    /// Ends the reconcile: its writes, and those of earlier reconciles that are awaited again.
    pub(super) fn take_writes(&self) -> Vec<Expected> {
        let mut writes = self.0.writes.lock().end();
        writes.iter_mut().for_each(|expected| expected.shard = self.shard());
        writes
    }
}

/// The field manager of a controller of this name.
pub(super) fn field_manager(controller: &str) -> &str {
    let end = (0..=controller.len().min(MAX_FIELD_MANAGER)).rev().find(|end| controller.is_char_boundary(*end));
    match end.map_or("", |end| &controller[..end]) {
        "" => "listwatch",
        name => name,
    }
}

listwatch_core::summary!("Context" for Context, |it| { key: it.key(), causes: it.causes() });

/// Reads past the cache; see [`Context::live`](super::Context::live).
#[derive(Debug)]
pub struct Live<'a>(&'a Context);

impl Context {
    /// Reads from the server, past the cache. A reconcile that must not act on an old state does so, for example before
    /// it deletes.
    pub fn live(&self) -> Live<'_> {
        Live(self)
    }
}

impl Live<'_> {
    /// The object as the server has it now; `None` if there is none.
    ///
    /// # Errors
    /// Those of [`Client::call`](crate::Client::call), except for an object that does not exist.
    pub async fn get<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        kind: &InformerHandle<T>,
        key: impl Into<Key>,
    ) -> Result<Option<Found<T>>, ApiError> {
        match self.read(kind, &key.into()).await {
            Ok((object, _)) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The object and all of its JSON.
    pub(super) async fn read<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        kind: &InformerHandle<T>,
        key: &Key,
    ) -> Result<(Found<T>, Vec<u8>), ApiError> {
        let get = kind.api_for::<T>(key).get(key.name()).with_meta();
        let (get, response) = self.0.respond(kind, get).await?;
        let read = get.read(&response);
        // The server has the object, whether or not it can be read as a `T`.
        let version = read.as_ref().map_or_else(|_| version_in(&response), |object| version_of(&object.meta));
        if let Some(version) = version {
            self.0.saw(kind, key, version);
        }
        Ok((Found::new(read?.into(), kind), response.body))
    }
}

impl Context {
    /// A condition of an object, as this reconcile observes it: with the generation of the object, and the time of the
    /// controller's clock. [`Conditions::set`](listwatch_core::object::Conditions::set) puts it into a status, and keeps
    /// the time of an earlier transition.
    ///
    /// ```
    /// use listwatch::controller::{Context, Reconciled, Outcome};
    /// use listwatch::object::Conditions;
    /// use listwatch::{Found, kind};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Clone, Deserialize, Serialize)]
    /// struct Foo {
    ///     #[serde(default)]
    ///     status: FooStatus,
    /// }
    ///
    /// #[derive(Clone, Default, Deserialize, Serialize)]
    /// struct FooStatus {
    ///     #[serde(default)]
    ///     conditions: Conditions,
    /// }
    ///
    /// kind!(Foo, "example.com/v1", "foos");
    ///
    /// async fn on_ready(cx: &Context, foo: &Found<Foo>) -> Reconciled {
    ///     let ready = cx.condition(foo, "Ready", true, "Available").with_message("3 of 3 replicas are available");
    ///     cx.change_status(foo, |foo| _ = foo.status.conditions.set(ready.clone())).await?;
    ///     Ok(Outcome::Done)
    /// }
    /// ```
    ///
    /// If the condition is as before, no request is sent. If it is not, the object is read before the patch, because a list
    /// changes: two requests. The server has a status apart from the object, and keeps its
    /// fields, if the CRD says so for the version:
    ///
    /// ```yaml
    /// subresources: { status: {} }
    /// schema: { openAPIV3Schema: { type: object, properties: { status: { type: object, x-kubernetes-preserve-unknown-fields: true } } } }
    /// ```
    #[doc(alias("SetStatusCondition", "metav1.Condition"))]
    pub fn condition<T>(
        &self,
        object: &Found<T>,
        type_: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
    ) -> Condition {
        let condition = Condition::new(type_, status, reason, self.clock().wall());
        match object.meta().generation() {
            0 => condition,
            generation => condition.with_observed_generation(generation),
        }
    }
}
