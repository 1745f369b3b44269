//! Events: what a program did, for the operators of its objects. `kubectl describe` shows them.
//!
//! [`EventRecorder`] makes every decision: repeats become a series, and a server gets no more writes than it should bear.
//! This module sends its requests and reads the clock.
//!
//! | question | answer | in client-go |
//! |---|---|---|
//! | How does a reconcile record an Event? | [`Context::event`], [`Context::warning_event`] | `recorder.Eventf` |
//! | How does it record one with an action, or with a second object? | [`Context::record`] | the same |
//! | How does another program? | [`Recorder::record`]; an [`EventWriter`] writes | `NewEventBroadcaster` |
//! | What becomes of the occurrences? | [`Recorder::counts`]; of a controller, [`Report::EventNotWritten`] and [`Report::EventsLost`] | – |
//!
//! [`Context::event`]: crate::controller::Context::event
//! [`Context::warning_event`]: crate::controller::Context::warning_event
//! [`Context::record`]: crate::controller::Context::record
//! [`Report::EventNotWritten`]: crate::controller::Report::EventNotWritten
//! [`Report::EventsLost`]: crate::controller::Report::EventsLost
//!
//! # Permissions
//!
//! The user needs the verbs `create` and `patch` of `events` in the group `events.k8s.io`, in the namespaces of the objects.
//! Events about objects of the cluster are in the namespace `default`.
//!
//! # A program without a controller
//!
//! ```
//! use listwatch::testing::SimulatedCluster;
//! use listwatch::recorder::{EventWriter, ObjectReference, Occurrence, Recorder, RecorderConfig};
//! use listwatch::{Executor, World, run};
//!
//! let cluster = SimulatedCluster::new();
//! let world = World::from(cluster.clone()); // in a program: `Cluster::infer()?`
//! let recorder = Recorder::new(RecorderConfig::new("backup", "backup-0"), world.clock())?;
//! let writer = EventWriter::new(&recorder, world.client());
//!
//! let volume = ObjectReference::new("v1", "PersistentVolumeClaim", Some("web"), "data");
//! recorder.record(Occurrence::normal(volume, "BackedUp").note("12 GB in 3 minutes"));
//! recorder.stop(); // the writer writes what is left, and ends
//! run(world.clock(), &Executor::new(), writer);
//!
//! assert_eq!(recorder.counts().requests, 1);
//! assert_eq!(cluster.list("events.k8s.io/v1/events")?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod handle;
mod writer;

pub use handle::Recorder;
pub(crate) use handle::config_for;
pub use writer::EventWriter;

#[doc(no_inline)]
pub use listwatch_core::recorder::{
    EventRecorder, EventType, ObjectReference, Occurrence, RecorderConfig, RecorderConfigError, RecorderCounts,
    RecorderProblem,
};
