//! The families of controllers.

use super::encoder::{Buckets, Families, Labels, and, number};
use crate::controller::{AGES, BOUNDS, Reading};
use core::time::Duration;
use core::{fmt, iter};
use listwatch_core::queue::{Durations, QueueMetrics};
use std::collections::BTreeMap;

type Named = (String, Reading);

pub(super) fn encode(families: &mut Families<'_>, controllers: &[Named]) -> fmt::Result {
    queues(families, controllers)?;
    times(families, controllers)?;
    reconciles(families, controllers)?;
    ours(families, controllers)
}

fn queues(families: &mut Families<'_>, controllers: &[Named]) -> fmt::Result {
    let depth = controllers.iter().map(|(name, it)| (and(queue(name), "priority", ""), number(it.stats.depth)));
    families.gauge("workqueue_depth", "Keys that are ready or deferred now", depth)?;
    let adds = controllers.iter().map(|(name, it)| (queue(name), it.stats.adds));
    families.counter("workqueue_adds", "Times that a key became ready or deferred", adds)?;
    let retries = controllers.iter().map(|(name, it)| (queue(name), it.stats.retries));
    families.counter("workqueue_retries", "Additions with a delay", retries)
}

fn times(families: &mut Families<'_>, controllers: &[Named]) -> fmt::Result {
    let of = |read: fn(&QueueMetrics) -> Durations| {
        controllers.iter().filter_map(move |(name, it)| Some((queue(name), buckets(&read(it.times.as_ref()?)))))
    };
    let help = "Seconds that a key waited for its worker";
    families.histogram("workqueue_queue_duration_seconds", help, of(|times| times.latency))?;
    let help = "Seconds that a key was with its worker";
    families.histogram("workqueue_work_duration_seconds", help, of(|times| times.work))?;
    let of = |read: fn(&QueueMetrics) -> Duration| {
        controllers.iter().filter_map(move |(name, it)| Some((queue(name), read(it.times.as_ref()?).as_secs_f64())))
    };
    let help = "Sum of the seconds that running keys have been with their workers";
    families.gauge("workqueue_unfinished_work_seconds", help, of(|times| times.unfinished))?;
    let help = "Seconds that the longest running key has been with its worker";
    families.gauge("workqueue_longest_running_processor_seconds", help, of(|times| times.longest_running))
}

fn reconciles(families: &mut Families<'_>, controllers: &[Named]) -> fmt::Result {
    let results = controllers.iter().flat_map(|(name, it)| {
        let results = [
            ("success", it.counts.success),
            ("error", it.counts.error),
            // controller-runtime has this result for `Result.Requeue`, which has no counterpart here.
            ("requeue", 0),
            ("requeue_after", it.counts.requeue_after),
        ];
        results.map(|(result, count)| (and(controller(name), "result", result), count))
    });
    families.counter("controller_runtime_reconcile", "Reconciles by their result", results)?;
    let of = |read: fn(&Reading) -> u64| controllers.iter().map(move |(name, it)| (controller(name), read(it)));
    let help = "Reconciles that failed, panicked or timed out";
    families.counter("controller_runtime_reconcile_errors", help, of(|it| it.counts.error))?;
    let help = "Reconciles that failed for good";
    families.counter("controller_runtime_terminal_reconcile_errors", help, of(|it| it.counts.terminal))?;
    let help = "Reconciles that panicked";
    families.counter("controller_runtime_reconcile_panics", help, of(|it| it.stats.panics))?;
    let help = "Reconciles that were dropped at their deadline";
    families.counter("controller_runtime_reconcile_timeouts", help, of(|it| it.counts.timeouts))?;
    let times = controllers.iter().map(|(name, it)| {
        (controller(name), Buckets { total: it.counts.total, counts: counted(&BOUNDS, &it.counts.buckets) })
    });
    families.histogram("controller_runtime_reconcile_time_seconds", "Seconds that a reconcile took", times)?;
    let of =
        |read: fn(&Reading) -> usize| controllers.iter().map(move |(name, it)| (controller(name), number(read(it))));
    families.gauge("controller_runtime_max_concurrent_reconciles", "Workers", of(|it| it.counts.workers))?;
    families.gauge("controller_runtime_active_workers", "Reconciles that run now", of(|it| it.counts.active))?;
    // Controllers may share a candidacy, and so a lease.
    let mut leases = BTreeMap::new();
    for (lease, leads) in controllers.iter().filter_map(|(_, it)| it.leads.as_ref()) {
        *leases.entry(lease).or_insert(false) |= *leads;
    }
    let leads = leases.into_iter().map(|(lease, leads)| (vec![("name", lease.clone())], f64::from(u8::from(leads))));
    families.gauge("leader_election_master_status", "1 while the candidate of this lease leads, else 0", leads)
}

fn ours(families: &mut Families<'_>, controllers: &[Named]) -> fmt::Result {
    let of =
        |read: fn(&Reading) -> usize| controllers.iter().map(move |(name, it)| (controller(name), number(read(it))));
    families.gauge("listwatch_parked_keys", "Keys that failed too often or for good", of(|it| it.stats.parked))?;
    families.gauge("listwatch_held_keys", "Keys that wait for their writes to be shown", of(|it| it.stats.held))?;
    let loops = controllers.iter().map(|(name, it)| (controller(name), it.counts.loops));
    families.counter("listwatch_write_loops", "Objects that were found to be written without an end", loops)?;
    let sources = |read: fn(&crate::controller::SourceStatus) -> f64| {
        controllers.iter().flat_map(move |(name, it)| {
            let named = super::encoder::named(it.sources.iter().collect(), |source| source.source.to_string());
            named.into_iter().map(move |(source, status)| (and(controller(name), "source", source), read(status)))
        })
    };
    let ages = controllers.iter().map(|(name, it)| {
        (controller(name), Buckets { total: it.counts.total_age, counts: counted(&AGES, &it.counts.ages) })
    });
    let help =
        "Seconds from the arrival of the oldest change to the end of the first reconcile that succeeded after it";
    families.histogram("listwatch_event_age_seconds", help, ages)?;
    let help = "1 once all objects of the source's first state became keys, else 0";
    families.gauge("listwatch_source_synced", help, sources(|it| f64::from(u8::from(it.has_synced))))?;
    let help = "Changes that wait at most to become keys";
    families.gauge("listwatch_source_backlog", help, sources(|it| number(it.backlog)))?;
    let help = "Seconds that the oldest of these changes has waited";
    families.gauge("listwatch_source_lag_seconds", help, sources(|it| it.lag.as_secs_f64()))
}

/// The counts of buckets with such bounds, in milliseconds.
fn counted(bounds: &[u64], counts: &[u64]) -> Vec<(f64, u64)> {
    let bounds = bounds.iter().map(|bound| Duration::from_millis(*bound).as_secs_f64()).chain([f64::MAX]);
    bounds.zip(counts.iter().copied()).collect()
}

fn queue(name: &str) -> Labels {
    vec![("name", name.to_owned()), ("controller", name.to_owned())]
}

fn controller(name: &str) -> Labels {
    vec![("controller", name.to_owned())]
}

fn buckets(durations: &Durations) -> Buckets {
    let above = durations.count - durations.buckets.iter().sum::<u64>();
    // The bounds of client-go are products, and so is their error: 9.999999999999999e-06.
    let bounds = iter::successors(Some(10e-9), |bound| Some(bound * 10.0)).take(Durations::BOUNDS.len());
    let bounds = bounds.chain([f64::MAX]);
    let counts = bounds.zip(durations.buckets.into_iter().chain([above])).collect();
    Buckets { total: durations.total, counts }
}
