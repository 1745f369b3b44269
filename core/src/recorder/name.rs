//! Names of Events.

use super::config::RecorderConfig;
use crate::object::is_domain;
use crate::random::Random;
use crate::time::WallTime;
use alloc::format;
use alloc::string::String;
use core::time::Duration;

/// Makes names that no other Event has.
#[derive(Debug)]
pub(super) struct Names {
    random: Random,
    last: u64,
}

impl Names {
    pub(super) fn new(config: &RecorderConfig) -> Self {
        // Processes without a seed of their own have instances of their own (FNV-1a).
        let mix = |seed: u64, byte| (seed ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Self { random: Random::new(config.instance.bytes().fold(config.seed, mix)), last: 0 }
    }

    /// The name of the object and the microseconds since 1970, where client-go's `GenerateEventName` has nanoseconds. Each
    /// time is later than the one before, whatever the clock shows.
    pub(super) fn at(&mut self, object: &str, wall: WallTime) -> String {
        let micros = u64::try_from(wall.as_unix_micros()).unwrap_or_default();
        self.last = micros.max(self.last.wrapping_add(1));
        named(object, self.last)
    }

    /// Another name, where an Event of another client has the first one.
    pub(super) fn other(&mut self, object: &str) -> String {
        named(object, self.random.next())
    }

    /// A duration up to `most`, which spreads clients in time.
    pub(super) fn jitter(&mut self, most: Duration) -> Duration {
        self.random.below(most)
    }
}

/// `object.number`. An object's name that cannot be a part of an Event's is left out.
fn named(object: &str, number: u64) -> String {
    let name = format!("{object}.{number:x}");
    if is_domain(&name) { name } else { format!("event.{number:x}") }
}
