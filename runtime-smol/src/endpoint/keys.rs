//! The keys of a controller, by their states.

use core::time::Duration;
use listwatch_core::controller::{KeyReport, KeyState};
use listwatch_core::text::Printable;
use listwatch_core::{Instant, Key};
use serde::Serialize;
use std::collections::BTreeMap;

/// How many keys of a state are named.
const NAMED: usize = 100;

/// The keys of one state.
#[derive(Default, Serialize)]
pub(super) struct KeyGroup {
    pub(super) count: usize,
    /// The first of them.
    pub(super) keys: Vec<KeyLine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyLine {
    pub(super) key: String,
    pub(super) failures: u32,
    /// Since when it is in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) since_seconds: Option<f64>,
    /// When it leaves this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) in_seconds: Option<f64>,
}

/// All states, and the keys of each: those that leave it first, or were in it first, come first.
pub(super) fn grouped(keys: &[KeyReport<Key>], now: Instant) -> BTreeMap<&'static str, KeyGroup> {
    grouped_states(keys.iter().map(|report| (&report.key, report.state, report.failures)), now)
}

fn grouped_states<'a>(
    keys: impl Iterator<Item = (&'a Key, KeyState, u32)>,
    now: Instant,
) -> BTreeMap<&'static str, KeyGroup> {
    let mut states = BTreeMap::<_, Vec<_>>::from_iter(STATES.map(|state| (state, Vec::new())));
    for (key, state, failures) in keys {
        let (state, since, until) = state_of(state);
        states.entry(state).or_default().push(Known { since, until, key, failures });
    }
    states.into_iter().map(|(state, known)| (state, KeyGroup::of(known, now))).collect()
}

/// A key and the time of its state.
struct Known<'a> {
    since: Option<Instant>,
    until: Option<Instant>,
    key: &'a Key,
    failures: u32,
}

impl KeyGroup {
    fn of(mut known: Vec<Known<'_>>, now: Instant) -> Self {
        let count = known.len();
        known.sort_by_key(|it| (it.until.or(it.since), it.key));
        Self { count, keys: known.into_iter().take(NAMED).map(|it| KeyLine::of(&it, now)).collect() }
    }
}

impl KeyLine {
    fn of(known: &Known<'_>, now: Instant) -> Self {
        Self {
            key: Printable::new(known.key).to_string(),
            failures: known.failures,
            since_seconds: known.since.map(|since| seconds(now.saturating_since(since))),
            in_seconds: known.until.map(|until| seconds(until.saturating_since(now))),
        }
    }
}

/// In milliseconds, without the rest that a float would show.
pub(super) fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}

const STATES: [&str; 8] = ["backingOff", "debounced", "delayed", "held", "parked", "ready", "running", "unfinished"];

/// The name of a state, its begin, and its end.
fn state_of(state: KeyState) -> (&'static str, Option<Instant>, Option<Instant>) {
    match state {
        KeyState::Debounced { until } => ("debounced", None, Some(until)),
        KeyState::Ready => ("ready", None, None),
        KeyState::Running { since, deadline } => ("running", Some(since), deadline),
        KeyState::Held { since, until, .. } => ("held", Some(since), Some(until)),
        KeyState::Delayed { until } => ("delayed", None, Some(until)),
        KeyState::BackingOff { until } => ("backingOff", None, Some(until)),
        KeyState::Parked => ("parked", None, None),
        KeyState::Unfinished => ("unfinished", None, None),
        _ => ("other", None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keys_of_a_state_are_named_and_all_are_counted() {
        let now = Instant::ZERO + Duration::from_secs(5);
        let keys: Vec<_> = (0..250).map(|number| Key::new(Some("web"), &format!("a{number}"))).collect();
        let until = |number: usize| now + Duration::from_secs(1000 - number as u64);
        let backing_off = |(number, key)| (key, KeyState::BackingOff { until: until(number) }, 3);
        let grouped = grouped_states(keys.iter().enumerate().map(backing_off), now);
        let backing_off = &grouped["backingOff"];
        assert_eq!((backing_off.count, backing_off.keys.len()), (250, NAMED));
        let first = &backing_off.keys[0];
        assert_eq!((first.key.as_str(), first.in_seconds, first.failures), ("web/a249", Some(751.0), 3));
        assert_eq!(grouped["parked"].count, 0);
    }
}
