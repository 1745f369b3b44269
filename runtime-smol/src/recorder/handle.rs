//! The recorder of Events, which takes occurrences.

use crate::clock::Clock;
use crate::host::host;
use crate::mutex::Mutex;
use crate::waiting::Waiting;
use listwatch_core::recorder::{EventRecorder, Occurrence, RecorderConfig, RecorderConfigError, RecorderCounts};
use std::sync::{Arc, MutexGuard};
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
        self.0.machine.lock().record(now, wall, occurrence);
        self.0.waiting.wake_by_ref();
    }

    /// Ends the recorder: the writer writes what is left, and ends.
    pub fn stop(&self) {
        let now = self.0.clock.now();
        self.0.machine.lock().stop(now);
        self.0.waiting.wake_by_ref();
    }

    /// What became of the occurrences.
    pub fn counts(&self) -> RecorderCounts {
        self.0.machine.lock().counts()
    }

    pub(super) fn machine(&self) -> MutexGuard<'_, EventRecorder> {
        self.0.machine.lock()
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
        crate::witness::with(None, || (clock.now(), clock.wall()))
    }
}

listwatch_core::summary!("Recorder" for Recorder, |it| { counts: it.counts() });

/// In bytes, by `ValidateEventCreate` (kube-apiserver).
const LONGEST_INSTANCE: usize = 128;
/// The characters of a label's name.
const LONGEST_NAME: usize = 63;

/// The recorder of a controller. Any name becomes one that a server takes, so that no name keeps a controller from its
/// start.
pub(crate) fn config_for(controller: &str, seed: u64, is_simulated: bool) -> RecorderConfig {
    let name = reporting(controller);
    let host = if is_simulated { "simulated".to_owned() } else { host() };
    let mut instance = format!("{name}-{host}");
    let end = (0..=LONGEST_INSTANCE.min(instance.len())).rev().find(|end| instance.is_char_boundary(*end));
    instance.truncate(end.unwrap_or_default());
    let mut config = RecorderConfig::new(name, instance);
    config.seed = seed;
    config
}

/// The name as `reportingController`: what a server would refuse becomes `-`.
fn reporting(controller: &str) -> String {
    if RecorderConfig::new(controller, "instance").check().is_ok() {
        return controller.to_owned();
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let replaced = controller.chars().map(|c| if is_allowed(c) { c } else { '-' });
    let name: String = replaced.skip_while(|c| !c.is_ascii_alphanumeric()).take(LONGEST_NAME).collect();
    let name = name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    if name.is_empty() { "listwatch".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_controller_becomes_one_that_a_server_takes() {
        let long = "x".repeat(500);
        let names = ["foo", "example.com/foo", "my controller", "", "…", "-a-", "a/b/c", "ü", "\u{1b}[31m", &long];
        for name in names {
            let config = config_for(name, 7, true);
            assert_eq!(config.check(), Ok(()), "{name:?}: {config:?}");
        }
        assert_eq!(config_for("example.com/foo", 7, true).controller, "example.com/foo");
        assert_eq!(config_for("my controller", 7, true).controller, "my-controller");
        assert_eq!(config_for("foo", 7, true).instance, "foo-simulated");
    }
}
