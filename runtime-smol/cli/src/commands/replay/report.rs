//! The summary of a replay.

use crate::output::seconds::Seconds;
use crate::report::changed::{Changed, MostChanged};
use crate::report::counts::Counts;
use crate::report::summary::{lines, mixed, peak_memory};
use listwatch::file::{Summary, Tally};
use listwatch::queue::QueueStats;
use listwatch::text::{Counted, Printable};
use listwatch::time::WallTime;
use std::fmt;
use std::time::Duration;

/// The summary of a replay.
pub(super) struct Report {
    pub(super) file: String,
    /// Whether the recording was played without an error.
    pub(super) whole: bool,
    /// Whether the data of the recording breaks off.
    pub(super) is_cut: bool,
    /// Whether the machines are told, too.
    pub(super) is_verbose: bool,
    /// The date of the recording's begin, if it is known.
    pub(super) began: Option<WallTime>,
    pub(super) length: Duration,
    /// The names of several resources.
    pub(super) names: Vec<String>,
    /// Which resources were played, and which were not.
    pub(super) resources: Vec<String>,
    pub(super) playback: Summary,
    pub(super) counts: Counts,
    pub(super) changed: Changed,
    pub(super) objects: usize,
    /// The status of each informer at the end of the recording.
    pub(super) statuses: Vec<String>,
    /// The indexes, with the number of values of each.
    pub(super) indexes: Vec<String>,
    pub(super) queue: QueueStats,
    pub(super) reconciles: u64,
    pub(super) elapsed: Duration,
}

impl Report {
    fn throughput(&self) -> String {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let (events, megabytes) = (self.counts.events as f64, self.playback.body_bytes as f64 / 1e6);
        let (event_rate, rate) = (events / seconds, megabytes / seconds);
        format!("{event_rate:.0} events/s, {rate:.1} MB/s ({megabytes:.1} MB in {seconds:.3} s)")
    }

    fn time(&self) -> String {
        let length = Seconds(self.length);
        match self.began {
            Some(began) => format!("{began} to {}, {length}", began + self.length),
            None => length.to_string(),
        }
    }

    /// Whether all answers of the recording were played, and none was a refusal.
    fn is_complete(&self) -> bool {
        let Summary { lists, watches, watch_lists, .. } = &self.playback;
        [lists, watches, watch_lists].iter().all(|tally| tally.left == 0 && tally.refused == 0)
    }

    fn machines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = &self.queue;
        lines(f, "status", self.statuses.iter().cloned())?;
        let (adds, merged) = (Counted(queue.adds, "key", "keys"), Counted(queue.merged, "add", "adds"));
        lines(f, "work queue", [format!("{adds} added, {merged} folded into a waiting key")])?;
        let reconciles = Counted(self.reconciles, "reconcile", "reconciles");
        lines(f, "workers", [format!("{reconciles}, {}", Counted(queue.retries, "retry", "retries"))])?;
        lines(f, "throughput", [self.throughput()])?;
        lines(f, "peak memory", [peak_memory()])
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counts, playback, changed, names, is_verbose, .. } = self;
        let how = match (self.whole, self.is_cut) {
            (true, false) => "played to its end",
            (true, true) => "played up to where its data breaks off",
            (false, _) => "not played to its end",
        };
        writeln!(f, "{}: {how}", Printable::new(&self.file))?;
        lines(f, "time", [self.time()])?;
        lines(f, "resources", self.resources.iter().cloned())?;
        counts.fmt(f)?;
        MostChanged { changed, names }.fmt(f)?;
        lines(f, "bad lines", (playback.bad_lines > 0).then(|| format!("{} skipped", playback.bad_lines)))?;
        lines(f, "mixed", mixed(playback.told_twice))?;
        let passed = Counted(playback.passed_errors, "error", "errors");
        let passed = (passed.0 > 0).then(|| format!("{passed} of the server among so many that no list follows each"));
        lines(f, "passed over", passed)?;
        lines(f, "cache", [Counted(self.objects, "object", "objects").to_string()])?;
        lines(f, "indexes", self.indexes.iter().cloned())?;
        if *is_verbose || !self.is_complete() {
            lines(f, "requests", requests(playback))?;
        }
        if *is_verbose { self.machines(f) } else { Ok(()) }
    }
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
