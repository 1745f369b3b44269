//! A recording as a world.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use listwatch_transport_file::Playback;

/// The recording, under simulated time. Each informer plays the lists and watches of its own resource, and the client
/// the other requests. Each exchange is played once.
impl From<Playback> for World {
    fn from(playback: Playback) -> Self {
        let clock = Clock::simulated();
        let client = Client::new(playback.client(), clock.clone());
        Self::from_parts(clock, client, move |_| Box::new(playback.transport()))
    }
}
