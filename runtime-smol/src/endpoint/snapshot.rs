//! What is measured, as the JSON of the debug page.

use super::PANICKED;
use crate::audit::{AuditFailure, AuditReport, Difference};
use crate::controller::{Inspection, SourceStatus};
use crate::election::ElectionStatus;
use crate::informers::StreamStatus;
use crate::metrics::{Metrics, named};
use core::fmt::Display;
use core::time::Duration;
use listwatch_core::controller::{KeyState, Lifecycle};
use listwatch_core::informer::InformerStatus;
use listwatch_core::text::{Counted, Printable};
use listwatch_core::{Instant, Key};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How many keys of a state, and how many differences of an audit, are named.
const NAMED: usize = 100;

/// Streams, controllers and their keys, and what keeps the program from being ready.
pub(super) fn snapshot(metrics: &Metrics, obstacles: &[String]) -> Value {
    let controllers = named(metrics.inspections(), |it| it.reading.name.to_string());
    json!({
        "ready": obstacles.is_empty(),
        "obstacles": obstacles,
        "informers": metrics.streams().iter().map(stream).collect::<Vec<_>>(),
        "controllers": controllers.iter().map(|(name, it)| controller(name, it)).collect::<Vec<_>>(),
    })
}

/// A stream in one line, without the message of its last panic.
pub(super) fn stream_line(stream: &StreamStatus) -> String {
    let mut without = stream.clone();
    without.panic = None;
    let panics = (stream.panics > 0).then(|| format!("; {}", Counted(stream.panics, "panic", "panics")));
    text(format!("{without}{}", panics.unwrap_or_default()))
}

fn stream(it: &StreamStatus) -> Value {
    let retry = if let InformerStatus::Failing { next_try, .. } = it.status { next_try } else { None };
    present(json!({
        "name": text(&it.name),
        "state": it.status.name(),
        "synced": it.status.is_synced(),
        "status": text(&it.status),
        "retryInSeconds": retry.map(seconds),
        "lastFailure": it.failure.as_ref().map(|report| text(&report.failure)),
        "help": it.help().map(text),
        "undecodable": it.undecodable,
        "panics": it.panics,
        "heldBackSeconds": it.held_back.map(seconds),
        "waitsFor": it.waits_for.as_ref().map(text),
        "audit": audit(it),
    }))
}

/// The last audit, if there was one.
fn audit(it: &StreamStatus) -> Option<Value> {
    let (audit, age) = (it.audit.as_ref()?, it.audit_age?);
    let mut shown = match &audit.result {
        Ok(report) => compared(report),
        // Without the message of a panic.
        Err(AuditFailure::Panicked(_)) => json!({ "failure": PANICKED }),
        Err(failure) => json!({ "failure": text(failure) }),
    };
    shown["result"] = audit.result_name().into();
    shown["date"] = audit.date.to_string().into();
    shown["ageSeconds"] = seconds(age).into();
    shown["tookSeconds"] = seconds(audit.took).into();
    shown["help"] = audit.help().map(text).into();
    Some(present(shown))
}

fn compared(report: &AuditReport) -> Value {
    let AuditReport { objects, missing, extra, stale, undecodable, .. } = report;
    json!({
        "version": text(&report.version),
        "objects": objects,
        "missing": missing,
        "extra": extra,
        "stale": stale,
        "undecodable": undecodable,
        "differences": report.differences.iter().take(NAMED).map(difference).collect::<Vec<_>>(),
    })
}

fn difference(it: &Difference) -> Value {
    let (server, store) = (it.server.as_ref().map(text), it.store.as_ref().map(text));
    present(json!({ "key": text(&it.key), "kind": it.kind().name(), "server": server, "store": store }))
}

fn controller(name: &str, it: &Inspection) -> Value {
    let counts = &it.reading.counts;
    present(json!({
        "name": text(name),
        "lifecycle": lifecycle(it.lifecycle),
        "workers": counts.workers,
        "reconciles": {
            "success": counts.success,
            "error": counts.error,
            "requeueAfter": counts.requeue_after,
            "panics": it.reading.stats.panics,
            "timeouts": counts.timeouts,
        },
        "sources": it.reading.sources.iter().map(source).collect::<Vec<_>>(),
        "keys": keys(it.keys.iter().map(|report| (&report.key, report.state, report.failures)), it.now),
        "election": it.election.as_ref().map(election),
    }))
}

fn lifecycle(lifecycle: Lifecycle) -> &'static str {
    match lifecycle {
        Lifecycle::Starting => "starting",
        Lifecycle::Running => "running",
        Lifecycle::Draining => "draining",
        Lifecycle::Stopped => "stopped",
        Lifecycle::NotSynced => "notSynced",
        Lifecycle::Failed => "failed",
        _ => "other",
    }
}

fn source(it: &SourceStatus) -> Value {
    let (backlog, lag) = (it.backlog, seconds(it.lag));
    json!({ "source": text(&it.source), "synced": it.has_synced, "backlog": backlog, "lagSeconds": lag })
}

fn election(it: &ElectionStatus) -> Value {
    json!({
        "lease": text(&it.lease),
        "identity": text(&it.identity),
        "leader": it.leader.as_ref().map(text),
        "leads": it.is_leading(),
        "remainingSeconds": seconds(it.remaining),
        "hasEnded": it.has_ended,
    })
}

const STATES: [&str; 8] = ["backingOff", "debounced", "delayed", "held", "parked", "ready", "running", "unfinished"];

/// All states, and the keys of each: those that leave it first, or were in it first, come first.
fn keys<'k>(keys: impl Iterator<Item = (&'k Key, KeyState, u32)>, now: Instant) -> Map<String, Value> {
    let mut states = BTreeMap::<_, Vec<_>>::from(STATES.map(|state| (state, Vec::new())));
    for (key, state, failures) in keys {
        let (state, since, until) = times_of(state);
        states.entry(state).or_default().push((until.or(since), key, since, until, failures));
    }
    let groups = states.into_iter().map(|(state, mut known)| {
        known.sort_by_key(|(at, key, ..)| (*at, *key));
        let first = known.iter().take(NAMED).map(|(_, key, since, until, failures)| {
            let since = since.map(|since| seconds(now.saturating_since(since)));
            let until = until.map(|until: Instant| seconds(until.saturating_since(now)));
            present(json!({ "key": text(key), "failures": failures, "sinceSeconds": since, "inSeconds": until }))
        });
        (state.to_owned(), json!({ "count": known.len(), "keys": first.collect::<Vec<_>>() }))
    });
    groups.collect()
}

/// The name of a state, its begin, and its end.
fn times_of(state: KeyState) -> (&'static str, Option<Instant>, Option<Instant>) {
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

/// The object without the fields that have no value.
fn present(mut object: Value) -> Value {
    object.as_object_mut().into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null()));
    object
}

fn text(shown: impl Display) -> String {
    Printable::new(shown).to_string()
}

/// In milliseconds, without the rest that a float would show.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keys_of_a_state_are_named_and_all_are_counted() {
        let now = Instant::ZERO + Duration::from_secs(5);
        let known: Vec<_> = (0..250).map(|number| Key::new(Some("web"), &format!("a{number}"))).collect();
        let until = |number: usize| now + Duration::from_secs(1000 - number as u64);
        let backing_off = |(number, key)| (key, KeyState::BackingOff { until: until(number) }, 3);
        let states = keys(known.iter().enumerate().map(backing_off), now);
        let backing_off = &states["backingOff"];
        assert_eq!((&backing_off["count"], backing_off["keys"].as_array().unwrap().len()), (&250.into(), NAMED));
        assert_eq!(backing_off["keys"][0], json!({ "key": "web/a249", "inSeconds": 751.0, "failures": 3 }));
        assert_eq!(states["parked"]["count"], 0);
    }
}
