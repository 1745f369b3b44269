//! A state that was saved, and an informer that begins with it.

use super::pod::Pod;
use listwatch_core::decode::DecodeOptions;
use listwatch_core::informer::SavedAge;
use listwatch_core::object::ObjectHandle;
use listwatch_core::saved::{InMemory, Origin, Saved, Writing};
use listwatch_core::time::WallTime;
use listwatch_core::{Informer, Instant, Resource};
use std::time::Duration;

/// What is to be restored.
#[derive(Debug)]
pub struct Restored<'a, V> {
    /// When that is.
    pub now: Instant,
    /// How old it is.
    pub age: Duration,
    /// The informer has to wait until it is confirmed.
    pub held: bool,
    /// What it is of.
    pub resource: &'a Resource,
    /// The objects.
    pub objects: &'a [V],
    /// Their version.
    pub version: &'a str,
}

/// Writes a state as it is saved, reads it back, and gives it to a new informer.
pub(super) fn restore(informer: &mut Informer<Pod>, state: &Restored<'_, ObjectHandle<Pod>>) {
    let origin = Origin::new::<Pod>(state.resource, DecodeOptions::default(), "").unwrap_or_else(failed);
    let origin = origin.server("https://simulated");
    let mut flash = InMemory::default();
    let writing = Writing::new(&origin, state.version, WallTime::UNIX_EPOCH, state.objects.to_vec());
    writing.write_to(&mut flash).unwrap_or_else(failed);
    let saved = Saved::<Pod>::read(&mut flash, &origin, DecodeOptions::default(), 1 << 30).unwrap_or_else(failed);
    let saved = saved.unwrap_or_else(|| panic!("it was saved"));
    assert_eq!(saved.objects, state.objects, "other objects come back");
    let age = SavedAge::Known(state.age);
    let is_taken = informer.restore(state.now, saved.objects, &saved.version, age, state.held);
    assert!(is_taken, "{} is refused", saved.version);
    if state.held {
        informer.confirm(state.now, true);
    }
}

fn failed<T>(error: impl std::fmt::Display) -> T {
    panic!("{error}")
}
