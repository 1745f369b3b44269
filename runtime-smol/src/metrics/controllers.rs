//! The families of controllers.

use super::text::{Buckets, Of, Text, flag, named, number};
use crate::controller::{AGES, BOUNDS, Reading, SourceStatus};
use core::iter;
use core::time::Duration;
use listwatch_core::queue::{Durations, QueueMetrics};
use std::collections::BTreeMap;

pub(super) fn write(text: &mut Text, controllers: &[(String, Reading)]) {
    queues(text.of(&["name", "controller"], controllers));
    reconciles(text.of(&["controller"], controllers));
    // Controllers may share a candidacy, and so a lease.
    let mut leases = BTreeMap::new();
    for (lease, leads) in controllers.iter().filter_map(|(_, it)| it.leads.as_ref()) {
        *leases.entry(lease).or_insert(false) |= *leads;
    }
    let leads = leases.into_iter().map(|(lease, leads)| (vec![("name", lease.clone())], flag(leads)));
    text.family("leader_election_master_status", "1 while the candidate of this lease leads, else 0", leads);
    ours(text.of(&["controller"], controllers));
}

fn queues(mut of: Of<'_, Reading>) {
    let depth = |it: &Reading| vec![("", number(it.stats.depth))];
    of.by(["workqueue_depth", "priority"], "Keys that are ready or deferred now", depth);
    of.each("workqueue_adds", "Times that a key became ready or deferred", |it| Some(it.stats.adds));
    of.each("workqueue_retries", "Additions with a delay", |it| Some(it.stats.retries));
    let mut times = |name, help, read: fn(&QueueMetrics) -> Durations| {
        of.each(name, help, |it| it.times.as_ref().map(|times| buckets(&read(times))));
    };
    times("workqueue_queue_duration_seconds", "Seconds that a key waited for its worker", |it| it.latency);
    times("workqueue_work_duration_seconds", "Seconds that a key was with its worker", |it| it.work);
    let mut times = |name, help, read: fn(&QueueMetrics) -> Duration| {
        of.each(name, help, |it| it.times.as_ref().map(|times| read(times).as_secs_f64()));
    };
    let help = "Sum of the seconds that running keys have been with their workers";
    times("workqueue_unfinished_work_seconds", help, |it| it.unfinished);
    let help = "Seconds that the longest running key has been with its worker";
    times("workqueue_longest_running_processor_seconds", help, |it| it.longest_running);
}

fn reconciles(mut of: Of<'_, Reading>) {
    of.by(["controller_runtime_reconcile", "result"], "Reconciles by their result", |it| {
        vec![
            ("success", it.counts.success),
            ("error", it.counts.error),
            // controller-runtime has this result for `Result.Requeue`, which has no counterpart here.
            ("requeue", 0),
            ("requeue_after", it.counts.requeue_after),
        ]
    });
    let help = "Reconciles that failed, panicked or timed out";
    of.each("controller_runtime_reconcile_errors", help, |it| Some(it.counts.error));
    let help = "Reconciles that failed for good";
    of.each("controller_runtime_terminal_reconcile_errors", help, |it| Some(it.counts.terminal));
    of.each("controller_runtime_reconcile_panics", "Reconciles that panicked", |it| Some(it.stats.panics));
    let help = "Reconciles that were dropped at their deadline";
    of.each("controller_runtime_reconcile_timeouts", help, |it| Some(it.counts.timeouts));
    let took = |it: &Reading| Some(counted(it.counts.total, &BOUNDS, &it.counts.buckets));
    of.each("controller_runtime_reconcile_time_seconds", "Seconds that a reconcile took", took);
    let workers = |it: &Reading| Some(number(it.counts.workers));
    of.each("controller_runtime_max_concurrent_reconciles", "Workers", workers);
    let active = |it: &Reading| Some(number(it.counts.active));
    of.each("controller_runtime_active_workers", "Reconciles that run now", active);
}

fn ours(mut of: Of<'_, Reading>) {
    let parked = |it: &Reading| Some(number(it.stats.parked));
    of.each("listwatch_parked_keys", "Keys that failed too often or for good", parked);
    let held = |it: &Reading| Some(number(it.stats.held));
    of.each("listwatch_held_keys", "Keys that wait for their writes to be shown", held);
    let help =
        "Seconds from the arrival of the oldest change to the end of the first reconcile that succeeded after it";
    let ages = |it: &Reading| Some(counted(it.counts.total_age, &AGES, &it.counts.ages));
    of.each("listwatch_event_age_seconds", help, ages);
    let mut sources = |name, help, read: fn(&SourceStatus) -> f64| {
        of.by([name, "source"], help, |it| {
            let sources = named(it.sources.iter().collect(), |source| source.source.to_string());
            sources.into_iter().map(|(name, source)| (name, read(source))).collect()
        });
    };
    let help = "1 once all objects of the source's first state became keys, else 0";
    sources("listwatch_source_synced", help, |it| flag(it.has_synced));
    sources("listwatch_source_backlog", "Changes that wait at most to become keys", |it| number(it.backlog));
    let help = "Seconds that the oldest of these changes has waited";
    sources("listwatch_source_lag_seconds", help, |it| it.lag.as_secs_f64());
}

/// The counts of buckets with such bounds, in milliseconds.
fn counted(total: Duration, bounds: &[u64], counts: &[u64]) -> Buckets {
    let bounds = bounds.iter().map(|bound| Duration::from_millis(*bound).as_secs_f64()).chain([f64::MAX]);
    Buckets { total, counts: bounds.zip(counts.iter().copied()).collect() }
}

fn buckets(durations: &Durations) -> Buckets {
    let above = durations.count - durations.buckets.iter().sum::<u64>();
    // The bounds of client-go are products, and so is their error: 9.999999999999999e-06.
    let bounds = iter::successors(Some(10e-9), |bound| Some(bound * 10.0)).take(Durations::BOUNDS.len());
    let bounds = bounds.chain([f64::MAX]);
    let counts = bounds.zip(durations.buckets.into_iter().chain([above])).collect();
    Buckets { total: durations.total, counts }
}
