//! A reconcile on a tape: what it begins with, reads and ends with.

use super::error::Reconciled;
use super::owners::Followed;
use crate::caught::{Caught, caught_call};
use crate::clock::Clock;
use crate::mutex::Mutex;
use crate::witness::Witness;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::controller::{Awaited, Cause, CauseKind, Write};
use listwatch_core::object::Uid;
use listwatch_core::queue::Outcome;
use listwatch_core::time::{MicroTime, WallTime};
use listwatch_transport_file::{LateWrite, Note, NoteKind, Position, Positions, Tape};
use std::collections::HashMap;
use std::sync::Arc;

/// A reconcile that is noted. Dropped without an [end](Self::end), it is noted as dropped.
pub(super) struct Noted {
    tape: Tape,
    clock: Clock,
    of: Arc<str>,
    reconcile: u64,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// The reads of each list-and-watch.
    reads: HashMap<Box<str>, Reads>,
    is_over: bool,
}

#[derive(Default)]
struct Reads {
    count: u64,
    /// The changes that the last read saw.
    changes: Option<u64>,
}

/// What a reconcile begins with.
pub(super) struct Beginning<'b> {
    pub(super) number: u64,
    pub(super) key: &'b Key,
    pub(super) attempt: u32,
    pub(super) causes: &'b [(Cause, Duration)],
    pub(super) late: &'b [Write],
}

impl Noted {
    pub(super) fn begin(tape: &Tape, clock: &Clock, of: &Arc<str>, beginning: &Beginning<'_>) -> Arc<Self> {
        let (tape, reconcile, progress) = (tape.clone(), beginning.number, Mutex::default());
        let noted = Self { tape, clock: clock.clone(), of: Arc::clone(of), reconcile, progress };
        let Beginning { key, attempt, causes, late, .. } = beginning;
        noted.note(NoteKind::Began {
            key: key.as_str().to_owned(),
            attempt: *attempt,
            causes: causes.iter().map(|(cause, waited)| cause_text(cause, *waited)).collect(),
            late: late.iter().map(late_write).collect(),
        });
        Arc::new(noted)
    }

    /// The reconcile has ended.
    pub(super) fn end(&self, outcome: String) {
        let is_first = !core::mem::replace(&mut self.progress.lock().is_over, true);
        if is_first {
            self.note(NoteKind::Ended { outcome });
        }
    }

    fn note(&self, kind: NoteKind) {
        let (reconcile, of) = (self.reconcile, self.of.as_ref().to_owned());
        self.tape.note(self.clock.now(), &Note { reconcile, of, kind });
    }
}

impl Witness for Noted {
    fn reconcile(&self) -> u64 {
        self.reconcile
    }

    fn before_read(&self, _stream: &str) {}

    fn on_read(&self, stream: &str, changes: u64, version: Option<&str>) {
        let mut progress = self.progress.lock();
        if !progress.reads.contains_key(stream) {
            progress.reads.insert(stream.into(), Reads::default());
        }
        let Some(reads) = progress.reads.get_mut(stream) else { return };
        reads.count += 1;
        if reads.changes.replace(changes) != Some(changes) {
            let position = Position { changes, version: version.map(str::to_owned), read: reads.count };
            let at = Positions::from([(stream.to_owned(), position)]);
            self.note(NoteKind::Read { at });
        }
    }

    fn on_date(&self, date: WallTime) -> WallTime {
        self.note(NoteKind::Date { date: MicroTime(date) });
        date
    }

    fn on_awake(&self) {
        self.note(NoteKind::Read { at: Positions::new() });
    }
}

/// The reconcile was dropped with the controller's future.
impl Drop for Noted {
    fn drop(&mut self) {
        self.end(DROPPED.to_owned());
    }
}

pub(super) const DROPPED: &str = "dropped";
/// Dropped at its deadline.
pub(super) const OVERDUE: &str = "overdue";

/// How a reconcile ended, as the tape has it. Without a result, its time was over.
pub(super) fn ended_text(ended: &Caught<Option<Reconciled>>) -> String {
    let panicked = |message: &str| format!("panicked: {message}");
    match ended {
        Caught::Done(Some(Ok(outcome))) => outcome_text(*outcome),
        // The error is the program's own.
        Caught::Done(Some(Err(error))) => {
            caught_call(|| format!("failed: {error}")).unwrap_or_else(|message| panicked(&message))
        }
        Caught::Done(None) => OVERDUE.to_owned(),
        Caught::Panicked(message) => panicked(message),
        Caught::Stopped(_) => DROPPED.to_owned(),
    }
}

fn outcome_text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Done => "done".to_owned(),
        Outcome::RequeueAfter(delay) => format!("requeue {delay:?}"),
        Outcome::RetryAfter(delay) => format!("retry {delay:?}"),
        Outcome::Transient(_) => "retry, transient".to_owned(),
        Outcome::Terminal => "terminal".to_owned(),
        _ => "retry".to_owned(),
    }
}

/// A cause, and for how long it waited: `Updated /api/v1/pods/web/a at version 17 after 120ms`.
fn cause_text(cause: &Cause, waited: Duration) -> String {
    format!("{cause} after {waited:?}")
}

fn late_write(write: &Write) -> LateWrite {
    let (source, object) = (write.source.as_ref().to_owned(), write.object.as_str().to_owned());
    match &write.until {
        Awaited::Version(version) => LateWrite { source, object, version: Some(version.to_string()), uid: None },
        Awaited::Gone(uid) => LateWrite { source, object, version: None, uid: uid.as_ref().map(ToString::to_string) },
    }
}

/// The cause that a tape tells: its source is one of `followed`, or has no objects.
pub(super) fn cause_of(text: &str, followed: &Followed) -> Option<(Cause, Duration)> {
    let (text, waited) = text.rsplit_once(" after ")?;
    let (kind, rest) = text.split_once(' ')?;
    let kind = KINDS.into_iter().find(|known| format!("{known:?}") == kind)?;
    let (rest, version) = match rest.rsplit_once(" at version ") {
        Some((rest, version)) => (rest, Some(version.into())),
        None => (rest, None),
    };
    let source = followed.source_of(rest);
    let object = source.as_ref().and_then(|source| rest.strip_prefix(&**source)?.strip_prefix('/').map(Key::from));
    Some((Cause { source: source.unwrap_or_else(|| rest.into()), kind, object, version }, duration(waited)?))
}

const KINDS: [CauseKind; 9] = [
    CauseKind::Initial,
    CauseKind::Added,
    CauseKind::Updated,
    CauseKind::Recreated,
    CauseKind::Deleted,
    CauseKind::Resync,
    CauseKind::Coalesced,
    CauseKind::Period,
    CauseKind::Requested,
];

/// The duration that `Debug` wrote.
fn duration(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| c.is_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let digits = match unit {
        "s" => 9,
        "ms" => 6,
        "µs" => 3,
        "ns" => 0,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let nanos = format!("{whole}{fraction:0<digits$}").parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// The late write that a tape tells.
pub(super) fn write_of(late: &LateWrite) -> Write {
    let until = match &late.version {
        Some(version) => Awaited::Version(version.as_str().into()),
        None => Awaited::Gone(late.uid.as_deref().map(Uid::from)),
    };
    Write { source: late.source.as_str().into(), object: late.object.as_str().into(), until }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::object::Version;

    #[test]
    fn a_cause_reads_back_from_its_text() {
        let followed = Followed::of(["/api/v1/pods", "/api/v1/namespaces/web/pods"].map(Arc::from).into_iter());
        let of = |source: &str, kind, object: Option<&str>, version: Option<&str>| Cause {
            source: source.into(),
            kind,
            object: object.map(Key::from),
            version: version.map(Version::from),
        };
        for (cause, waited) in [
            (of("/api/v1/pods", CauseKind::Updated, Some("web/a"), Some("17")), Duration::from_nanos(1_000_000_001)),
            (of("/api/v1/namespaces/web/pods", CauseKind::Deleted, Some("web/a"), None), Duration::ZERO),
            (of("/api/v1/pods", CauseKind::Coalesced, None, None), Duration::from_micros(12)),
            (of("period", CauseKind::Period, None, None), Duration::from_millis(1500)),
            (of("by hand", CauseKind::Requested, None, None), Duration::from_secs(90)),
        ] {
            assert_eq!(cause_of(&cause_text(&cause, waited), &followed), Some((cause, waited)));
        }
    }
}
