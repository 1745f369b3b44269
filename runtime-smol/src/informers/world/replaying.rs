//! The tape of a controller as a world, which replays it.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use crate::replay::{Findings, Replay, ReplayedCalls};
use core::task::Poll;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{ListerWatcher, Resource};
use listwatch_transport_file::Playback;
use std::sync::Arc;

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
        let transports = move |_: &Resource, name: Option<&Arc<str>>| {
            let (name, playback, replay) = (name.cloned(), recording.transport(), Arc::clone(&told));
            Box::new(Told { name, playback, replay, is_over: false }) as _
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
    #[must_use]
    pub fn findings(&self, controller: &str) -> Option<Findings> {
        self.replay.as_ref().map(|replay| replay.findings(controller))
    }
}

/// A transport that tells when it is over.
struct Told {
    /// That of its list-and-watch on the tape.
    name: Option<Arc<str>>,
    playback: Playback,
    replay: Arc<Replay>,
    is_over: bool,
}

impl ListerWatcher for Told {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.playback.open(id, request);
    }

    fn poll_read(&mut self, cx: ReadContext<'_, '_>, buffer: &mut [u8]) -> Poll<Incoming> {
        let read = self.playback.poll_read(cx, buffer);
        if self.playback.is_complete()
            && !core::mem::replace(&mut self.is_over, true)
            && let Some(name) = &self.name
        {
            self.replay.note_over(name, self.playback.error().map(ToString::to_string));
        }
        match read {
            // The informer does so by itself, as the recorded one did, and reacts to that.
            Poll::Ready(Incoming::Failed { error, .. }) if Playback::is_given_up(&error) => {
                Poll::Ready(Incoming::Idle { until: None })
            }
            read => read,
        }
    }

    fn abort(&mut self, id: RequestId) {
        self.playback.abort(id);
    }
}
