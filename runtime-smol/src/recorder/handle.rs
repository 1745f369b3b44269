use crate::clock::Clock;
use crate::waiting::Waiting;
use core::fmt;
use listwatch_core::recorder::{EventRecorder, Occurrence, RecorderConfig, RecorderConfigError, RecorderCounts};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

/// Takes occurrences from any task or thread, and never waits. A clone is the same recorder.
///
/// An [`EventWriter`](super::EventWriter) writes them. Without one, they wait in a queue whose oldest gives way; [`counts`](Self::counts)
/// tells how many did.
#[derive(Clone)]
#[doc(alias("EventRecorder", "EventBroadcaster"))]
pub struct Recorder(Arc<Shared>);

struct Shared {
    machine: Mutex<EventRecorder>,
    waiting: Arc<Waiting>,
    clock: Clock,
}

impl Recorder {
    /// A recorder without occurrences, whose Events have the dates of this clock.
    ///
    /// # Errors
    /// If the configuration does not pass its [check](RecorderConfig::check).
    pub fn new(config: RecorderConfig, clock: &Clock) -> Result<Self, RecorderConfigError> {
        let machine = Mutex::new(EventRecorder::new(config)?);
        Ok(Self(Arc::new(Shared { machine, waiting: Arc::default(), clock: clock.clone() })))
    }

    /// Records an occurrence. After [`stop`](Self::stop) it is counted as dropped.
    pub fn record(&self, occurrence: Occurrence) {
        let (now, wall) = self.times();
        self.machine().record(now, wall, occurrence);
        self.0.waiting.wake_by_ref();
    }

    /// Ends the recorder: the writer writes what is left, and ends.
    pub fn stop(&self) {
        let now = self.0.clock.now();
        self.machine().stop(now);
        self.0.waiting.wake_by_ref();
    }

    /// What became of the occurrences.
    #[must_use]
    pub fn counts(&self) -> RecorderCounts {
        self.machine().counts()
    }

    pub(super) fn machine(&self) -> MutexGuard<'_, EventRecorder> {
        self.0.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(super) fn waiting(&self) -> &Arc<Waiting> {
        &self.0.waiting
    }

    /// The moment, and the date. They are no reads of a reconcile that is witnessed: a replay records no Event.
    fn times(&self) -> (listwatch_core::Instant, listwatch_core::time::WallTime) {
        let clock = &self.0.clock;
        #[cfg(feature = "file")]
        return crate::witness::with(None, || (clock.now(), clock.wall()));
        #[cfg(not(feature = "file"))]
        (clock.now(), clock.wall())
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
