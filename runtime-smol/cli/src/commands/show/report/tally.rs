//! What a time line adds up to: counts over time, and the objects, the writers and the reconciles that stand out.

use super::super::entry::{By, Entry, Sort};
use super::super::lines::details;
use super::series::Series;
use crate::output::changes::FieldChange;
use crate::report::changed::within;
use listwatch::file::{CallEnd, Moment, MomentKind};
use listwatch::request::Query;
use std::collections::HashMap;
use std::time::Duration;

/// The most objects, writers and keys that are counted one by one.
const MOST: usize = 100_000;
/// The most marks of an object, and of all objects.
const MARKS: (usize, usize) = (400, 1_000_000);
/// The most lines of what happened to an object, and their bytes in all.
const LINES: (usize, usize) = (60, 48 * 1024 * 1024);
/// The writes whose events are waited for.
const AWAITED: usize = 10_000;
/// The most rows of gaps, of leases and of slow reconciles.
pub(super) const ROWS: usize = 200;
/// The changes from one state to the next that are kept, to see whether the next ones undo them.
const KEPT_CHANGES: usize = 8;

/// An object: its resource, such as `deployments.apps`, and its key.
pub(super) type Object = (String, String);

#[derive(Default)]
pub(super) struct Tally {
    pub(super) series: Series,
    pub(super) last: Duration,
    pub(super) objects: HashMap<Object, Touched>,
    /// By the writer, what it did, and to which resource.
    pub(super) writers: HashMap<[String; 3], Written>,
    /// By the controller and the key.
    pub(super) keys: HashMap<[String; 2], Reconciled>,
    /// The slowest first.
    pub(super) slow: Vec<Slow>,
    pub(super) streams: Vec<Stream>,
    pub(super) gaps: Vec<(Duration, String)>,
    pub(super) leases: Vec<(Duration, String)>,
    pub(super) totals: Totals,
    marks: usize,
    told: usize,
    awaited: HashMap<String, Duration>,
    /// When the reconciles end that run.
    running: Vec<Duration>,
}

#[derive(Default)]
pub(super) struct Totals {
    pub(super) changes: u64,
    pub(super) writes: u64,
    pub(super) failures: u64,
    pub(super) conflicts: u64,
    pub(super) reconciles: u64,
    pub(super) retries: u64,
    pub(super) lists: u64,
    /// What was not counted one by one, or told, because there was too much.
    pub(super) uncounted: u64,
}

/// What became of an object.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) changes: u64,
    pub(super) writes: u64,
    pub(super) conflicts: u64,
    pub(super) failures: u64,
    /// How many changes undid the one before.
    pub(super) returns: u64,
    /// How many changes changed no field that is told.
    pub(super) idle: u64,
    pub(super) marks: Vec<(Duration, Mark)>,
    pub(super) story: Vec<(Duration, Mark, String)>,
    last: Vec<FieldChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Added,
    Modified,
    Deleted,
    Written,
    Failed,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) count: u64,
    pub(super) refused: u64,
}

#[derive(Default)]
pub(super) struct Reconciled {
    pub(super) count: u64,
    pub(super) failed: u64,
    pub(super) time: Duration,
}

/// A reconcile that took long.
pub(super) struct Slow {
    pub(super) at: Duration,
    pub(super) took: Duration,
    pub(super) title: String,
    pub(super) lines: Vec<String>,
}

/// A list or a watch, from its request to its end.
pub(super) struct Stream {
    pub(super) target: String,
    pub(super) is_watch: bool,
    pub(super) from: Duration,
    pub(super) until: Duration,
    /// Why it ended, unless the server ended it as it does.
    pub(super) failure: Option<String>,
}

impl Tally {
    /// Takes what a moment tells of lists and watches.
    pub(super) fn stream(&mut self, Moment { at, kind, .. }: &Moment) {
        self.last = self.last.max(*at);
        let MomentKind::Ended(call) = kind else { return };
        let Some(query) = call.query else { return };
        let is_watch = query != Query::List;
        self.totals.lists += u64::from(!is_watch);
        self.series.at(call.at).lists += u32::from(!is_watch);
        let failure = match (&call.end, call.status()) {
            (_, Some(status)) if status >= 400 => Some(format!("answered by {status}")),
            (CallEnd::Failed(why), _) => Some(why.clone()),
            _ => None,
        };
        if self.streams.len() < MOST {
            let target = call.request.target.split('?').next().unwrap_or_default().to_owned();
            self.streams.push(Stream { target, is_watch, from: call.at, until: *at, failure });
        }
    }

    /// Takes the next entry of the time line.
    pub(super) fn take(&mut self, entry: &Entry) {
        self.last = self.last.max(entry.until());
        if entry.failed {
            self.totals.failures += 1;
            self.series.at(entry.until()).failures += 1;
        }
        match entry.what {
            Sort::Change => self.change(entry),
            Sort::Write => self.write(entry),
            Sort::Reconcile => self.reconcile(entry),
            Sort::Failure if entry.event == "gap" => self.gap(entry),
            Sort::Failure => {}
            Sort::Lease => row(&mut self.leases, entry),
        }
    }

    fn gap(&mut self, entry: &Entry) {
        self.totals.uncounted += u64::from(self.gaps.len() >= ROWS);
        row(&mut self.gaps, entry);
    }

    fn change(&mut self, entry: &Entry) {
        let mark = match &*entry.event {
            "ADDED" => Mark::Added,
            "DELETED" | "VANISHED" => Mark::Deleted,
            "MODIFIED" | "RELISTED" => Mark::Modified,
            "gap" => return self.gap(entry),
            _ => return,
        };
        let lag = entry.version.as_ref().and_then(|version| self.awaited.remove(version));
        if let Some(answered) = lag {
            let lag = u32::try_from(entry.at.saturating_sub(answered).as_millis()).unwrap_or(u32::MAX);
            let interval = self.series.at(entry.at);
            interval.lag = interval.lag.max(lag);
        }
        self.totals.changes += 1;
        let interval = self.series.at(entry.at);
        match mark {
            Mark::Added => interval.added += 1,
            Mark::Deleted => interval.deleted += 1,
            _ => interval.modified += 1,
        }
        if let Some(touched) = self.touch(entry, mark) {
            touched.changes += 1;
            touched.compare(entry, mark);
        }
    }

    fn write(&mut self, entry: &Entry) {
        self.totals.writes += 1;
        self.series.at(entry.at).writes += 1;
        let is_conflict = entry.status == Some(409);
        self.totals.conflicts += u64::from(is_conflict);
        if let Some(version) = entry.version.clone().filter(|_| !entry.failed && self.awaited.len() < AWAITED) {
            self.awaited.insert(version, entry.until());
        }
        let who = [who(&entry.by), entry.event.clone(), entry.resource.clone().unwrap_or_default()];
        if let Some(written) = within(&mut self.writers, who, MOST) {
            written.count += 1;
            written.refused += u64::from(entry.failed);
        }
        let mark = if entry.failed { Mark::Failed } else { Mark::Written };
        if let Some(touched) = self.touch(entry, mark) {
            touched.writes += 1;
            touched.failures += u64::from(entry.failed);
            touched.conflicts += u64::from(is_conflict);
        }
    }

    fn reconcile(&mut self, entry: &Entry) {
        entry.writes.iter().for_each(|write| self.take(write));
        let (Some(own), Some(key)) = (&entry.reconcile, &entry.key) else { return };
        self.running.retain(|until| *until > entry.at);
        self.running.push(entry.until());
        let is_retry = own.attempt > 1;
        self.totals.reconciles += 1;
        self.totals.retries += u64::from(is_retry);
        let running = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        let interval = self.series.at(entry.at);
        interval.running = interval.running.max(running);
        interval.retries += u32::from(is_retry);
        let took = entry.until() - entry.at;
        if let Some(reconciled) = within(&mut self.keys, [own.of.clone(), key.clone()], MOST) {
            reconciled.count += 1;
            reconciled.failed += u64::from(entry.failed);
            reconciled.time += took;
        }
        let place = self.slow.partition_point(|it| it.took >= took);
        if place < ROWS {
            let causes = own.causes.iter().map(|cause| format!("because {cause}"));
            let writes = entry.writes.iter().map(|it| format!("{} {}", it.event, details(it, false)));
            let (title, lines) = (format!("{key} {}", details(entry, true)), causes.chain(writes).collect());
            self.slow.insert(place, Slow { at: entry.at, took, title, lines });
            self.slow.truncate(ROWS);
        }
    }

    /// The object of an entry, with the mark and what happened.
    fn touch(&mut self, entry: &Entry, mark: Mark) -> Option<&mut Touched> {
        let name = (entry.resource.clone().unwrap_or_default(), entry.key.clone()?);
        let Some(touched) = within(&mut self.objects, name, MOST) else {
            self.totals.uncounted += 1;
            return None;
        };
        if self.marks < MARKS.1 && touched.marks.len() < MARKS.0 {
            touched.marks.push((entry.at, mark));
            self.marks += 1;
        }
        if touched.story.len() < LINES.0 && self.told < LINES.1 {
            let told = details(entry, true);
            self.told += told.len();
            touched.story.push((entry.at, mark, told));
        }
        Some(touched)
    }
}

impl Touched {
    /// Notes whether a change undoes the one before it, or changes nothing.
    fn compare(&mut self, Entry { changes, more_changes, .. }: &Entry, mark: Mark) {
        if mark != Mark::Modified {
            return self.last.clear();
        }
        let is_whole = *more_changes == 0 && changes.len() <= KEPT_CHANGES;
        let undoes = is_whole && !changes.is_empty() && self.last.len() == changes.len();
        let undoes = undoes && changes.iter().zip(&self.last).all(|(new, old)| new.undoes(old));
        self.returns += u64::from(undoes);
        self.idle += u64::from(changes.is_empty());
        if !changes.is_empty() {
            self.last = if is_whole { changes.clone() } else { Vec::new() };
        }
    }

    /// Whether about each fourth change undoes the one before it, or changes nothing.
    pub(super) fn is_loop(&self) -> bool {
        let vain = self.returns + self.idle;
        vain >= 4 && vain * 4 >= self.changes
    }

    /// How much an object stands out.
    pub(super) fn weight(&self) -> u64 {
        self.changes + self.writes + 10 * (self.failures + self.conflicts + self.returns)
    }
}

/// Who sent a request.
fn who(by: &By) -> String {
    let name = by.controller.as_ref().or(by.user.as_ref()).or(by.program.as_ref());
    name.cloned().unwrap_or_else(|| "not known".to_owned())
}

fn row(rows: &mut Vec<(Duration, String)>, entry: &Entry) {
    if rows.len() < ROWS {
        let name =
            [&entry.resource, &entry.key].into_iter().flatten().map(|part| format!("{part} ")).collect::<String>();
        rows.push((entry.at, format!("{name}{} {}", entry.event, details(entry, true))));
    }
}
