//! What `/debug/listwatch` shows.

use super::PANICKED;
use crate::audit::{AuditFailure, AuditReport, Difference};
use crate::controller::Inspection;
use crate::informers::StreamStatus;
use crate::metrics::{Metrics, named, state_of};
use core::time::Duration;
use listwatch_core::controller::{KeyReport, KeyState, Lifecycle};
use listwatch_core::informer::InformerStatus;
use listwatch_core::object::Version;
use listwatch_core::text::Printable;
use listwatch_core::{Instant, Key};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Snapshot {
    pub(super) ready: bool,
    /// Why it is not.
    pub(super) obstacles: Vec<String>,
    pub(super) informers: Vec<StreamLine>,
    pub(super) controllers: Vec<ControllerLine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StreamLine {
    pub(super) name: String,
    pub(super) state: &'static str,
    pub(super) synced: bool,
    /// One line for people.
    pub(super) status: String,
    /// When a failing stream asks again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry_in_seconds: Option<f64>,
    /// Also after recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
    pub(super) undecodable: u64,
    pub(super) panics: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) held_back_seconds: Option<f64>,
    /// What its request waits for before it is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waits_for: Option<String>,
    /// The last one, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) audit: Option<AuditLine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ControllerLine {
    pub(super) name: String,
    pub(super) lifecycle: &'static str,
    pub(super) workers: usize,
    pub(super) reconciles: BTreeMap<&'static str, u64>,
    pub(super) sources: Vec<SourceLine>,
    pub(super) keys: BTreeMap<&'static str, KeyGroup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) election: Option<ElectionLine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceLine {
    pub(super) source: String,
    pub(super) synced: bool,
    pub(super) backlog: usize,
    pub(super) lag_seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ElectionLine {
    pub(super) lease: String,
    pub(super) identity: String,
    pub(super) leader: Option<String>,
    pub(super) leads: bool,
    pub(super) remaining_seconds: f64,
    pub(super) has_ended: bool,
}

impl Snapshot {
    pub(super) fn of(metrics: &Metrics, obstacles: Vec<String>) -> Self {
        let controllers = named(metrics.inspections(), |it| it.reading.name.to_string());
        Self {
            ready: obstacles.is_empty(),
            obstacles,
            informers: metrics.streams().iter().map(StreamLine::of).collect(),
            controllers: controllers.into_iter().map(ControllerLine::of).collect(),
        }
    }
}

/// The stream and its state, and its last failure unless it has recovered, without the messages of panics.
pub(super) fn stream_line(stream: &StreamStatus) -> String {
    let panics = stream.panics;
    let mut without = stream.clone();
    without.panic = None;
    let plural = if panics == 1 { "" } else { "s" };
    let panics = if panics > 0 { format!("; {panics} panic{plural}") } else { String::new() };
    Printable::new(format!("{without}{panics}")).to_string()
}

impl StreamLine {
    fn of(stream: &StreamStatus) -> Self {
        Self {
            name: Printable::new(&stream.name).to_string(),
            state: state_of(&stream.status),
            synced: stream.status.is_synced(),
            status: Printable::new(&stream.status).to_string(),
            retry_in_seconds: retry_of(&stream.status).map(seconds),
            last_failure: stream.failure.as_ref().map(|report| Printable::new(&report.failure).to_string()),
            help: stream.help().map(|help| Printable::new(help).to_string()),
            undecodable: stream.undecodable,
            panics: stream.panics,
            held_back_seconds: stream.held_back.map(seconds),
            waits_for: stream.waits_for.as_ref().map(|it| Printable::new(it).to_string()),
            audit: AuditLine::of(stream),
        }
    }
}

fn retry_of(status: &InformerStatus) -> Option<Duration> {
    if let InformerStatus::Failing { next_try, .. } = status { *next_try } else { None }
}

impl ControllerLine {
    fn of((name, it): (String, Inspection)) -> Self {
        let counts = &it.reading.counts;
        let source = |source: &crate::controller::SourceStatus| SourceLine {
            source: Printable::new(&source.source).to_string(),
            synced: source.has_synced,
            backlog: source.backlog,
            lag_seconds: seconds(source.lag),
        };
        let election = it.election.map(|election| ElectionLine {
            leads: election.is_leading(),
            lease: Printable::new(election.lease).to_string(),
            identity: Printable::new(election.identity).to_string(),
            leader: election.leader.map(|leader| Printable::new(leader).to_string()),
            remaining_seconds: seconds(election.remaining),
            has_ended: election.has_ended,
        });
        let reconciles = [
            ("success", counts.success),
            ("error", counts.error),
            ("requeueAfter", counts.requeue_after),
            ("panics", it.reading.stats.panics),
            ("timeouts", counts.timeouts),
        ];
        Self {
            name: Printable::new(name).to_string(),
            lifecycle: lifecycle(it.lifecycle),
            workers: counts.workers,
            reconciles: reconciles.into(),
            sources: it.reading.sources.iter().map(source).collect(),
            keys: grouped(&it.keys, it.now),
            election,
        }
    }
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

/// How many keys of a state, and how many differences of an audit, are named.
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
        let (state, since, until) = times_of(state);
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditLine {
    /// Such as `clean`, or `failed` if nothing was compared.
    pub(super) result: &'static str,
    pub(super) date: String,
    pub(super) age_seconds: f64,
    pub(super) took_seconds: f64,
    /// What it compared, or why nothing.
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    Compared(Compared),
    Failed { failure: String },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compared {
    pub(super) version: String,
    pub(super) objects: usize,
    pub(super) missing: usize,
    pub(super) extra: usize,
    pub(super) stale: usize,
    pub(super) undecodable: usize,
    /// The first of them.
    pub(super) differences: Vec<DifferenceLine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DifferenceLine {
    pub(super) key: String,
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) store: Option<String>,
}

impl AuditLine {
    /// That of the last audit, if there was one.
    pub(super) fn of(stream: &StreamStatus) -> Option<Self> {
        let (audit, age) = (stream.audit.as_ref()?, stream.audit_age?);
        let outcome = match &audit.result {
            Ok(report) => Outcome::Compared(Compared::of(report)),
            Err(failure) => Outcome::Failed { failure: shown_failure(failure) },
        };
        Some(Self {
            result: audit.result_name(),
            date: audit.date.to_string(),
            age_seconds: seconds(age),
            took_seconds: seconds(audit.took),
            outcome,
            help: audit.help().map(|help| Printable::new(help).to_string()),
        })
    }
}

impl Compared {
    fn of(report: &AuditReport) -> Self {
        let AuditReport { objects, missing, extra, stale, undecodable, .. } = *report;
        let differences = report.differences.iter().take(NAMED).map(DifferenceLine::of).collect();
        Self { version: shown(&report.version), objects, missing, extra, stale, undecodable, differences }
    }

    /// How many differences have no line.
    pub(super) fn unnamed(&self) -> usize {
        (self.missing + self.extra + self.stale).saturating_sub(self.differences.len())
    }
}

impl DifferenceLine {
    fn of(difference: &Difference) -> Self {
        Self {
            key: Printable::new(&difference.key).to_string(),
            kind: difference.kind().name(),
            server: difference.server.as_ref().map(shown),
            store: difference.store.as_ref().map(shown),
        }
    }
}

/// Without the message of a panic.
fn shown_failure(failure: &AuditFailure) -> String {
    match failure {
        AuditFailure::Panicked(_) => PANICKED.to_owned(),
        failure => Printable::new(failure).to_string(),
    }
}

fn shown(version: &Version) -> String {
    Printable::new(version).to_string()
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
