use super::live::Live;
use super::report::Report;
use super::state::State;
use super::written::{Expected, Written};
use crate::client::Client;
use crate::clock::Clock;
use crate::informers::InformerHandle;
use core::fmt;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::api::{ApiCall, ApiError};
use listwatch_core::controller::{Awaited, Cause, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a reconcile works with. A clone is the same context; it is of no use after its reconcile.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    state: Arc<State>,
    key: Key,
    causes: Vec<(Cause, Duration)>,
    timed_out: Vec<Write>,
    /// What the stores are to show before the key's next reconcile.
    writes: Mutex<Vec<Expected>>,
}

impl Context {
    pub(super) fn new(state: &Arc<State>, key: Key, causes: Vec<(Cause, Duration)>, late: Vec<Expected>) -> Self {
        let timed_out = late.iter().map(|expected| expected.write.clone()).collect();
        Self(Arc::new(Inner { state: Arc::clone(state), key, causes, timed_out, writes: Mutex::new(late) }))
    }

    /// The client of the controller's world.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.0.state.client
    }

    /// The clock of the controller's world.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.state.clock
    }

    /// Sends a request. The next reconcile of the key does not wait for its effect; [`write`](Self::write) does that.
    ///
    /// # Errors
    /// Those of [`Client::call`].
    pub async fn call<R>(&self, call: ApiCall<R>) -> Result<R, ApiError> {
        self.client().call(call).await
    }

    /// Sends a request that changes an object of `kind`. After this reconcile the key waits, without a worker, until the
    /// store of `kind` shows the change: so the next reconcile does not repair what this one has just written.
    ///
    /// The store shows a create, replace or patch when it has the object's version, or a later one. It shows a delete
    /// when no object of that uid is left, or its `deletionTimestamp` is set. If that takes too long
    /// ([`Reconciler::await_writes`](super::Reconciler::await_writes)), the key is reconciled, and
    /// [told](Self::timed_out_writes). A request that failed or was not answered is not waited for. Neither is an object
    /// that `kind` does not select, as far as its namespace and labels tell.
    ///
    /// # Errors
    /// Those of [`Client::call`].
    pub async fn write<T: Send + Sync + 'static, R>(
        &self,
        kind: &InformerHandle<T>,
        call: ApiCall<R>,
    ) -> Result<R, ApiError> {
        let response = self.client().respond(&call).await?;
        // The change is made, whether or not its answer can be read as an `R`.
        if let Some(written) = Written::read(call.request()?, &response).filter(|written| written.is_of(kind)) {
            self.expect(written.expected_in(kind));
        }
        call.read(&response)
    }

    /// Reads from the server, past the cache. A reconcile that must not act on an old state does so, for example before
    /// it deletes.
    #[must_use]
    pub fn live(&self) -> Live<'_> {
        Live::new(self.client())
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

    /// The writes of earlier reconciles that their stores did not show in time. Until its store shows it, a write is
    /// awaited after each reconcile of the key, and told to the next.
    #[must_use]
    pub fn timed_out_writes(&self) -> &[Write] {
        &self.0.timed_out
    }

    /// [Reports](super::Report::Warning) a problem with the object: its reason in one word, and a message.
    pub fn warn(&self, reason: &str, message: &str) {
        self.0.state.report(&Report::Warning { key: self.key(), reason, message });
    }

    /// Waits for a write. A store that shows a version has shown what was written to the object before.
    fn expect(&self, expected: Expected) {
        let (new, mut writes) = (&expected.write, self.writes());
        if matches!(new.until, Awaited::Version(_)) {
            writes.retain(|Expected { write, .. }| (&write.source, &write.object) != (&new.source, &new.object));
        }
        writes.push(expected);
    }

    /// The writes so far, and those of earlier reconciles that were not shown in time.
    pub(super) fn take_writes(&self) -> Vec<Expected> {
        core::mem::take(&mut *self.writes())
    }

    fn writes(&self) -> MutexGuard<'_, Vec<Expected>> {
        self.0.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("key", self.key()).field("causes", &self.causes()).finish_non_exhaustive()
    }
}
