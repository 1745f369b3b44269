//! A world that is recorded on a tape.

use super::{AnyTransport, OnTape, World, WorldId};
use crate::caught::caught_call;
use crate::mutex::Mutex;
use crate::stderr;
use listwatch_core::Resource;
use listwatch_core::text::Printable;
use listwatch_transport_file::{CaptureError, RecorderConfig, Tape};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

impl World {
    /// Records this world into a new file: every list and watch of its informers, every request of its client, and the
    /// reconciles of its controllers. If the file exists, the recording goes to the next one, such as `tonight-2.jsonl.zst`:
    /// a program that is started again keeps the tape of its last run. A controller reports the file when it has started.
    /// The [`Tape`] has the details, and [`Playback`](crate::file::Playback) plays it.
    ///
    /// The file is complete when the last clone of the world, its client and its informers are dropped. Under a simulated
    /// clock, two runs that are the same make the same file, but for the hashes.
    ///
    /// Requests for Secrets and tokens, and their answers, are recorded without values. A keyed hash stands for each, so that
    /// equal ones stay equal. What the program copies into other objects is recorded. The first hash is reported, in a line
    /// for operators. In the replay, a program that copies or compares values does what it did, and one that needs the
    /// values differs. [`recorded_with_secrets_to`](Self::recorded_with_secrets_to) records them.
    ///
    /// If the file cannot be written any more, the recording ends with a line for operators, and the controllers go on
    /// without it.
    ///
    /// ```no_run
    /// use listwatch::World;
    /// use listwatch::http::Cluster;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let world = World::from(Cluster::infer()?).recorded_to("tonight.jsonl.zst")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the file cannot be created, or a thousand of this name exist.
    pub fn recorded_to(self, path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let config = self.recorder_config();
        Tape::create(path, config).map(|tape| self.recorded(&tape))
    }

    /// As [`recorded_to`](Self::recorded_to), with the values of Secrets and tokens, in plain text. On Unix, only the owner
    /// may read the file.
    ///
    /// # Errors
    /// If the file cannot be created, or a thousand of this name exist.
    pub fn recorded_with_secrets_to(self, path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let config = self.recorder_config().include_secrets(true);
        Tape::create(path, config).map(|tape| self.recorded(&tape))
    }

    /// The settings of a tape of this world: its date, its time, its seed, its server, and the identity of the cluster. For
    /// that, a world of a server asks and waits ([`Client::cluster_uid`](crate::Client::cluster_uid)), for five seconds at
    /// the most; without it, comparisons cannot refuse the tape of another cluster.
    ///
    /// ```no_run
    /// use listwatch::World;
    /// use listwatch::file::Tape;
    /// use listwatch::http::Cluster;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let world = World::from(Cluster::infer()?);
    /// let tape = Tape::create("tonight.jsonl.zst", world.recorder_config().fail_unrecorded(true))?;
    /// let world = world.recorded(&tape);
    /// # Ok(())
    /// # }
    /// ```
    pub fn recorder_config(&self) -> RecorderConfig {
        let seed = self.seed.unwrap_or_else(|| self.clock.random_seed());
        let config = RecorderConfig::new().started(self.clock.wall()).began(self.clock.now()).seed(seed);
        match &self.server {
            Some(server) => {
                let cluster = smol::block_on(self.client.cluster_uid());
                cluster.into_iter().fold(config.server(server), RecorderConfig::cluster)
            }
            None => config,
        }
    }

    /// Records this world on a tape, as [`recorded_to`](Self::recorded_to) does. The client is recorded with all of its
    /// clones.
    pub fn recorded(mut self, tape: &Tape) -> Self {
        self.client.record(tape);
        if !self.renewing.shares_transport(&self.client) {
            self.renewing.record(tape);
        }
        self.id = WorldId::new();
        let (transports, tape_of_streams, is_in_memory) = (self.transports, tape.clone(), tape.is_in_memory());
        self.transports = Arc::new(move |resource: &Resource, on_tape: Option<&OnTape>| -> AnyTransport {
            let recorder = tape_of_streams.transport(transports(resource, on_tape));
            Box::new(match on_tape.filter(|_| is_in_memory) {
                Some(OnTape { name, changes }) => {
                    let changes = Arc::clone(changes);
                    recorder.followed_by(Arc::clone(name), move || changes())
                }
                None => recorder,
            })
        });
        (self.tape, self.seed) = (Some(tape.clone()), tape.start().seed.or(self.seed));
        self.report_tape();
        self
    }

    /// The tape that the world is recorded on.
    pub fn tape(&self) -> Option<&Tape> {
        self.tape.as_ref()
    }

    /// The names of new lists and watches on the tape, if the world has one.
    pub(in crate::informers) fn stream_names(&self, streams: &[Resource]) -> Option<Vec<Arc<str>>> {
        (self.tape.is_some() || self.replay.is_some())
            .then(|| streams.iter().map(|stream| self.names.name(stream)).collect())
    }

    /// Lets the operator know if the recording ends with an error, and if it hides the values of Secrets.
    pub(super) fn report_tape(&self) {
        let Some(tape) = &self.tape else { return };
        if let Some(flight) = &self.flight {
            flight.tell_by(self.teller());
        }
        let on_end = self.teller();
        tape.on_error(move |error| {
            on_end(&format!("the recording ends, and the controllers go on without it: {error}"));
        });
        if tape.is_in_memory() {
            return;
        }
        let (on_hashes, path) = (self.teller(), tape.path().to_owned());
        tape.on_hashes(move || {
            on_hashes(&format!(
                "{} has keyed hashes in place of the values of Secrets and tokens, so it cannot replay a program that \
                 needs the values; `World::recorded_with_secrets_to` records them",
                Printable::new(path.display())
            ));
        });
    }

    /// Tells operators a line.
    pub(super) fn teller(&self) -> impl Fn(&str) + Send + 'static + use<> {
        let (on_line, clock) = (self.on_line.clone(), self.clock.clone());
        move |line| {
            // Neither a function that panics nor a closed standard error stops the controllers.
            let _ignored = caught_call(|| match &on_line {
                Some(on_line) => on_line(line),
                None => stderr::write_line(&clock, line),
            });
        }
    }
}

/// Gives each list-and-watch of a world a name: its path and selectors, and a number from the second one on.
#[derive(Default)]
pub(super) struct StreamNames(Mutex<HashMap<String, u64>>);

impl StreamNames {
    pub(super) fn name(&self, resource: &Resource) -> Arc<str> {
        let mut name = resource.path().to_owned();
        let mut separator = '?';
        let selectors = [("labelSelector", resource.label_selector()), ("fieldSelector", resource.field_selector())];
        for (key, selector) in selectors {
            if let Some(selector) = selector {
                name.extend([&*separator.to_string(), key, "=", selector]);
                separator = '&';
            }
        }
        if resource.is_metadata_only() {
            name.push_str(" (metadata)");
        }
        let mut known = self.0.lock();
        let count = known.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name.into() } else { format!("{name} #{count}").into() }
    }
}
