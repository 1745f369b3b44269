//! What a playback amounted to.

use listwatch_runtime_smol::file::{Summary, Tally};
use listwatch_runtime_smol::{Event, Failed, QueueStats, Reaction};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Events by kind, and failures by what they were.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) events: u64,
    added: u64,
    updated: u64,
    recreated: u64,
    deleted: u64,
    vanished: u64,
    pub(crate) undecodable: u64,
    relists: BTreeMap<String, u64>,
    rewatches: BTreeMap<String, u64>,
}

/// All that is told at the end.
pub(crate) struct Report {
    pub(crate) file: String,
    pub(crate) playback: Summary,
    pub(crate) counts: Counts,
    pub(crate) objects: usize,
    /// The indexes, and how many values each has.
    pub(crate) indexes: Vec<(String, usize)>,
    pub(crate) queue: QueueStats,
    pub(crate) reconciles: u64,
    pub(crate) elapsed: Duration,
}

impl Counts {
    pub(crate) fn note<T>(&mut self, event: &Event<T>) {
        self.events += u64::from(event.object().is_some());
        match event {
            Event::Added { .. } => self.added += 1,
            Event::Updated { .. } => self.updated += 1,
            Event::Recreated { .. } => self.recreated += 1,
            Event::Deleted { certain: true, .. } => self.deleted += 1,
            Event::Deleted { certain: false, .. } => self.vanished += 1,
            Event::Undecodable(_) => self.undecodable += 1,
            Event::Failed(failed) => self.note_failure(failed),
            _ => {}
        }
    }

    fn note_failure(&mut self, failed: &Failed) {
        let counts = match failed.reaction {
            Reaction::Relist | Reaction::RelistUnpaged => &mut self.relists,
            Reaction::Rewatch => &mut self.rewatches,
            Reaction::ListInstead => return,
        };
        *counts.entry(failed.failure.to_string()).or_default() += 1;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counts, playback, queue, .. } = self;
        writeln!(
            f,
            "{}: {}",
            self.file,
            if playback.complete { "played to its end" } else { "not played to its end" }
        )?;
        requests(f, playback)?;
        writeln!(
            f,
            "  events       {} added, {} updated, {} recreated, {} deleted, {} vanished",
            counts.added, counts.updated, counts.recreated, counts.deleted, counts.vanished
        )?;
        reasons(f, "relists", &counts.relists)?;
        reasons(f, "rewatches", &counts.rewatches)?;
        problem(f, "undecodable", counts.undecodable, "objects kept their last good state")?;
        problem(f, "bad lines", playback.bad_lines, "skipped")?;
        write!(f, "  cache        {} objects", self.objects)?;
        for (index, values) in &self.indexes {
            write!(f, "; {values} values of {index}")?;
        }
        writeln!(
            f,
            "\n  work queue   {} keys added, {} adds folded into a waiting key, {} reconciles, {} retries",
            queue.adds, queue.merged, self.reconciles, queue.retries
        )?;
        self.throughput(f)?;
        match peak_memory() {
            Some(kib) => writeln!(f, "  peak memory  {:.1} MB", kib as f64 * 1024.0 / 1e6),
            None => Ok(()),
        }
    }
}

impl Report {
    fn throughput(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let (events, megabytes) = (self.counts.events as f64, self.playback.body_bytes as f64 / 1e6);
        let (event_rate, rate) = (events / seconds, megabytes / seconds);
        writeln!(f, "  throughput   {event_rate:.0} events/s, {rate:.0} MB/s: {megabytes:.1} MB in {seconds:.2} s")
    }
}

fn requests(f: &mut fmt::Formatter<'_>, playback: &Summary) -> fmt::Result {
    let kinds = [("list", playback.lists), ("watch", playback.watches), ("watch-list", playback.watch_lists)];
    let total = |count: fn(&Tally) -> u64| kinds.iter().map(|(_, tally)| count(tally)).sum::<u64>();
    let detail = |count: fn(&Tally) -> u64| {
        let some = kinds.iter().filter(|(_, tally)| count(tally) > 0);
        let some: Vec<String> = some.map(|(kind, tally)| format!("{} {kind}", count(tally))).collect();
        if some.is_empty() { String::new() } else { format!(" ({})", some.join(", ")) }
    };
    let shown = |name: &str, count: fn(&Tally) -> u64| format!("{} {name}{}", total(count), detail(count));
    let answered = shown("answered", |tally| tally.answered);
    let refused = shown("refused", |tally| tally.refused);
    writeln!(f, "  requests     {answered}, {refused}, {}", shown("left over", |tally| tally.left))
}

fn reasons(f: &mut fmt::Formatter<'_>, name: &str, counts: &BTreeMap<String, u64>) -> fmt::Result {
    let reasons: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} after {reason}")).collect();
    writeln!(f, "  {name:12} {}", if reasons.is_empty() { "none".into() } else { reasons.join("; ") })
}

fn problem(f: &mut fmt::Formatter<'_>, name: &str, count: u64, what: &str) -> fmt::Result {
    if count == 0 { Ok(()) } else { writeln!(f, "  {name:12} {count} {what}") }
}

/// The most memory that this process had resident, in KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix("kB")?.trim().parse().ok()
}
