//! What a playback, or following a resource, amounted to.

use crate::reason::reason;
use crate::source::Requests;
use listwatch_runtime_smol::Event;
use listwatch_runtime_smol::file::{Summary, Tally};
use listwatch_runtime_smol::informer::InformerStatus;
use listwatch_runtime_smol::queue::QueueStats;
use listwatch_runtime_smol::reflector::{FailureReport, Reaction};
use listwatch_runtime_smol::text::Printable;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// How many characters of a decoder's error are told.
const SENTENCE: usize = 300;

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
    /// Whether a whole list came.
    pub(crate) synced: bool,
    /// What failed last.
    failure: Option<String>,
    /// Why the last object that was not understood was not.
    undecoded: Option<String>,
    relists: Reasons,
    rewatches: Reasons,
}

/// How often what happened; of many different reasons, the first ones and how many others there were.
#[derive(Default)]
struct Reasons {
    counts: BTreeMap<String, u64>,
    others: u64,
}

/// All that is told at the end.
pub(crate) struct Report {
    pub(crate) file: String,
    /// Whether there was no error.
    pub(crate) whole: bool,
    pub(crate) playback: Summary,
    pub(crate) counts: Counts,
    pub(crate) objects: usize,
    /// What the informer was doing when the recording was over.
    pub(crate) status: InformerStatus,
    /// The indexes, and how many values each has.
    pub(crate) indexes: Vec<(String, usize)>,
    pub(crate) queue: QueueStats,
    pub(crate) reconciles: u64,
    pub(crate) elapsed: Duration,
}

/// What following a resource amounted to.
pub(crate) struct WatchReport<'a> {
    pub(crate) resource: &'a str,
    pub(crate) requests: Requests,
    pub(crate) counts: &'a Counts,
    pub(crate) objects: usize,
    /// What the informer was doing at the end.
    pub(crate) status: String,
    pub(crate) recorded: Option<&'a Path>,
}

impl Counts {
    pub(crate) fn note<T>(&mut self, event: &Event<T>) {
        self.events += u64::from(event.object().is_some());
        match event {
            Event::Added { .. } => self.added += 1,
            Event::Updated { .. } => self.updated += 1,
            Event::Recreated { .. } => self.recreated += 1,
            Event::Deleted { final_state_known: true, .. } => self.deleted += 1,
            Event::Deleted { final_state_known: false, .. } => self.vanished += 1,
            Event::Synced => self.synced = true,
            Event::Undecodable(undecodable) => {
                self.undecodable += 1;
                self.undecoded = Some(Printable::new(&undecodable.error).at_most(SENTENCE).to_string());
            }
            Event::Failed(failed) => self.note_failure(failed),
            _ => {}
        }
    }

    /// Why there was no state: what failed last, and which object was not understood.
    pub(crate) fn reason(&self) -> Option<String> {
        let undecoded = self.undecoded.as_ref().map(|error| format!("an object was not understood: {error}"));
        let reasons: Vec<_> = self.failure.clone().into_iter().chain(undecoded).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn note_failure(&mut self, failed: &FailureReport) {
        let reason = self.failure.insert(reason(failed)).clone();
        let counts = match failed.reaction {
            Reaction::Relist | Reaction::RelistByList | Reaction::RelistUnpaged => &mut self.relists,
            Reaction::Rewatch => &mut self.rewatches,
            Reaction::ListInstead => return,
        };
        counts.note(reason);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { added, updated, recreated, deleted, vanished, undecodable, .. } = self;
        let events =
            format!("{added} added, {updated} updated, {recreated} recreated, {deleted} deleted, {vanished} vanished");
        lines(f, "events", [events])?;
        lines(f, "relists", self.relists.lines())?;
        lines(f, "rewatches", self.rewatches.lines())?;
        let not_understood = format!("{undecodable} objects were not understood; the cache kept what it knew");
        lines(f, "undecodable", (*undecodable > 0).then_some(not_understood))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counts, playback, queue, .. } = self;
        let how = if self.whole { "played to its end" } else { "not played to its end" };
        writeln!(f, "{}: {how}", Printable::new(&self.file))?;
        lines(f, "requests", requests(playback))?;
        counts.fmt(f)?;
        lines(f, "bad lines", (playback.bad_lines > 0).then(|| format!("{} skipped", playback.bad_lines)))?;
        lines(f, "cache", [format!("{} objects", self.objects)])?;
        lines(f, "status", [self.status.to_string()])?;
        lines(f, "indexes", self.indexes.iter().map(|(index, values)| format!("{index}, {values} values")))?;
        let merged = queue.merged;
        lines(f, "work queue", [format!("{} keys added, {merged} adds folded into a waiting key", queue.adds)])?;
        lines(f, "workers", [format!("{} reconciles, {} retries", self.reconciles, queue.retries)])?;
        lines(f, "throughput", [self.throughput()])?;
        lines(f, "peak memory", [peak_memory_in_words()])
    }
}

impl fmt::Display for WatchReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", Printable::new(self.resource), Printable::new(&self.status))?;
        let Requests { lists, watches, watch_lists } = self.requests;
        lines(f, "requests", [format!("{watch_lists} watch-list, {lists} list, {watches} watch")])?;
        self.counts.fmt(f)?;
        lines(f, "cache", [format!("{} objects", self.objects)])?;
        lines(f, "recorded", self.recorded.map(|file| file.display().to_string()))?;
        lines(f, "peak memory", [peak_memory_in_words()])
    }
}

impl Report {
    fn throughput(&self) -> String {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let (events, megabytes) = (self.counts.events as f64, self.playback.body_bytes as f64 / 1e6);
        let (event_rate, rate) = (events / seconds, megabytes / seconds);
        format!("{event_rate:.0} events/s, {rate:.1} MB/s ({megabytes:.1} MB in {seconds:.3} s)")
    }
}

/// Writes the lines of one subject, whose name stands in front of the first.
fn lines(f: &mut fmt::Formatter<'_>, name: &str, lines: impl IntoIterator<Item = String>) -> fmt::Result {
    let mut name = Some(name);
    lines
        .into_iter()
        .try_for_each(|line| writeln!(f, "  {:12} {}", name.take().unwrap_or_default(), Printable::new(line)))
}

fn requests(playback: &Summary) -> Vec<String> {
    let kinds = [("list", playback.lists), ("watch", playback.watches), ("watch-list", playback.watch_lists)];
    let shown = |name: &str, count: fn(&Tally) -> u64| {
        let total: u64 = kinds.iter().map(|(_, tally)| count(tally)).sum();
        let some = kinds.iter().filter(|(_, tally)| count(tally) > 0);
        let some: Vec<String> = some.map(|(kind, tally)| format!("{} {kind}", count(tally))).collect();
        if some.is_empty() { format!("{total} {name}") } else { format!("{total} {name} ({})", some.join(", ")) }
    };
    let others = format!("{} not played (neither list nor watch)", playback.others);
    let mut lines = vec![
        shown("answered", |tally| tally.answered),
        shown("refused", |tally| tally.refused),
        shown("left over", |tally| tally.left),
    ];
    lines.extend((playback.others > 0).then_some(others));
    lines
}

impl Reasons {
    /// How many different ones are told apart.
    const MOST: usize = 16;

    fn note(&mut self, reason: String) {
        let has_room = self.counts.len() < Self::MOST;
        match self.counts.entry(reason) {
            Entry::Occupied(mut count) => *count.get_mut() += 1,
            Entry::Vacant(free) if has_room => drop(free.insert(1)),
            Entry::Vacant(_) => self.others += 1,
        }
    }

    fn lines(&self) -> Vec<String> {
        let reasons = self.counts.iter().map(|(reason, count)| format!("{count} after {reason}"));
        let others = (self.others > 0).then(|| format!("{} after others", self.others));
        if self.counts.is_empty() { vec!["none".into()] } else { reasons.chain(others).collect() }
    }
}

fn peak_memory_in_words() -> String {
    let peak = peak_memory().map(|kib| format!("{:.1} MB", kib as f64 * 1024.0 / 1e6));
    peak.unwrap_or_else(|| "not known on this system".into())
}

/// The most memory that this process had resident, in KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    crate::process::status("VmHWM")?.strip_suffix("kB")?.trim().parse().ok()
}
