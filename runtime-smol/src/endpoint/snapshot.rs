//! What `/debug/listwatch` shows.

use super::audit::AuditLine;
use super::keys::{KeyGroup, grouped, seconds};
use crate::controller::Inspection;
use crate::informers::StreamStatus;
use crate::metrics::{Metrics, named, state_of};
use core::time::Duration;
use listwatch_core::controller::Lifecycle;
use listwatch_core::informer::InformerStatus;
use listwatch_core::text::Printable;
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
        _ => "other",
    }
}
