//! Exported Events of Kubernetes, as captures at the times of their occurrences.

use crate::body::{ListBody, WatchEvent, WatchLog, typed_event};
use crate::capture::TapeStart;
use crate::capture::format::{End, RequestRecord};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::{FileCursor, FileKind, LINE_LIMIT, Source, detect};
use crate::kinds::root_of;
use crate::memory::OBJECT_LIMIT;
use crate::object::{TypeMeta, key_of, version_of};
use crate::recording::{CaptureOutput, new_file};
use core::fmt;
use listwatch_core::Key;
use listwatch_core::framing::{Frame, Framer, Framing};
use listwatch_core::text::{Counted, Printable};
use listwatch_core::time::WallTime;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A saved list or log of Events, as `kubectl get events -o json` prints it.
///
/// [`write_capture`](Self::write_capture) converts it to a capture, in which each state of an Event comes at the time of its
/// last occurrence. In the file itself they have no order in time.
///
/// ```
/// use listwatch_transport_file::{ExportedEvents, History};
///
/// # let folder = std::env::temp_dir().join(format!("listwatch-exported-example-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let (saved, capture) = (folder.join("events.json"), folder.join("events.jsonl"));
/// std::fs::write(&saved, r#"{"kind":"List","apiVersion":"v1","items":[{"kind":"Event","apiVersion":"v1","count":3,
///     "lastTimestamp":"2026-11-22T02:00:00Z","metadata":{"name":"a.1","namespace":"web","resourceVersion":"10"}}]}"#)?;
/// let events = ExportedEvents::open(&saved)?.expect("Events");
/// let summary = events.write_capture(&capture)?.expect("Events alone");
/// assert_eq!((summary.events, summary.occurrences), (1, 3));
/// assert_eq!(History::from_file(&capture)?.began(), summary.first);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # The capture
///
/// The time of a state is its `series.lastObservedTime` or `lastTimestamp`, else its `eventTime`, `firstTimestamp` or
/// `creationTimestamp`. A state without any has that of the one before it. Clocks differ, so a version may come behind a
/// later one. It then gets the next version, because watches go forward.
///
/// A server deletes Events after an hour. So deletions are counted, and no part of the capture.
///
/// # Memory
///
/// The key and the place of each state, about 200 bytes. The states themselves go through a file beside the capture, which
/// is gone at the end. A list in a log is in memory as a whole.
pub struct ExportedEvents {
    path: Arc<Path>,
    kind: FileKind,
}

/// What a file of exported Events has.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExportSummary {
    /// The date of the first occurrence that is told.
    pub first: Option<WallTime>,
    /// The date of the last one.
    pub last: Option<WallTime>,
    /// How many Events there are.
    pub events: u64,
    /// How many of them are of the type `Warning`.
    pub warnings: u64,
    /// How many times the Events occurred, as far as they count it.
    pub occurrences: u64,
    /// How many deletions are left out.
    pub deletions: u64,
    /// How many states have no date.
    pub undated: u64,
    /// How many states have the version behind another one, because of clocks that differ.
    pub reordered: u64,
    /// How many lines, or values without a name, cannot be read.
    pub unreadable: u64,
    /// Why the file was not read to its end.
    pub fault: Option<CaptureError>,
}

/// The states in the order of the file, and where each of them is kept.
struct Collected {
    kept: Kept,
    places: Vec<Place>,
    known: HashMap<(Key, Arc<str>), Counts>,
    versions: Vec<Arc<str>>,
    date: Option<WallTime>,
    summary: ExportSummary,
}

/// Where a state is kept. They are written in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    date: Option<WallTime>,
    version: u64,
    at: u64,
    length: usize,
}

/// The last state of an Event.
#[derive(Default)]
struct Counts {
    version: u64,
    occurrences: u64,
    is_warning: bool,
}

/// A file for states, which goes with this.
struct Kept {
    path: PathBuf,
    out: BufWriter<File>,
    length: u64,
}

/// The resource of the Events of an API version, while it is written.
struct Stream {
    watch: u64,
    version: u64,
    shown: HashSet<Key>,
}

/// The kinds of watch events that tell of an object.
const CHANGES: [&str; 2] = ["ADDED", "MODIFIED"];

impl ExportedEvents {
    /// Opens a file; `None` if its first object is no Event.
    ///
    /// # Errors
    /// The file cannot be read, or it is no recording.
    pub fn open(path: impl AsRef<Path>) -> Result<Option<Self>, CaptureError> {
        let path: Arc<Path> = path.as_ref().into();
        let kind = detect(&mut Source::open(&path)?)?;
        let mut is_event = false;
        let export = Self { path, kind };
        let mut look = |event: &WatchEvent<'_>| {
            is_event = is_event_of(&TypeMeta::in_text(event.object)).is_some();
            event.r#type == "BOOKMARK"
        };
        if kind != FileKind::Capture {
            // The reader of the file tells its fault.
            let _fault = export.read(&mut look);
        }
        Ok(is_event.then_some(export))
    }

    /// Writes the capture into a new file; `None` if the file has other objects too. The end of its name decides on the
    /// compression: `.gz`, `.zst` or none. Only its owner may read it.
    ///
    /// # Errors
    /// The capture cannot be written.
    pub fn write_capture(&self, path: impl AsRef<Path>) -> Result<Option<ExportSummary>, CaptureError> {
        let path = path.as_ref();
        let failed = |fault| CaptureError::new(path, None, fault);
        let (mut collected, mut taken) = (Collected::new(path).map_err(of_io).map_err(failed)?, Ok(true));
        let read = self.read(&mut |event| {
            taken = collected.take(event);
            matches!(taken, Ok(true))
        });
        if !taken.map_err(of_io).map_err(failed)? {
            return Ok(None);
        }
        match read {
            Ok(bad_lines) => collected.summary.unreadable += bad_lines,
            Err(fault) => collected.summary.fault = Some(fault),
        }
        collected.write(path).map(Some).map_err(failed)
    }

    /// Reads the events of watches that a file has or stands for, until `take` has enough. Returns how many lines are bad.
    fn read(&self, take: &mut dyn FnMut(&WatchEvent<'_>) -> bool) -> Result<u64, CaptureError> {
        let mut cursor = FileCursor::new(Arc::clone(&self.path), LINE_LIMIT);
        let mut take = |event: Option<WatchEvent<'_>>| event.is_none_or(|event| take(&event));
        if self.kind == FileKind::WatchLog {
            let mut log = WatchLog::new(&mut cursor, true)?;
            while let Some(event) = log.next_event(&mut cursor)?
                && take(WatchEvent::checked(&event))
            {}
            return Ok(cursor.bad_lines());
        }
        let (mut framer, mut body) = (Framer::new(Framing::List, OBJECT_LIMIT), ListBody::default());
        let (mut buffer, mut list) = (Vec::new(), TypeMeta::default());
        while let Some(bytes) = body.next(&mut cursor)? {
            buffer.extend_from_slice(&bytes);
            while let Some(frame) = framer.next_frame(&buffer) {
                match frame {
                    Frame::Item(item) => {
                        let event = typed_event(str::from_utf8(item).unwrap_or_default(), Some(&list));
                        if !take(WatchEvent::parse(&event)) {
                            return Ok(0);
                        }
                    }
                    Frame::Field { name, value } => list.take_of_list(name, value),
                    _ => {}
                }
            }
            buffer.drain(..framer.reclaim());
        }
        Ok(0)
    }
}

listwatch_core::summary!("ExportedEvents" for ExportedEvents, |it| { path: it.path });

impl Collected {
    fn new(path: &Path) -> io::Result<Self> {
        let (places, known, versions, summary) = Default::default();
        Ok(Self { kept: Kept::beside(path)?, places, known, versions, date: None, summary })
    }

    /// Takes an event of a watch; `false` if it is of another object.
    fn take(&mut self, event: &WatchEvent<'_>) -> io::Result<bool> {
        let is_deletion = event.r#type == "DELETED";
        if !is_deletion && !CHANGES.contains(&&*event.r#type) {
            return Ok(true);
        }
        let Some(api_version) = is_event_of(&TypeMeta::in_text(event.object)) else { return Ok(false) };
        let Ok(object) = serde_json::from_str::<Value>(event.object) else {
            self.summary.unreadable += 1;
            return Ok(true);
        };
        let Some(key) = key_of(&object) else {
            self.summary.unreadable += 1;
            return Ok(true);
        };
        self.summary.deletions += u64::from(is_deletion);
        let version = version_of(&object);
        let known = self.known.get(&(key.clone(), Arc::clone(&api_version)));
        // A list or a watch may tell again what is known, and a deletion tells the last state.
        if known.is_some_and(|known| is_deletion || version > 0 && known.version >= version) {
            return Ok(true);
        }
        self.note(&object, (key, api_version), version);
        let date = time_of(&object);
        self.summary.undated += u64::from(date.is_none());
        self.date = date.or(self.date);
        let (at, length) = self.kept.add(event.object)?;
        self.places.push(Place { date: self.date, version, at, length });
        Ok(true)
    }

    fn note(&mut self, object: &Value, name: (Key, Arc<str>), version: u64) {
        let count = [&object["series"]["count"], &object["count"], &object["deprecatedCount"]];
        let occurrences = count.into_iter().find_map(Value::as_u64).unwrap_or(1);
        let counts = Counts { version, occurrences, is_warning: object["type"] == "Warning" };
        if !self.versions.contains(&name.1) {
            self.versions.push(Arc::clone(&name.1));
        }
        self.known.insert(name, counts);
    }

    /// Writes the states in the order of their dates.
    fn write(mut self, path: &Path) -> Result<ExportSummary, Fault> {
        self.places.sort_unstable();
        let mut dates = self.places.iter().filter_map(|place| place.date);
        let summary = &mut self.summary;
        (summary.first, summary.last) = (dates.clone().next(), dates.next_back());
        summary.events = self.known.len() as u64;
        summary.warnings = self.known.values().filter(|it| it.is_warning).count() as u64;
        summary.occurrences = self.known.values().map(|it| it.occurrences).sum();
        let mut out = CaptureOutput::create(path, TapeStart { started: summary.first, ..TapeStart::default() })
            .map_err(|error| Fault::new(error.kind(), error.message()))?;
        let first = self.places.iter().map(|place| place.version).filter(|version| *version > 0).min();
        let mut streams = BTreeMap::new();
        for api_version in &self.versions {
            let stream = Stream::open(&mut out, api_version, first.map_or(1, |first| first.max(2) - 1))?;
            streams.insert(Arc::clone(api_version), stream);
        }
        let mut texts = self.kept.texts().map_err(of_io)?;
        for place in &self.places {
            let text = texts.read(*place).map_err(of_io)?;
            let Some(stream) = is_event_of(&TypeMeta::in_text(&text)).and_then(|name| streams.get_mut(&name)) else {
                continue;
            };
            out.pass_to(place.date)?;
            self.summary.reordered += u64::from(stream.tell(&mut out, &text)?);
        }
        streams.values().try_for_each(|stream| out.end(stream.watch, End::by_client()))?;
        out.finish()?;
        Ok(self.summary)
    }
}

impl Stream {
    /// Writes an empty list, and the head of a watch.
    fn open(out: &mut CaptureOutput, api_version: &str, version: u64) -> Result<Self, Fault> {
        let path = format!("{}/{api_version}/events", root_of(api_version));
        let metadata = json!({ "resourceVersion": version.to_string() });
        let list = json!({ "kind": "EventList", "apiVersion": api_version, "metadata": metadata, "items": [] });
        let id = out.request(RequestRecord::new("GET", path.clone()))?;
        out.answer(id, 200, Some(&list.to_string()))?;
        out.end(id, End::new("eof"))?;
        let watch = out.request(RequestRecord::new("GET", format!("{path}?watch=1&resourceVersion={version}")))?;
        out.answer(watch, 200, None)?;
        Ok(Self { watch, version, shown: HashSet::new() })
    }

    /// Writes a state. Returns whether it has the version behind the one before it, because its own is not later.
    fn tell(&mut self, out: &mut CaptureOutput, text: &str) -> Result<bool, Fault> {
        let mut object: Value = serde_json::from_str(text).unwrap_or_default();
        let Some(key) = key_of(&object) else { return Ok(false) };
        let own = version_of(&object);
        let is_late = own <= self.version;
        self.version = if is_late { self.version + 1 } else { own };
        let kind = if self.shown.insert(key) { "ADDED" } else { "MODIFIED" };
        if is_late {
            object["metadata"]["resourceVersion"] = self.version.to_string().into();
        }
        // An event is a line.
        let text = if is_late || text.contains('\n') { object.to_string() } else { text.to_owned() };
        out.data(self.watch, &format!("{{\"type\":\"{kind}\",\"object\":{text}}}\n"))?;
        Ok(is_late && own > 0)
    }
}

impl Kept {
    fn beside(path: &Path) -> io::Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".states");
        let path = PathBuf::from(name);
        let out = BufWriter::new(new_file(&path)?);
        Ok(Self { path, out, length: 0 })
    }

    /// Adds a text, and returns where it begins and how long it is.
    fn add(&mut self, text: &str) -> io::Result<(u64, usize)> {
        let at = self.length;
        self.out.write_all(text.as_bytes())?;
        self.length += text.len() as u64;
        Ok((at, text.len()))
    }

    fn texts(&mut self) -> io::Result<Texts<'_>> {
        self.out.flush()?;
        Ok(Texts { file: BufReader::new(self.out.get_mut()), at: self.length })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _may_be_gone = std::fs::remove_file(&self.path);
    }
}

/// The texts of a file, which are read at their places.
struct Texts<'f> {
    file: BufReader<&'f mut File>,
    /// Where the file is read next.
    at: u64,
}

impl Texts<'_> {
    fn read(&mut self, Place { at, length, .. }: Place) -> io::Result<String> {
        if self.at != at {
            self.file.seek(SeekFrom::Start(at))?;
        }
        let mut text = vec![0; length];
        self.file.read_exact(&mut text)?;
        self.at = at + length as u64;
        String::from_utf8(text).map_err(io::Error::other)
    }
}

fn of_io(error: io::Error) -> Fault {
    Fault::new(CaptureErrorKind::Io, error.to_string())
}

/// The API version of an object that is an Event.
fn is_event_of(TypeMeta { api_version, kind }: &TypeMeta<'_>) -> Option<Arc<str>> {
    let is_event = kind == "Event" && (api_version == "v1" || api_version.starts_with("events.k8s.io/"));
    is_event.then(|| (&**api_version).into())
}

/// The time of the last occurrence of an Event.
fn time_of(event: &Value) -> Option<WallTime> {
    let date = |value: &Value| value.as_str().and_then(|text| text.parse::<WallTime>().ok());
    let of = |names: &[&str]| names.iter().filter_map(|name| date(&event[*name])).max();
    let last = date(&event["series"]["lastObservedTime"]).max(of(&["lastTimestamp", "deprecatedLastTimestamp"]));
    let first = || of(&["eventTime"]).or_else(|| of(&["firstTimestamp", "deprecatedFirstTimestamp"]));
    last.or_else(first).or_else(|| date(&event["metadata"]["creationTimestamp"]))
}

/// A line such as `412 Events (31 warnings) that occurred 3005 times, from 2026-11-22T02:00:00Z to 2026-11-22T02:10:00Z`.
impl fmt::Display for ExportSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (warnings, times) =
            (Counted(self.warnings, "warning", "warnings"), Counted(self.occurrences, "time", "times"));
        write!(f, "{} ({warnings}) that occurred {times}", Counted(self.events, "Event", "Events"))?;
        if let (Some(first), Some(last)) = (self.first, self.last) {
            write!(f, ", from {first} to {last}")?;
        }
        let counts = [
            ("left out: deletions, which a server makes after an hour", self.deletions),
            ("without a date", self.undated),
            ("with the version behind another one, because of clocks that differ", self.reordered),
            ("left out: what cannot be read", self.unreadable),
        ];
        let mut told = counts.into_iter().filter(|(_, count)| *count > 0);
        told.try_for_each(|(what, count)| write!(f, "; {what}: {count}"))?;
        self.fault.as_ref().map_or(Ok(()), |fault| write!(f, "; {}", Printable::new(fault)))
    }
}
