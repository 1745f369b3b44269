//! A recording as a world.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use core::task::Poll;
use core::time::Duration;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{ListerWatcher, Resource};
use listwatch_transport_file::Playback;
use std::sync::{Arc, Mutex, PoisonError};

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
        let transports = move |resource: &Resource| Box::new(Play::new(resource, playback.transport(), &plays)) as _;
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

/// A transport that tells when it is over.
struct Play {
    path: String,
    playback: Playback,
    plays: Arc<Mutex<Plays>>,
    is_over: bool,
}

impl Play {
    fn new(resource: &Resource, playback: Playback, plays: &Arc<Mutex<Plays>>) -> Self {
        let (path, plays) = (resource.path().to_owned(), Arc::clone(plays));
        let play = Self { path, playback, plays, is_over: false };
        play.with(|plays| plays.made += 1);
        play
    }

    /// Nothing is left to play, or cannot be played.
    fn on_complete(&mut self) {
        let error = self.playback.error().map(ToString::to_string);
        let is_answered = self.playback.progress().answered > 0;
        let nothing = || format!("the recording has no list or watch of {}, or none is left", self.path);
        let error = error.or_else(|| (!is_answered).then(nothing));
        self.with(|plays| plays.error = plays.error.take().or(error));
        self.on_over();
    }

    fn on_over(&mut self) {
        if !core::mem::replace(&mut self.is_over, true) {
            self.with(|plays| plays.over += 1);
        }
    }

    fn with(&self, f: impl FnOnce(&mut Plays)) {
        f(&mut self.plays.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl ListerWatcher for Play {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.playback.open(id, request);
    }

    fn poll_read(&mut self, cx: ReadContext<'_, '_>, buffer: &mut [u8]) -> Poll<Incoming> {
        let read = self.playback.poll_read(cx, buffer);
        if !self.is_over && self.playback.is_complete() {
            self.on_complete();
        }
        read
    }

    fn abort(&mut self, id: RequestId) {
        self.playback.abort(id);
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        self.on_over();
    }
}

/// Waits until everything is played.
async fn played(clock: Clock, plays: Arc<Mutex<Plays>>) -> Result<(), String> {
    loop {
        clock.sleep(LOOK).await;
        let is_over = {
            let plays = plays.lock().unwrap_or_else(PoisonError::into_inner);
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
