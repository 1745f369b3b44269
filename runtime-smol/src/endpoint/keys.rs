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
    let mut states = BTreeMap::<_, Vec<_>>::from_iter(STATES.map(|state| (state, Vec::new())));
    for report in keys {
        let (state, since, until) = state_of(report.state);
        states.entry(state).or_default().push((until.or(since), since, until, report));
    }
    let group = |mut known: Vec<(Option<Instant>, _, _, &KeyReport<Key>)>| {
        let count = known.len();
        known.sort_by(|a, b| (a.0, &a.3.key).cmp(&(b.0, &b.3.key)));
        let line = |(_, since, until, report): (_, Option<Instant>, Option<Instant>, &KeyReport<Key>)| KeyLine {
            key: Printable::new(&report.key).to_string(),
            failures: report.failures,
            since_seconds: since.map(|since| seconds(now.saturating_since(since))),
            in_seconds: until.map(|until| seconds(until.saturating_since(now))),
        };
        KeyGroup { count, keys: known.into_iter().take(NAMED).map(line).collect() }
    };
    states.into_iter().map(|(state, known)| (state, group(known))).collect()
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
        let report = |number: u64| {
            let until = now + Duration::from_secs(1000 - number);
            let key = Key::new(Some("web"), format!("a{number}"));
            KeyReport { key, state: KeyState::BackingOff { until }, failures: 3 }
        };
        let keys: Vec<_> = (0..250).map(report).collect();
        let grouped = grouped(&keys, now);
        let backing_off = &grouped["backingOff"];
        assert_eq!((backing_off.count, backing_off.keys.len()), (250, NAMED));
        let first = &backing_off.keys[0];
        assert_eq!((first.key.as_str(), first.in_seconds, first.failures), ("web/a249", Some(751.0), 3));
        assert_eq!(grouped["parked"].count, 0);
    }
}
