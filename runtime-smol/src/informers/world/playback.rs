//! A world that plays a recording, or replays the tape of a controller.

use super::{OnTape, World};
use crate::client::Client;
use crate::clock::Clock;
use crate::mutex::Mutex;
#[cfg(feature = "http")]
use crate::replay::REPLAY_WRITES;
use crate::replay::{Findings, Replay, ReplayedCalls};
use core::task::Poll;
use core::time::Duration;
#[cfg(feature = "http")]
use listwatch_core::api::{ApiFn, ApiRequest};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
#[cfg(feature = "http")]
use listwatch_core::transport::{StreamPart, StreamTransport, TransportError, TransportErrorKind};
use listwatch_core::{ListerWatcher, Resource};
use listwatch_transport_file::Playback;
#[cfg(feature = "http")]
use smol::stream::once;
use std::sync::Arc;

/// How long the controllers have for what the last exchange of a recording brought.
const SETTLE: Duration = Duration::from_secs(60);

/// How often the end of the recording is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// The recording, under simulated time. Each informer plays the lists and watches of its own resource, and the client
/// the other requests. Each exchange is played once.
///
/// Simulated time jumps, unless the world is [paced](World::paced). It ends a simulated minute after no informer has
/// anything left to play. It ends with an error at once if the file has one, or has no list of an informer's resource.
///
/// The tape of a controller that [recorded itself](World::recorded_to) is replayed: it drives the controllers of its names,
/// and no work queue does. Each reconcile begins at its time, with the key and the causes of the tape. Each read of a cache
/// sees what it saw, and requests get the recorded answers. The controller returns
/// [`RunError::Diverged`](crate::RunError::Diverged) if its writes are others than those of the tape.
///
/// | in a replay | |
/// |---|---|
/// | dates of [`Clock::wall`], random delays, `generateName` | those of the tape |
/// | a write that the tape does not have | succeeds with what it sent, laid over the last known object |
/// | another request that it does not have | gets the last known object, or fails |
/// | [mappers](crate::controller::Reconciler::maps), requeues and back-off | are not called or acted on; outcomes are compared |
/// | state of the program outside of its caches, such as files and statics | is not on the tape |
/// | services outside of the cluster | are called again, for real: give the program a stand-in |
///
/// The world's date begins with that of the tape. Programs without a controller play the tape as any other recording.
impl From<Playback> for World {
    fn from(playback: Playback) -> Self {
        if playback.has_reconciles() {
            return Self::replaying(&playback);
        }
        let clock = Clock::simulated();
        let client = Client::new(playback.client(), clock.clone());
        let seed = playback.start().and_then(|start| start.seed);
        let plays = Arc::new(Mutex::new(Plays::default()));
        let ended = Box::pin(played(clock.clone(), Arc::clone(&plays)));
        let transports = move |resource: &Resource| {
            let (path, counted) = (resource.path().to_owned(), Counted::new(&plays));
            Box::new(Told::new(playback.transport(), move |playback| counted.on_complete(&path, playback))) as _
        };
        let world = Self::from_parts(clock, client, transports).until_ended(ended);
        Self { seed, is_recording: true, ..world }
    }
}

/// The transports of a recording.
#[derive(Default)]
struct Plays {
    /// How many were made.
    made: usize,
    /// How many of them have nothing left to play.
    over: usize,
    /// Why one of them cannot go on.
    error: Option<String>,
}

/// One of them. It is over when this is dropped.
struct Counted(Arc<Mutex<Plays>>);

impl Counted {
    fn new(plays: &Arc<Mutex<Plays>>) -> Self {
        plays.lock().made += 1;
        Self(Arc::clone(plays))
    }

    /// Nothing is left to play, or cannot be played.
    fn on_complete(&self, path: &str, playback: &Playback) {
        let is_answered = playback.progress().answered > 0;
        let nothing = || format!("the recording has no list or watch of {path}, or none is left");
        let error = playback.error().map(ToString::to_string).or_else(|| (!is_answered).then(nothing));
        let mut plays = self.0.lock();
        plays.error = plays.error.take().or(error);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.lock().over += 1;
    }
}

type OnComplete = Box<dyn FnOnce(&Playback) + Send>;

/// A transport that tells once when nothing is left to play.
struct Told {
    playback: Playback,
    on_complete: Option<OnComplete>,
    /// Whether failures by which an informer gave up a request are left out.
    is_replayed: bool,
}

impl Told {
    fn new(playback: Playback, on_complete: impl FnOnce(&Playback) + Send + 'static) -> Self {
        Self { playback, on_complete: Some(Box::new(on_complete)), is_replayed: false }
    }
}

impl ListerWatcher for Told {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.playback.open(id, request);
    }

    fn poll_read(&mut self, cx: ReadContext<'_, '_>, buffer: &mut [u8]) -> Poll<Incoming> {
        let read = self.playback.poll_read(cx, buffer);
        if self.playback.is_complete() {
            self.on_complete.take().into_iter().for_each(|on_complete| on_complete(&self.playback));
        }
        match read {
            // The informer does so by itself, as the recorded one did, and reacts to that.
            Poll::Ready(Incoming::Failed { error, .. }) if self.is_replayed && Playback::is_given_up(&error) => {
                Poll::Ready(Incoming::Idle { until: None })
            }
            read => read,
        }
    }

    fn abort(&mut self, id: RequestId) {
        self.playback.abort(id);
    }
}

/// Waits until everything is played.
async fn played(clock: Clock, plays: Arc<Mutex<Plays>>) -> Result<(), String> {
    loop {
        clock.sleep(LOOK).await;
        let is_over = {
            let plays = plays.lock();
            if let Some(error) = &plays.error {
                return Err(error.clone());
            }
            plays.made > 0 && plays.over == plays.made
        };
        if is_over {
            clock.sleep(SETTLE).await;
            return Ok(());
        }
    }
}

impl World {
    /// A world in which the tape drives the controllers.
    pub(super) fn replaying(playback: &Playback) -> Self {
        Self::replaying_by(playback, Replay::new(playback))
    }

    /// The same tape again, from its beginning, for caches that go on when they are told to.
    pub(in crate::informers) fn again(&self) -> Option<Self> {
        let (playback, replay) = self.replay.as_ref()?.again()?;
        Some(Self::replaying_by(&playback, replay))
    }

    fn replaying_by(playback: &Playback, replay: Replay) -> Self {
        let start = playback.start();
        let origin = start.and_then(|start| start.started).unwrap_or(Clock::SIMULATED_ORIGIN);
        let (clock, replay) = (Clock::simulated_at(origin), Arc::new(replay));
        let client = Client::new(ReplayedCalls::new(&replay, playback.client()), clock.clone());
        let (recording, told) = (playback.transport(), Arc::clone(&replay));
        let transports = move |_: &Resource, on_tape: Option<&OnTape>| {
            let name = on_tape.map(|it| Arc::clone(&it.name));
            let (playback, replay) = (recording.transport(), Arc::clone(&told));
            let on_complete = move |playback: &Playback| {
                if let Some(name) = &name {
                    replay.note_over(name, playback.error().map(ToString::to_string));
                }
            };
            Box::new(Told { is_replayed: true, ..Told::new(playback, on_complete) }) as _
        };
        let seed = start.and_then(|start| start.seed);
        Self { seed, is_recording: true, replay: Some(replay), ..Self::from_named_parts(clock, client, transports) }
    }

    /// The replay of a tape with reconciles.
    pub(crate) fn replay(&self) -> Option<&Arc<Replay>> {
        self.replay.as_ref()
    }

    /// What the replay of a tape has found up to now in the reconciles of a controller; `None` for a world that replays
    /// none.
    pub fn findings(&self, controller: &str) -> Option<Findings> {
        self.replay.as_ref().map(|replay| replay.findings(controller))
    }
}

#[cfg(feature = "http")]
impl World {
    /// A world in which no controller runs, and each request fails.
    pub(super) fn refused() -> Self {
        let why = format!(
            "{REPLAY_WRITES} is set, so the program is run for a replay, and no cluster is asked; \
             let it take the tape, which `{{}}` in its command or its last argument names"
        );
        let error = TransportError::new(TransportErrorKind::Unsendable, why);
        let (clock, refused, failed) = (Clock::real(), error.detail.clone(), error.clone());
        let client = Client::new(ApiFn::new(move |_: &ApiRequest| Err(failed.clone())), clock.clone());
        let world = Self::from_parts(clock, client, move |_| {
            let error = error.clone();
            Box::new(StreamTransport::new(move |_| once(Err::<StreamPart<Vec<u8>>, _>(error.clone()))))
        });
        Self { refused: Some(refused), ..world }
    }
}
