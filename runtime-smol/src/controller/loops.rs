//! Writes without an end: what the detector gets of each write.

use super::writes::Written;
use crate::informers::{Collection, InformerHandle, Informers, WorldId};
use crate::mutex::Mutex;
use core::time::Duration;
use listwatch_core::api::{ApiCall, ApiRequest, ApiResponse, Method};
use listwatch_core::controller::{Attention, Cause, LoopDetector, OwnValues, OwnWrite, WriteLoop};
use listwatch_core::object::Version;
use listwatch_core::{Instant, Key};
use serde_json::Value;
use std::sync::Arc;

/// An object of a source, in its world.
type Target = (WorldId, Arc<str>, Key);

/// The detector of a controller.
pub(super) struct Loops(Mutex<LoopDetector<Target>>);

/// What is known before a write.
pub(super) struct Watched {
    world: WorldId,
    source: Arc<str>,
    /// The object, unless it is created: then the server may choose its name.
    object: Option<Key>,
    /// The version that the object has before, as far as is known.
    version: Option<Version>,
    attention: Attention,
    /// The object as the server has it before.
    state: Option<Value>,
}

impl Loops {
    /// The detector of a controller with this field manager.
    pub(super) fn new(manager: &str) -> Self {
        Self(Mutex::new(LoopDetector::new(manager)))
    }

    /// Looks at the object of a request that is about to leave.
    pub(super) fn watch<T: Send + Sync + 'static>(
        &self,
        now: Instant,
        kind: &InformerHandle<T>,
        request: &ApiRequest,
    ) -> Watched {
        let (world, source) = (Informers::of(kind).world().id(), kind.resource().path().into());
        let object = changed(request);
        let version_of =
            |key| kind.store().read(|it| it.get(key).map(|object| object.meta().resource_version().into()));
        let version = object.as_ref().and_then(version_of);
        let mut watched = Watched { world, source, object, version, attention: Attention::Versions, state: None };
        if let Some(object) = &watched.object {
            watched.attention = self.0.lock().attention(now, &watched.target(object));
        }
        watched
    }

    /// A write was answered. Returns the loop that it shows.
    pub(super) fn on_written(
        &self,
        now: Instant,
        causes: &[(Cause, Duration)],
        (request, response): (&ApiRequest, &ApiResponse),
        written: &Written,
        watched: &Watched,
    ) -> Option<WriteLoop> {
        let version = written.version().filter(|_| request.method != Method::Delete)?;
        let read = |body: &[u8]| serde_json::from_slice::<Value>(body).ok();
        let is_compared = watched.attention != Attention::Versions;
        let values = is_compared.then(|| Some((read(&request.body)?, read(&response.body)?))).flatten();
        let before = watched.state.as_ref();
        let mut loops = self.0.lock();
        let write = OwnWrite {
            is_creation: request.method == Method::Post,
            is_echo: !causes.is_empty() && causes.iter().all(|(cause, _)| watched.is_own(&loops, cause)),
            version_before: watched.version.as_deref(),
            version: &version,
            values: values.as_ref().map(|(body, after)| OwnValues { body, before, after }),
        };
        loops.handle_write(now, watched.target(written.key()), &write);
        loops.poll_loop().map(|(_, found)| found)
    }
}

impl Watched {
    /// The read of the object, if it is to be compared. It is no part of a tape, so a replay has no answer to it.
    pub(super) fn read<T: Send + Sync + 'static>(&self, kind: &InformerHandle<T>) -> Option<ApiCall<Value>> {
        let is_due = self.attention == Attention::State && !Informers::of(kind).world().is_replay();
        let key = self.object.as_ref().filter(|_| is_due)?;
        Some(kind.api_for::<Value>(key).get(key.name()).map_request(ApiRequest::unrecorded))
    }

    /// The object was read.
    pub(super) fn saw(&mut self, state: Value) {
        self.version = state["metadata"]["resourceVersion"].as_str().map(Version::from);
        self.state = Some(state);
    }

    fn target(&self, object: &Key) -> Target {
        (self.world, Arc::clone(&self.source), object.clone())
    }

    /// Whether the event that woke a reconcile is that of an own write.
    fn is_own(&self, loops: &LoopDetector<Target>, cause: &Cause) -> bool {
        let (Some(object), Some(version)) = (&cause.object, &cause.version) else { return false };
        loops.is_own(&(self.world, Arc::clone(&cause.source), object.clone()), version)
    }
}

/// The object that a request changes.
fn changed(request: &ApiRequest) -> Option<Key> {
    let is_change = matches!(request.method, Method::Put | Method::Patch);
    let collection = Collection::of(&request.path).filter(|_| is_change)?;
    Some(Key::new(collection.namespace, collection.name?))
}
