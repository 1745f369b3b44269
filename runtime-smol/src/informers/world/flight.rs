//! The flight recorder of a world: the last minutes in memory, and the dumps of them.

use super::World;
use crate::caught::caught_call;
use crate::clock::Clock;
use crate::mutex::Mutex;
#[cfg(unix)]
use async_signal::{Signal, Signals};
use core::fmt;
use core::future::pending;
use core::time::Duration;
#[cfg(unix)]
use futures_core::Stream;
use listwatch_core::Instant;
use listwatch_core::text::Printable;
use listwatch_transport_file::{CaptureError, Tape};
use smol::channel::{Receiver, Sender, bounded};
use smol::future::or;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The flight recorder of a world. The last clone of the world waits for dumps that are being written.
pub(crate) struct FlightRecorder {
    shared: Arc<Shared>,
    orders: Sender<Order>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    tape: Tape,
    clock: Clock,
    window: Duration,
    /// The bytes of the memory.
    bytes: u64,
    folder: Mutex<PathBuf>,
    /// When the last dump of each cause was.
    dumped: Mutex<BTreeMap<DumpCause, Instant>>,
    tell: Mutex<Tell>,
}

/// Takes a line for operators.
type Tell = Box<dyn Fn(&str) + Send>;

struct Order {
    cause: DumpCause,
    /// Of what.
    of: String,
}

/// Why the flight recorder is dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DumpCause {
    Program,
    Signal,
    #[cfg_attr(not(feature = "endpoint"), expect(dead_code, reason = "the endpoint asks for it"))]
    Endpoint,
    Panic,
    Parked,
    Lease,
    Drift,
}

/// Why a flight recorder is not dumped.
#[derive(Debug)]
#[non_exhaustive]
pub enum DumpError {
    /// The world has no flight recorder.
    NoRecorder,
    /// The last dump of this cause was a moment ago.
    TooSoon {
        /// The time until the next one.
        wait: Duration,
    },
    /// The folder has too many dumps, or too many bytes of them.
    FullFolder(PathBuf),
    /// The file cannot be written.
    File(CaptureError),
}

/// How long a dump for an operator lasts, at least, until the next one.
const BETWEEN: Duration = Duration::from_secs(10);
/// How many dumps a folder may have, and how many times the bytes of the memory.
const MOST_DUMPS: usize = 64;
const MOST_BYTES: u64 = 16;
/// The dumps that wait for their turn. No cause has two.
const MOST_ORDERS: usize = 16;

impl World {
    /// Keeps the last minutes of this world in memory, within so many megabytes (at least one of each): what
    /// [`recorded_to`](Self::recorded_to) writes to a file. Where that is more, the time is shorter. A dump is a recording
    /// of its own, which begins with a list of each cache. It replays the reconciles that began in that time.
    ///
    /// | the recorder is dumped by | file | again, at the earliest |
    /// |---|---|---|
    /// | [`dump`](Self::dump) | `dump-program.jsonl.zst` | at once |
    /// | `kill -USR1` on Unix | `dump-signal.jsonl.zst` | after 10 s |
    /// | a `POST` to the endpoint's `/debug/listwatch/dump` | `dump-endpoint.jsonl.zst` | after 10 s |
    /// | a reconcile or a mapper that panics | `dump-panic.jsonl.zst` | after the minutes of the recorder |
    /// | a key that is parked | `dump-parked.jsonl.zst` | after these minutes |
    /// | the loss of a controller's lease | `dump-lease.jsonl.zst` | after these minutes |
    /// | an audit that finds a drift | `dump-drift.jsonl.zst` | after these minutes |
    ///
    /// A dump goes to [`dumps_to`](Self::dumps_to), under the next free name, such as `dump-panic-2.jsonl.zst`. Nothing is
    /// overwritten. A folder gets 64 dumps, and 16 times the megabytes. A line tells operators each dump, and what is in its
    /// way. A thread writes it, unless the clock is simulated. While it writes, the memory is up to twice as large.
    ///
    /// A dump has what a recording has: objects, requests and answers, without credentials, and with keyed hashes in place of
    /// the values of Secrets and tokens. On Unix, only its owner may read it.
    ///
    /// In a world that is recorded to a file or is a recording, this does nothing. As beside a recording, caches are not
    /// [saved](crate::saved), because a dump begins with lists.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::World;
    /// use listwatch::controller::{Controller, Outcome, RunError};
    /// use listwatch::file::Playback;
    /// use listwatch::testing::SimulatedCluster;
    /// use serde_json::{Value, json};
    ///
    /// fn run(world: impl Into<World>) -> Result<(), RunError> {
    ///     let controller = Controller::new("maps", world);
    ///     let maps = controller.informer_of::<Value>("v1/configmaps");
    ///     controller.reconciles(&maps).on_report(|_, _| {}).run(async |cx, key| {
    ///         let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
    ///         cx.change(&map, |map| map["data"] = json!({ "seen": "yes" })).await?;
    ///         Ok(Outcome::Done)
    ///     })
    /// }
    ///
    /// # let folder = std::env::temp_dir().join(format!("flight-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let cluster = SimulatedCluster::new();
    /// cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "web" } }))?;
    /// let world = World::from(cluster).flight_recorder(5, 64).dumps_to(&folder).lasting(Duration::from_secs(60));
    /// run(world.clone())?;
    /// let dump = world.dump("the example is over")?;
    /// run(Playback::from_file(dump)?)?; // an error if it writes something else
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flight_recorder(self, minutes: u32, megabytes: u32) -> Self {
        if self.tape.is_some() || self.is_recording {
            return self;
        }
        let (window, bytes) = (Duration::from_secs(60 * u64::from(minutes.max(1))), u64::from(megabytes.max(1)) << 20);
        let tape = Tape::in_memory(window, usize::try_from(bytes).unwrap_or(usize::MAX), self.recorder_config());
        let tell: Tell = Box::new(self.teller());
        let shared = Shared {
            tape: tape.clone(),
            clock: self.clock.clone(),
            window,
            bytes,
            folder: Mutex::new(std::env::temp_dir()),
            dumped: Mutex::default(),
            tell: Mutex::new(tell),
        };
        let flight = Some(Arc::new(FlightRecorder::new(shared)));
        Self { flight, ..self.recorded(&tape) }
    }

    /// The folder of the dumps of the [flight recorder](Self::flight_recorder); the one for temporary files unless set.
    pub fn dumps_to(self, folder: impl Into<PathBuf>) -> Self {
        if let Some(flight) = &self.flight {
            *flight.shared.folder.lock() = folder.into();
        }
        self
    }

    /// Dumps the [flight recorder](Self::flight_recorder) on the calling thread. Returns the file, whose first line says the
    /// cause.
    ///
    /// # Errors
    /// If there is no recorder, the folder has too many dumps, or the file cannot be written.
    pub fn dump(&self, cause: &str) -> Result<PathBuf, DumpError> {
        let flight = self.flight.as_ref().ok_or(DumpError::NoRecorder)?;
        flight.dump(DumpCause::Program, cause)
    }

    /// Lets the flight recorder be dumped soon, if there is one.
    pub(crate) fn dump_for(&self, cause: DumpCause, of: &dyn fmt::Display) {
        if let Some(flight) = &self.flight {
            flight.order(cause, of);
        }
    }

    /// The flight recorder.
    #[cfg(feature = "endpoint")]
    pub(in crate::informers) fn recorder_in_flight(&self) -> Option<&Arc<FlightRecorder>> {
        self.flight.as_ref()
    }
}

impl FlightRecorder {
    fn new(shared: Shared) -> Self {
        let (shared, (orders, ordered)) = (Arc::new(shared), bounded(MOST_ORDERS));
        let thread = (!shared.clock.is_simulated()).then(|| {
            // A signal from now on does not end the process.
            let (writer, asked) = (Arc::clone(&shared), Asked::new(&shared));
            thread::Builder::new().name("listwatch-flight".to_owned()).spawn(move || follow(&writer, &ordered, asked))
        });
        let thread = thread.and_then(|thread| match thread {
            Ok(thread) => Some(thread),
            Err(error) => {
                shared.tell(&format!("the flight recorder has no thread, so the program alone can dump it: {error}"));
                None
            }
        });
        Self { shared, orders, thread: Mutex::new(thread) }
    }

    /// Dumps it now, unless the last dump of the cause was a moment ago.
    pub(crate) fn dump(&self, cause: DumpCause, of: &str) -> Result<PathBuf, DumpError> {
        self.shared.take_turn(cause)?;
        self.shared.dump(cause, of)
    }

    /// Dumps it soon, unless another dump has the same minutes.
    fn order(&self, cause: DumpCause, of: &dyn fmt::Display) {
        if self.shared.take_turn(cause).is_err() {
            return;
        }
        let order = Order { cause, of: of.to_string() };
        if self.shared.clock.is_simulated() {
            self.shared.write(&order);
        } else {
            // No cause has two, so there is room.
            let _gone = self.orders.try_send(order);
        }
    }

    /// Tells operators by this function.
    pub(super) fn tell_by(&self, tell: impl Fn(&str) + Send + 'static) {
        *self.shared.tell.lock() = Box::new(tell);
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        self.orders.close();
        if let Some(thread) = self.thread.get_mut().take() {
            let _panicked = thread.join();
        }
    }
}

impl Shared {
    /// Begins the time of a cause until its next dump.
    fn take_turn(&self, cause: DumpCause) -> Result<(), DumpError> {
        let (now, between) = (self.clock.now(), cause.between(self.window));
        let mut dumped = self.dumped.lock();
        if let Some(next) = dumped.get(&cause).map(|last| *last + between).filter(|next| *next > now) {
            return Err(DumpError::TooSoon { wait: next.saturating_since(now) });
        }
        dumped.insert(cause, now);
        Ok(())
    }

    /// Writes a dump, and tells operators.
    fn write(&self, Order { cause, of }: &Order) {
        let cause = *cause;
        match caught_call(|| self.dump(cause, of)) {
            Ok(Ok(path)) => {
                let (path, of) = (Printable::new(path.display()), Printable::new(of));
                self.tell(&format!("the flight recorder is dumped to {path} ({}, {of})", cause.name()));
            }
            Ok(Err(error)) => self.tell(&format!("the flight recorder is not dumped ({}): {error}", cause.name())),
            Err(panic) => self.tell(&format!("the flight recorder is not dumped: {}", Printable::new(panic))),
        }
    }

    fn dump(&self, cause: DumpCause, of: &str) -> Result<PathBuf, DumpError> {
        let folder = self.folder.lock().clone();
        self.check_room(&folder)?;
        let path = folder.join(format!("dump-{}.jsonl.zst", cause.name()));
        self.tape.dump_to(path, self.clock.now(), &format!("{}: {of}", cause.name())).map_err(DumpError::File)
    }

    /// Checks that the folder may get another dump.
    fn check_room(&self, folder: &Path) -> Result<(), DumpError> {
        // A folder that cannot be read cannot be written either, which says more.
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        let dumps = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("dump-"));
        let (count, bytes) = dumps
            .fold((0, 0), |(count, bytes), dump| (count + 1, bytes + dump.metadata().map_or(0, |file| file.len())));
        let is_full = count >= MOST_DUMPS || bytes >= self.bytes.saturating_mul(MOST_BYTES);
        if is_full { Err(DumpError::FullFolder(folder.to_owned())) } else { Ok(()) }
    }

    fn tell(&self, line: &str) {
        let _panicked = caught_call(|| (*self.tell.lock())(line));
    }
}

impl DumpCause {
    fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Signal => "signal",
            Self::Endpoint => "endpoint",
            Self::Panic => "panic",
            Self::Parked => "parked",
            Self::Lease => "lease",
            Self::Drift => "drift",
        }
    }

    /// The time between two dumps. Within its window, a recorder still has what the last dump of a cause tells.
    fn between(self, window: Duration) -> Duration {
        match self {
            Self::Program => Duration::ZERO,
            Self::Signal | Self::Endpoint => BETWEEN,
            Self::Panic | Self::Parked | Self::Lease | Self::Drift => window,
        }
    }
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecorder => f.write_str("the world has no flight recorder: `World::flight_recorder` makes one"),
            Self::TooSoon { wait } => write!(f, "the last dump was a moment ago; try again in {wait:?}"),
            Self::FullFolder(folder) => {
                let folder = Printable::new(folder.display());
                write!(f, "{folder} has {MOST_DUMPS} dumps, or {MOST_BYTES} times the recorder's bytes; move some away")
            }
            Self::File(error) => write!(f, "{}", Printable::new(error)),
        }
    }
}

impl Error for DumpError {}

listwatch_core::summary!("FlightRecorder" for FlightRecorder, |it| { tape: it.shared.tape });

/// Writes the dumps that are ordered, until the recorder is gone.
fn follow(shared: &Shared, ordered: &Receiver<Order>, mut asked: Asked) {
    smol::block_on(async {
        while let Some(order) = or(async { ordered.recv().await.ok() }, asked.next(shared)).await {
            shared.write(&order);
        }
    });
}

/// The signals that ask for a dump.
struct Asked {
    #[cfg(unix)]
    signals: Option<Signals>,
}

impl Asked {
    #[cfg(unix)]
    fn new(shared: &Shared) -> Self {
        let signals = Signals::new([Signal::Usr1]);
        if let Err(error) = &signals {
            shared.tell(&format!("SIGUSR1 dumps no flight recorder: {error}"));
        }
        Self { signals: signals.ok() }
    }

    #[cfg(not(unix))]
    fn new(_: &Shared) -> Self {
        Self {}
    }

    /// The next dump that a signal asks for.
    async fn next(&mut self, shared: &Shared) -> Option<Order> {
        #[cfg(unix)]
        if let Some(signals) = &mut self.signals {
            while core::future::poll_fn(|cx| core::pin::Pin::new(&mut *signals).poll_next(cx)).await.is_some() {
                if shared.take_turn(DumpCause::Signal).is_ok() {
                    return Some(Order { cause: DumpCause::Signal, of: "SIGUSR1".to_owned() });
                }
            }
        }
        let _no_signals = shared;
        pending().await
    }
}
