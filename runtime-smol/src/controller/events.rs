//! The Events that reconciles record, and what writes them.

use super::context::Context;
use super::owners::SAY_KIND;
use super::report::Report;
use super::state::ControllerState;
use crate::clock::Clock;
use crate::informers::Found;
use crate::recorder::{EventWriter, ObjectReference, Occurrence, Recorder, config_for};
use async_executor::{Executor, Task};
use core::time::Duration;
use listwatch_core::object::Uid;
use smol::future::FutureExt;
use std::sync::Arc;

/// How long the end of a controller waits for its last Events.
const FLUSH: Duration = Duration::from_secs(5);

impl Context {
    /// Records that all goes well with an object, as an Event of type `Normal` (client-go `recorder.Eventf`). `reason` is a
    /// word in `UpperCamelCase`, `note` a text for operators.
    ///
    /// A reconcile never waits for it. Repeats become a series: what differs in its note alone, or in the object's version,
    /// is one. Texts that are too long for a server are cut. The replay of a tape writes none.
    ///
    /// ```
    /// use listwatch::controller::{Context, Outcome, Reconciled};
    /// use listwatch::Found;
    ///
    /// # struct Foo;
    /// fn on_synced(cx: &Context, foo: &Found<Foo>) -> Reconciled {
    ///     cx.event(foo, "Synced", "the Deployment is as it should be");
    ///     Ok(Outcome::Done)
    /// }
    /// ```
    #[doc(alias("Eventf", "publish"))]
    pub fn event<T>(&self, about: &Found<T>, reason: &str, note: &str) {
        self.record_about(about, |about| Occurrence::normal(about, reason).note(note));
    }

    /// Records that something may be wrong with an object, as an Event of type `Warning`; otherwise as
    /// [`event`](Self::event).
    pub fn warning_event<T>(&self, about: &Found<T>, reason: &str, note: &str) {
        self.record_about(about, |about| Occurrence::warning(about, reason).note(note));
    }

    /// Records an occurrence: with an action, a related object, or about an object that no informer has.
    pub fn record(&self, occurrence: Occurrence) {
        self.state().recorder.iter().for_each(|recorder| recorder.record(occurrence.clone()));
    }

    fn record_about<T>(&self, about: &Found<T>, occurrence: impl FnOnce(ObjectReference) -> Occurrence) {
        match reference_to(about) {
            Some(about) => self.record(occurrence(about)),
            None => {
                let path = about.informer().resource().path();
                let message = format!("the kind of {path} is not known, so no Event is about it; {SAY_KIND}");
                self.warn_of_key("EventWithoutKind", &message);
            }
        }
    }
}

/// `None` if the kind of the informer's objects has no known name.
fn reference_to<T>(object: &Found<T>) -> Option<ObjectReference> {
    let (informer, meta) = (object.informer(), object.meta());
    let reference = ObjectReference::new(&informer.api_version(), informer.kind()?, meta.namespace(), meta.name());
    let (uid, mut buffer) = (meta.uid(), [0; Uid::CANONICAL_LEN]);
    let uid = uid.as_ref().map_or("", |uid| uid.encode(&mut buffer));
    Some(reference.uid(uid).resource_version(meta.resource_version()))
}

/// The recorder of a controller.
pub(super) fn recorder(name: &str, seed: u64, clock: &Clock) -> Option<Recorder> {
    Recorder::new(config_for(name, seed, clock.is_simulated()), clock).ok()
}

/// What writes the Events of a controller.
pub(super) struct Events {
    state: Arc<ControllerState>,
    recorder: Recorder,
    writer: Task<()>,
}

impl Events {
    /// Writes with the client of the controller's world. No election holds Events up: the last ones are of a term that is
    /// over.
    pub(super) fn begin(state: &Arc<ControllerState>, executor: &Executor<'_>) -> Option<Self> {
        let recorder = state.recorder.clone()?;
        let weak = Arc::downgrade(state);
        let writer = EventWriter::new(&recorder, state.informers.client()).on_problem(move |problem| {
            weak.upgrade().iter().for_each(|state| state.report(&Report::EventNotWritten { problem }));
        });
        Some(Self { state: Arc::clone(state), recorder, writer: executor.spawn(writer.boxed()) })
    }

    /// Writes what is left, for five seconds at most, and reports what was lost.
    pub(super) async fn end(self) {
        let Self { state, recorder, writer } = self;
        recorder.stop();
        let is_flushed = state.by(Some(state.clock.now() + FLUSH), writer).await.is_some();
        let counts = recorder.counts();
        if !is_flushed || counts.dropped + counts.refused + counts.failed > 0 {
            state.report(&Report::EventsLost { counts: &counts, is_flushed });
        }
    }
}
