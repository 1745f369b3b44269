//! A log, file by file, and what each of its events becomes.

use super::event::Event;
use super::records::{Entry, Records};
use super::states::States;
use super::summary::AuditSummary;
use crate::capture::format::{End, RequestBody, RequestRecord, Text};
use crate::capture::{TapeStart, Target};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::Source;
use crate::recording::CaptureOutput;
use core::time::Duration;
use listwatch_core::time::WallTime;
use memchr::memmem;
use serde_json::value::RawValue;
use std::collections::{HashSet, VecDeque};
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

/// An audit log of API servers, in one file or several.
///
/// [`write_capture`](Self::write_capture) converts it to a capture, which [`Playback`](crate::Playback) and
/// [`History`](crate::History) take.
///
/// ```
/// use listwatch_transport_file::{AuditLog, History, HistoryChange};
///
/// # let folder = std::env::temp_dir().join(format!("listwatch-audit-example-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let (log, capture) = (folder.join("audit.log"), folder.join("audit.jsonl.zst"));
/// std::fs::write(&log, r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"1",
///     "stage":"ResponseComplete","requestURI":"/api/v1/namespaces/web/configmaps","verb":"create",
///     "user":{"username":"jane"},"stageTimestamp":"2026-11-22T02:00:00Z","responseStatus":{"code":201},
///     "responseObject":{"kind":"ConfigMap","apiVersion":"v1",
///         "metadata":{"name":"a","namespace":"web","resourceVersion":"10"}}}"#.replace('\n', ""))?;
/// let summary = AuditLog::open([&log])?.write_capture(&capture)?;
/// assert_eq!((summary.writes, summary.users), (1, 1));
///
/// let mut history = History::from_file(&capture)?;
/// assert!(matches!(history.last().unwrap().change, HistoryChange::Added(_)));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Shapes
///
/// The events are of `audit.k8s.io`. Each stands in a line, or in an `EventList`. Files are plain, in UTF-16, or compressed
/// by gzip or Zstandard. These exports are read too, in any layout:
///
/// * of CloudWatch: `{"timestamp":…,"message":"…"}`, `{"events":[…]}`, `{"logEvents":[…]}`, and a date before the event
/// * of Cloud Logging: entries whose `protoPayload` is of the service `k8s.io`, by themselves or in an array
/// * of Azure, and of collectors that put the event into `log`, `message` or `properties`
///
/// # The capture
///
/// Each write is an exchange, with its user, its addresses and the bodies that the log has. Reads are exchanges if they
/// failed; others are counted.
///
/// Each resource of which an answer shows an object has a list and a watch. The watch tells each state at the time of the first
/// answer that shows it, and the states of one object in the order of their versions. A state from before the first write is
/// in the list. Failures and dry runs change nothing.
///
/// An object is deleted by a deletion that answers it or a `Status`, or by a change that removes its last finalizer. While a
/// finalizer or a grace period is left, it stays. If the answer has no body, its last state decides, as it does for an
/// eviction. The objects of a custom resource go with its definition. A deletion whose version no answer shows gets the one
/// behind the last version of its object.
///
/// The log of a server lacks what no request says:
///
/// * changes that a server makes by itself: an expired Event, the last grace period of a Pod, what a `scale` changes
/// * states that clients asked for as a `Table` or as metadata alone
/// * an object that another version of its API changed, where clients use several
///
/// # Memory
///
/// The log is read twice, one event of each file at a time. A line has 64 MiB at the most, and a value in the layout of a
/// tool 1 GiB. The keys and the last states of all objects are in memory: from 1 GiB on without the states. If they take more
/// than 2 GiB, that is a fault of the line.
pub struct AuditLog {
    /// The files, with their first dates.
    files: Vec<(Option<WallTime>, Arc<Path>)>,
}

listwatch_core::summary!("AuditLog" for AuditLog, |it| { files: it.files });

/// A reading of a log. The first one writes nothing, and finds what the second one has to know.
#[derive(Default)]
struct Conversion {
    states: States,
    summary: AuditSummary,
    users: HashSet<String>,
    /// The writes of which the log has no end: up to here, and in the second reading all of them.
    open: HashSet<u64>,
    /// The marks of the last events, of which files that overlap have some twice.
    recent: VecDeque<u64>,
}

/// Texts of which one is near the beginning of a log.
const MARKS: [&[u8]; 2] = [b"audit.k8s.io/", b"google.cloud.audit.AuditLog"];
/// How many bytes of a file show what it is, although none of its lines can be read.
const BEGINNING: usize = 256;
/// The most users that are told apart, and the most writes that wait for their ends.
const MOST_NAMES: usize = 1 << 16;
/// The events among which one is looked for a second time.
const RECENT: usize = 1024;
/// The events by which a file shows the order of its dates.
const SAMPLE: usize = 64;
/// How far events lie behind others as servers write them.
const DISORDER: Duration = Duration::from_secs(60);

impl AuditLog {
    /// Opens the files of a log, which may be rotated ones or those of several servers. They are read by the dates of their
    /// events.
    ///
    /// # Errors
    /// A file cannot be read, or has no event of an audit log: of kind [`Unrecognized`](CaptureErrorKind::Unrecognized), if it
    /// is something else.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, CaptureError> {
        let files: Result<Vec<_>, _> = paths.into_iter().map(|path| first_date(path.as_ref().into())).collect();
        let mut files = files?;
        files.sort();
        Ok(Self { files })
    }

    /// Writes the capture into a new file. The end of its name decides on the compression: `.gz`, `.zst` or none. Only its
    /// owner may read it.
    ///
    /// # Errors
    /// A file cannot be read on, the capture cannot be written, or the log takes too much memory. Lines that cannot be read
    /// are left out, and counted.
    pub fn write_capture(&self, path: impl AsRef<Path>) -> Result<AuditSummary, CaptureError> {
        let (path, mut survey) = (path.as_ref(), Conversion::default());
        self.read(&mut survey)?;
        let out = CaptureOutput::create(
            path,
            TapeStart { started: survey.summary.first, audit: true, ..TapeStart::default() },
        )?;
        let states = survey.states.again(out);
        let states = states.map_err(|fault| CaptureError::new(path, None, fault))?;
        let mut conversion = Conversion { states, open: survey.open, ..Conversion::default() };
        self.read(&mut conversion)?;
        conversion.finish().map_err(|fault| CaptureError::new(path, None, fault))
    }

    /// Reads all files. Those of the same time are read together.
    fn read(&self, conversion: &mut Conversion) -> Result<(), CaptureError> {
        let (mut waiting, mut open) = (self.files.iter().peekable(), Vec::<(Event, Records)>::new());
        loop {
            let first = (0..open.len()).min_by_key(|place| open[*place].0.at);
            let date = first.map(|place| open[place].0.at);
            let mut records = match (waiting.next_if(|(begun, _)| date.is_none_or(|date| *begun <= date)), first) {
                (Some((_, path)), _) => Records::new(path),
                (None, None) => return Ok(()),
                (None, Some(place)) => {
                    let (event, records) = open.swap_remove(place);
                    conversion.event(&event).map_err(|fault| records.error(fault))?;
                    records
                }
            };
            if let Some(event) = conversion.next_of(&mut records)? {
                open.push((event, records));
            }
        }
    }
}

/// The date of the first event of a file.
fn first_date(path: Arc<Path>) -> Result<(Option<WallTime>, Arc<Path>), CaptureError> {
    let mut source = Source::open(&path)?;
    let has_mark = |text: &[u8]| MARKS.iter().any(|mark| memmem::find(text, mark).is_some());
    let head = source.fill_buf().map(|head| (has_mark(head), has_mark(&head[..head.len().min(BEGINNING)])));
    let (is_likely, is_begun) = head.map_err(|error| source.error(None, &error))?;
    let (mut records, mut dates, mut unreadable) = (Records::new(&path), Vec::new(), None);
    while is_likely && dates.len() < SAMPLE {
        match records.next() {
            Ok(Some(Entry::Event(event))) => dates.push(event.at),
            Ok(Some(Entry::Bad(error))) if is_begun => _ = unreadable.get_or_insert(error),
            Ok(Some(_)) => {}
            // The readings tell a fault behind the first event.
            Err(error) if dates.is_empty() => return Err(error),
            Ok(None) | Err(_) => break,
        }
    }
    if let Some(error) = unreadable.filter(|_| dates.is_empty()) {
        return Err(error);
    }
    let (kind, message) = match dates[..] {
        [] => (CaptureErrorKind::Unrecognized, "this is no audit log: no event of `audit.k8s.io` is in it"),
        [first, _, .., last] if dates.is_sorted_by(|one, next| one >= next) && first.zip(last).is_some_and(is_long) => {
            (CaptureErrorKind::Order, "the newest event of this audit log comes first; reverse its lines, as by `tac`")
        }
        [first, ..] => return Ok((first, path)),
    };
    Err(CaptureError::new(&path, None, Fault::new(kind, message)))
}

/// Whether the first of some events is more than a second behind the last one.
fn is_long((first, last): (WallTime, WallTime)) -> bool {
    first.saturating_since(last) > Duration::from_secs(1)
}

impl Conversion {
    /// The next event of a file; `None` at its end.
    fn next_of(&mut self, records: &mut Records) -> Result<Option<Event>, CaptureError> {
        while let Some(entry) = records.next()? {
            match entry {
                Entry::Event(event) => return Ok(Some(event)),
                Entry::Other => self.summary.count("left out: values of other kinds", 1),
                Entry::Bad(error) => {
                    self.summary.count("left out: lines that cannot be read", 1);
                    self.summary.unreadable.get_or_insert(error);
                }
            }
        }
        Ok(None)
    }

    fn event(&mut self, event: &Event) -> Result<(), Fault> {
        let (dates, summary) = ([event.received, event.at].into_iter().flatten(), &mut self.summary);
        if event.at.zip(summary.last).is_some_and(|(at, last)| last.saturating_since(at) > DISORDER) {
            summary
                .count("told too late: events a minute and more behind newer ones; sort the lines by their dates", 1);
        }
        summary.first = dates.clone().chain(summary.first).min();
        summary.last = dates.chain(summary.last).max();
        summary.events += 1;
        let target = Target::parse(&event.path);
        let is_read = is_read(event, target.as_ref());
        let is_survey = !self.states.out.is_written();
        if !event.has_ended {
            let is_open =
                if is_survey { self.open.len() < MOST_NAMES } else { self.open.remove(&event.request_mark()) };
            return match is_read || !is_open {
                true => Ok(()),
                false if is_survey => {
                    self.open.insert(event.request_mark());
                    Ok(())
                }
                false => {
                    self.count(event, false, false);
                    self.exchange(event)
                }
            };
        }
        if is_survey {
            self.open.remove(&event.request_mark());
        }
        if self.is_known(event) {
            self.summary.count("left out: events that are there twice", 1);
            return Ok(());
        }
        let (has_failed, is_dry_run) = (event.status >= 400, event.is_dry_run());
        if !is_read || has_failed {
            self.exchange(event)?;
        }
        self.count(event, is_read, is_dry_run);
        self.states.out.pass_to(event.at)?;
        let tells = !is_read || matches!(&*event.verb, "get" | "list");
        match target.filter(|_| tells && !has_failed && !is_dry_run) {
            Some(target) => self.states.tell(event, &target),
            None => Ok(()),
        }
    }

    /// Whether an event was there already.
    fn is_known(&mut self, event: &Event) -> bool {
        let mark = event.mark();
        if self.recent.contains(&mark) {
            return true;
        }
        self.recent.push_back(mark);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        false
    }

    /// Writes a request and, if the log has it, its answer.
    fn exchange(&mut self, event: &Event) -> Result<(), Fault> {
        let text = |text: &str| Some(Text(text.to_owned().into())).filter(|Text(text)| !text.is_empty());
        let method = match &*event.verb {
            "create" => "POST".to_owned(),
            "update" => "PUT".to_owned(),
            "deletecollection" => "DELETE".to_owned(),
            "list" | "watch" => "GET".to_owned(),
            other => other.to_ascii_uppercase(),
        };
        let out = &mut self.states.out;
        let mut request = RequestRecord::new(&method, event.path.clone());
        request.headers.extend(text(&event.agent).map(|agent| ("user-agent".into(), agent)));
        request.body = event.request.as_deref().map(RequestBody::of_json);
        (request.user, request.from) = (text(&event.user), text(&event.from));
        let id = out.received(request, event.received)?;
        if !event.has_ended {
            return out.end(id, End::new("the log has no answer"));
        }
        out.pass_to(event.at)?;
        out.answer(id, event.status, event.response.as_deref().map(RawValue::get))?;
        out.end(id, End::new("eof"))
    }

    fn count(&mut self, event: &Event, is_read: bool, is_dry_run: bool) {
        let summary = &mut self.summary;
        if is_read {
            summary.reads += 1;
            return;
        }
        summary.writes += 1;
        if self.users.len() < MOST_NAMES && self.users.insert(event.user.clone()) {
            summary.users += 1;
        }
        match event.status {
            _ if !event.has_ended => summary.count("no answer", 1),
            400.. => summary.count("failed", 1),
            _ if is_dry_run => summary.count("dry run", 1),
            _ if event.response.is_none() => summary.count(&format!("no body: {}", event.bare), 1),
            _ => {}
        }
    }

    fn finish(mut self) -> Result<AuditSummary, Fault> {
        self.states.finish()?;
        self.summary.count("left out: deletions of objects that the log does not show", self.states.unseen);
        self.summary.count("left out: states that came too late for their places", self.states.late);
        self.summary.count("left out: answers without a whole object", self.states.partial);
        Ok(self.summary)
    }
}

/// Whether a request changes nothing: it reads or, as reviews of access do, asks. A shell in a container is no read.
fn is_read(event: &Event, target: Option<&Target>) -> bool {
    let asks = |target: &Target| {
        let name = &target.collection.name;
        name.starts_with("authentication.k8s.io/") || name.starts_with("authorization.k8s.io/")
    };
    let enters = |target: &Target| matches!(target.subresource.as_deref(), Some("attach" | "exec" | "portforward"));
    match &*event.verb {
        "get" => !target.is_some_and(enters),
        "list" | "watch" | "head" | "options" => true,
        _ => target.is_some_and(asks),
    }
}
