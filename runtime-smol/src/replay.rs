//! The replay of controllers by a tape: what their reconciles read is as it was, and what they write is compared.
//!
//! [`Script`] reads the tape ahead, a whole reconcile at a time. A [`Replayed`] reconcile is answered from there, and
//! finds what differs. The [caches](Advance) go on as far as each read needs, and no further. The controller's own side
//! polls the reconciles, each at its lines of the tape and in their order.

mod calls;
mod divergence;
mod plausible;
mod reconcile;
mod requests;
mod script;
mod streams;
mod writes;
mod wrote;

pub(crate) use calls::ReplayedCalls;
pub use divergence::{Divergence, DivergenceKind, Findings};
pub(crate) use reconcile::Replayed;
pub(crate) use script::{Line, LineKind};
pub(crate) use streams::Advance;
pub use writes::{Writes, WritesError};

use crate::mutex::Mutex;
use crate::witness;
use core::task::{Context, Poll, Waker};
use divergence::Diverged;
use listwatch_transport_file::{Playback, TapeStart};
use plausible::Known;
use script::Script;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};
use streams::Streams;
use writes::{Line as Written, WritesFile};

/// The environment variable that names a new file, to which a world that replays a tape writes what its controllers write.
/// `listwatch replay --against` sets it, and [`Findings::of_writes`] compares such files. Without it, none is written. With
/// it, no controller runs in the world of a real cluster.
pub const REPLAY_WRITES: &str = "LISTWATCH_REPLAY_WRITES";

/// The environment variable with the key of the hashes that stand for the values of Secrets in that file: 32 hexadecimal
/// digits. `listwatch replay --against` draws a key for each comparison. Without one, writes of Secrets are not compared.
pub const REPLAY_KEY: &str = "LISTWATCH_REPLAY_KEY";

/// A tape that is replayed. All parts of its world share it.
pub(crate) struct Replay {
    tape: Playback,
    state: Mutex<State>,
    streams: Mutex<Streams>,
    writes: Option<Kept>,
}

/// The file that keeps the writes.
struct Kept {
    path: PathBuf,
    start: Option<TapeStart>,
    /// That of the hashes of values.
    key: Option<[u64; 2]>,
    /// There is one when the first controller begins.
    file: Mutex<Option<WritesFile>>,
}

struct State {
    script: Script,
    /// Whether the tape drives a controller.
    is_on: bool,
    /// The controllers that run here.
    running: Vec<Arc<str>>,
    reconciles: HashMap<u64, Arc<Replayed>>,
    known: Known,
    findings: BTreeMap<Arc<str>, Findings>,
    diverged: Diverged,
    /// Why the replay cannot go on.
    error: Option<String>,
    /// The controllers that wait for their turn.
    waiting: Vec<Waker>,
}

/// The file that [`REPLAY_WRITES`] names.
pub(crate) fn writes_path() -> Option<PathBuf> {
    std::env::var_os(REPLAY_WRITES).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The key that [`REPLAY_KEY`] has.
fn writes_key() -> Option<[u64; 2]> {
    let digits = std::env::var(REPLAY_KEY).ok().filter(|digits| digits.len() == 32)?;
    let half = |digits: &str| u64::from_str_radix(digits, 16).ok();
    Some([half(digits.get(..16)?)?, half(digits.get(16..)?)?])
}

impl Replay {
    pub(crate) fn new(playback: &Playback) -> Self {
        let state = State {
            script: Script::new(playback.steps()),
            is_on: false,
            running: Vec::new(),
            reconciles: HashMap::new(),
            known: Known::default(),
            findings: BTreeMap::new(),
            diverged: Diverged::default(),
            error: None,
            waiting: Vec::new(),
        };
        let (state, streams) = (Mutex::new(state), Mutex::default());
        let kept = |path| Kept { path, start: playback.start().cloned(), key: writes_key(), file: Mutex::default() };
        Self { tape: playback.transport(), state, streams, writes: writes_path().map(kept) }
    }

    /// The tape again, with nothing played, and without a controller: its caches go on when they are told to.
    pub(crate) fn again(&self) -> Option<(Playback, Self)> {
        let tape = self.tape.again().ok()?;
        let again = Self { writes: None, ..Self::new(&tape) };
        again.state().is_on = true;
        Some((tape, again))
    }

    /// Lets the tape drive a controller of this name.
    pub(crate) fn register(&self, controller: &Arc<str>) {
        {
            let mut state = self.state();
            state.is_on = true;
            state.running.push(Arc::clone(controller));
        }
        let _ends_the_replay = self.keep(&Written::Controller { controller: controller.as_ref().to_owned() });
    }

    /// Whether the tape drives a controller.
    pub(crate) fn is_on(&self) -> bool {
        self.state().is_on
    }

    /// A controller runs no more. The others do not wait for its lines.
    pub(crate) fn leave(&self, controller: &str) {
        self.state().leave(controller);
        self.pass();
    }

    /// The next line, if it is of this controller; `None` behind the last one.
    ///
    /// # Errors
    /// The tape cannot be read, or no such controller runs here.
    pub(crate) fn poll_line(&self, controller: &str, cx: &Context<'_>) -> Poll<Result<Option<Line>, String>> {
        let waker = cx.waker().clone();
        let mut state = self.state();
        if let Some(error) = &state.error {
            return Poll::Ready(Err(error.clone()));
        }
        let Some(of) = state.script.head() else { return Poll::Ready(Ok(None)) };
        if *of == *controller {
            return Poll::Ready(Ok(state.script.next()));
        }
        if !state.running.contains(&of) {
            let why = "replay it with the program that it was recorded of";
            return Poll::Ready(Err(format!(
                "the tape has a reconcile of {of}, and no such controller runs here; {why}"
            )));
        }
        state.waiting.push(waker);
        Poll::Pending
    }

    /// The line is played.
    pub(crate) fn pass(&self) {
        let waiting = core::mem::take(&mut self.state().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Begins the reconcile of this number.
    pub(crate) fn begin(self: &Arc<Self>, number: u64) -> Option<Arc<Replayed>> {
        let mut state = self.state();
        let record = state.script.take(number)?;
        let reconcile = Arc::new(Replayed::new(number, record, Arc::clone(self)));
        state.reconciles.insert(number, Arc::clone(&reconcile));
        Some(reconcile)
    }

    /// The reconcile is over, with this outcome unless it was cut off.
    pub(crate) fn end(&self, reconcile: &Replayed, outcome: Option<String>) {
        let (recorded, wrote) = reconcile.take_writes(outcome);
        if let Some(kept) = &self.writes {
            let _ends_the_replay = self.keep(&Written::Reconcile(wrote.withheld(kept.key).into()));
        }
        let found = recorded.compare(wrote);
        let mut state = self.state();
        let State { reconciles, findings, diverged, .. } = &mut *state;
        reconciles.remove(&reconcile.number());
        findings.entry(Arc::clone(reconcile.of())).or_default().add(found, diverged);
    }

    /// The replay of a controller is over; with the reason, if it did not come to the end of the tape.
    ///
    /// # Errors
    /// Its writes could not be kept.
    pub(crate) fn close(&self, controller: &str, error: Option<String>) -> Result<(), String> {
        self.keep(&Written::Over { over: controller.to_owned(), error })
    }

    /// Writes a line to the file of writes, if there is one. An error ends the replay.
    fn keep(&self, line: &Written) -> Result<(), String> {
        let Some(kept) = &self.writes else { return Ok(()) };
        kept.write(line).map_err(|why| {
            let why = format!("the writes of the replay cannot be kept in {}: {why}", kept.path.display());
            self.state().error.get_or_insert(why).clone()
        })
    }

    /// What was found in the reconciles of a controller.
    pub(crate) fn findings(&self, controller: &str) -> Findings {
        let state = self.state();
        let found = state.findings.get(controller).cloned().unwrap_or_default();
        let has_hashes = state.script.has_hashes();
        Findings { breaks_off: state.script.breaks_off().map(str::to_owned), has_hashes, ..found }
    }

    /// The error at which the tape ends.
    pub(crate) fn fault(&self) -> Option<String> {
        self.state().script.fault()
    }

    /// Adds a list-and-watch under its name on the tape.
    pub(crate) fn add_stream(&self, name: Arc<str>, stream: &Arc<dyn Advance>) {
        self.streams.lock().add(name, stream);
    }

    /// How many changes the cache of this name had where the tape begins, if it is a dump.
    pub(crate) fn changes_before(&self, name: &str) -> Option<u64> {
        self.tape.start()?.changes.get(name).copied()
    }

    /// Nothing is left to play for the list-and-watch of this name.
    pub(crate) fn note_over(&self, name: &Arc<str>, error: Option<String>) {
        self.streams.lock().note_over(name, error);
    }

    /// Whether that is so.
    pub(crate) fn is_over(&self, name: &str) -> bool {
        self.streams.lock().is_over(name)
    }

    /// Brings every cache to its first state.
    pub(crate) fn sync(&self) {
        let streams = self.streams.lock().all();
        witness::with(None, || {
            for stream in streams {
                while !stream.has_synced() && stream.turn() {}
            }
        });
    }

    /// Brings a cache to the position that a reconcile reads it at, of a line of the tape. Returns false if another
    /// reconcile needs it at an earlier one first, or has gone on.
    pub(crate) fn bring(&self, reconcile: u64, position: &NotedRead) -> bool {
        if self.state().script.is_needed_before(reconcile, position) {
            return false;
        }
        let stream = &*position.stream;
        let Some(found) = self.streams.lock().get(stream) else {
            let why = format!("the tape has reads of {stream}, of which the program has no informer");
            self.fail(position.line, &why);
            return false;
        };
        let brought = witness::with(None, || streams::bring(&*found, position.changes, position.version.as_deref()));
        match brought {
            Ok(is_there) => is_there,
            Err(why) => {
                let why = self.streams.lock().error_of(stream).unwrap_or(why);
                self.fail(position.line, &format!("the cache of {stream} cannot follow the tape: {why}"));
                false
            }
        }
    }

    /// The newest state of the object of this path, or of a part of it: that of the answers up to now, or that which the
    /// caches show.
    fn newest(&self, path: &str) -> Option<Value> {
        let path = plausible::object_path(path)?;
        let answered = self.state().known.of(path);
        let streams = self.streams.lock().all();
        let shown = witness::with(None, || streams.iter().filter_map(|stream| stream.object(path)).collect::<Vec<_>>());
        answered.into_iter().chain(shown).reduce(plausible::newer)
    }

    fn fail(&self, line: u64, why: &str) {
        let mut state = self.state();
        state.error.get_or_insert_with(|| format!("line {line} of the tape: {why}"));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn leave(&mut self, controller: &str) {
        if let Some(place) = self.running.iter().position(|running| **running == *controller) {
            self.running.swap_remove(place);
        }
    }
}

impl Kept {
    fn write(&self, line: &Written) -> io::Result<()> {
        let mut file = self.file.lock();
        match &mut *file {
            Some(file) => file.write(line),
            None => file.insert(WritesFile::create(&self.path, self.start.as_ref())?).write(line),
        }
    }
}

/// A read that was noted.
#[derive(Clone, Debug)]
pub(crate) struct NotedRead {
    pub(crate) line: u64,
    pub(crate) stream: String,
    pub(crate) changes: u64,
    pub(crate) version: Option<String>,
    /// Which of the reconcile's reads of that cache it was.
    read: u64,
    /// After how many answers and sleeps of the reconcile it was.
    after: u64,
}
