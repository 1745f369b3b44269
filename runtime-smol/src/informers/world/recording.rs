//! A recording as a world.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use core::task::Poll;
use core::time::Duration;
use listwatch_core::ListerWatcher;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_transport_file::Playback;
use std::sync::{Arc, Mutex, PoisonError};

/// How long the controllers have for what the last exchange of a recording brought.
const SETTLE: Duration = Duration::from_secs(60);

/// How often the end of the recording is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// The recording, under simulated time. Each informer plays the lists and watches of its own resource, and the client
/// the other requests. Each exchange is played once.
///
/// It ends a simulated minute after no informer has anything left to play, or with an error of the file.
impl From<Playback> for World {
    fn from(playback: Playback) -> Self {
        let clock = Clock::simulated();
        let client = Client::new(playback.client(), clock.clone());
        let plays = Arc::new(Mutex::new(Plays::default()));
        let ended = Box::pin(played(clock.clone(), Arc::clone(&plays)));
        let transports = move |_: &_| Box::new(Play::new(playback.transport(), &plays)) as _;
        Self::from_parts(clock, client, transports).until_ended(ended)
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
    playback: Playback,
    plays: Arc<Mutex<Plays>>,
    is_over: bool,
}

impl Play {
    fn new(playback: Playback, plays: &Arc<Mutex<Plays>>) -> Self {
        let play = Self { playback, plays: Arc::clone(plays), is_over: false };
        play.with(|plays| plays.made += 1);
        play
    }

    fn on_over(&mut self) {
        let error = self.playback.error().map(ToString::to_string);
        if !core::mem::replace(&mut self.is_over, true) {
            self.with(|plays| {
                plays.over += 1;
                plays.error = plays.error.take().or(error);
            });
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
        if self.playback.is_complete() {
            self.on_over();
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
