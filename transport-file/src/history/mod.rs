//! A recording as the history of a cluster.

mod change;
mod limits;
mod list;
mod observation;
mod reader;
mod resource;
mod scope;
mod source;
mod state;
mod survey;
#[cfg(test)]
mod tests;
mod watch;

pub use change::{HistoryChange, HistoryStep};
pub use resource::RecordedResource;

use crate::body::Body;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::{FileCursor, FileKind, Source as File, detect};
use core::fmt;
use core::time::Duration;
use limits::check_state;
use list::{ListReader, PageEnd};
use listwatch_core::time::WallTime;
use observation::{Observation, Told, check_version, key_of, version_of};
use resource::Sample;
use scope::{KindScopes, Scope};
use serde_json::Value;
use source::{News, PACE, Source, next_event};
use state::ResourceState;
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use survey::{First, Survey};

/// The most bytes of a line of a capture, and of an event.
const LINE_LIMIT: usize = 64 * 1024 * 1024;

/// A recording as the history of a cluster: its first state, and the changes after it, in the order of the file.
///
/// An iterator of [`HistoryStep`]s. It takes the files that [`Playback`](crate::Playback) takes:
///
/// * Of a **capture**, each list, with all its pages, is a state, and each watch tells of changes. The first state of a
///   resource counts as its state from the beginning. If a later list shows changes that no watch told of, the
///   recording has a gap: [`HistoryChange::Relisted`]. A watch without a list before it begins with no objects.
/// * A **list** is one state, which does not change.
/// * A **watch log** begins with its leading `ADDED` events. The others come a second apart, because it has no times.
///
/// Single objects that a client read or wrote are no part of it: a change counts when a list or a watch shows it. If a
/// resource was recorded as a whole and by its metadata, the metadata is left out. So is a list or watch by selectors
/// or of one namespace, if all objects were watched too.
///
/// ```
/// use listwatch_transport_file::{History, HistoryChange};
///
/// let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/captures/gap.jsonl.gz");
/// let mut history = History::from_file(capture)?;
/// assert_eq!(history.resources().map(|resource| resource.kind.name()).collect::<Vec<_>>(), ["v1/configmaps"]);
///
/// let first = history.next().unwrap();
/// assert!(matches!(first.change, HistoryChange::Relisted { changed, version: 5542, .. } if changed.len() == 21));
/// let gaps = history.filter(|step| matches!(step.change, HistoryChange::Relisted { .. })).count();
/// assert_eq!(gaps, 1);
/// # Ok::<(), listwatch_transport_file::CaptureError>(())
/// ```
///
/// # Memory
///
/// A capture and a watch log are read twice. Until the first step is taken, the first state of each resource is in memory; after that,
/// the keys and versions of all objects, and the lists that are being read. An object of more than 8 MiB is a fault of its
/// line, and so is the line from which lists and first states take more than 4 GiB, or 65,536 requests are open.
pub struct History {
    source: Source,
    states: Vec<ResourceState>,
    ready: VecDeque<HistoryStep>,
    origin: Duration,
    end: Duration,
    started: Option<WallTime>,
    fault: Option<CaptureError>,
}

impl History {
    /// Reads a recording for the first time.
    ///
    /// # Errors
    /// If the file cannot be read, has an unknown kind, or has no list and no watch before its first fault. A later
    /// fault is that of [`error`](Self::error).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path: Arc<Path> = path.as_ref().into();
        let mut cursor = FileCursor::new(Arc::clone(&path), LINE_LIMIT);
        match detect(&mut File::open(&path)?)? {
            FileKind::Capture => Self::of_capture(cursor),
            FileKind::List => Ok(Self::fixed(saved_list(&mut cursor)?, Source::Over)),
            FileKind::WatchLog => Self::of_watch_log(cursor),
        }
    }

    /// The resources of the recording.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<RecordedResource>> {
        self.states.iter().map(|state| &state.resource)
    }

    /// The time of the first state, since the recording began.
    #[must_use]
    pub fn origin(&self) -> Duration {
        self.origin
    }

    /// The time of the last line, since the recording began.
    #[must_use]
    pub fn end(&self) -> Duration {
        self.end
    }

    /// The date at which the recording began, if the file has it.
    #[must_use]
    pub fn started(&self) -> Option<WallTime> {
        self.started
    }

    /// The fault that ends the history before the file. It is known from the beginning, unless the file is changed.
    #[must_use]
    pub fn error(&self) -> Option<&CaptureError> {
        self.fault.as_ref()
    }

    fn of_capture(mut cursor: FileCursor) -> Result<Self, CaptureError> {
        let Survey { reader, firsts, last, fault, .. } = Survey::read(&mut cursor)?;
        if firsts.is_empty() {
            return Err(fault.unwrap_or_else(|| nothing_to_serve(&cursor)));
        }
        let started = reader.started;
        let source = Source::Capture { cursor, reader: reader.into(), line: 1 };
        Ok(Self { end: Duration::from_millis(last), started, fault, ..Self::fixed(firsts, source) })
    }

    /// Reads a watch log twice too, so that its end and its fault are known.
    fn of_watch_log(mut cursor: FileCursor) -> Result<Self, CaptureError> {
        let mut body = Body::watch_log(&mut cursor, false)?;
        let mut scopes = KindScopes::new();
        let (mut objects, mut names, mut events) = (Vec::new(), HashSet::new(), 0);
        let fault = loop {
            match next_event(&mut body, &mut cursor) {
                Ok(None) => break None,
                Err(error) => break Some(error),
                Ok(Some(Told::Set(object))) if events == 0 && names.insert((scopes.of(&object), key_of(&object))) => {
                    objects.push(object);
                }
                Ok(Some(_)) => events += 1,
            }
        };
        if let Some(fault) = fault.as_ref().filter(|_| objects.is_empty() && events == 0) {
            return Err(fault.clone());
        }
        let mut cursor = FileCursor::new(Arc::clone(cursor.path()), LINE_LIMIT);
        let mut body = Body::watch_log(&mut cursor, false)?;
        for _ in &objects {
            next_event(&mut body, &mut cursor)?;
        }
        let firsts = firsts_of(objects, &mut scopes);
        let source = Source::WatchLog { cursor, body: body.into(), at: 0, scopes };
        Ok(Self { end: Duration::from_millis(events * PACE), fault, ..Self::fixed(firsts, source) })
    }

    /// A history that begins with these states.
    fn fixed(firsts: Vec<First>, source: Source) -> Self {
        let origin = Duration::from_millis(firsts.iter().map(|first| first.at).min().unwrap_or(0));
        let mut history = Self {
            source,
            states: Vec::new(),
            ready: VecDeque::new(),
            origin,
            end: origin,
            started: None,
            fault: None,
        };
        for First { scope, objects, version, sample, .. } in firsts {
            let state = history.state(&scope, sample);
            let change = history.states[state].take(&scope, Told::State { objects, version });
            history.ready(origin, state, change);
        }
        history
    }

    /// The place of the state of a resource.
    fn state(&mut self, scope: &Scope, sample: Option<Sample>) -> usize {
        let known = self.states.iter().position(|state| scope.collection.name == state.resource.kind.name());
        known.unwrap_or_else(|| {
            let resource = scope.collection.resource(sample, scope.metadata_only);
            self.states.push(ResourceState::new(Arc::new(resource)));
            self.states.len() - 1
        })
    }

    fn ready(&mut self, at: Duration, state: usize, change: Option<HistoryChange>) {
        let resource = &self.states[state].resource;
        self.ready.extend(change.map(|change| HistoryStep { at, resource: Arc::clone(resource), change }));
    }

    /// Takes what a line told.
    fn take(&mut self, news: News) {
        match news {
            News::Capture { at, told } => {
                for Observation { scope, told } in told {
                    let known =
                        self.states.iter().position(|state| scope.collection.name == state.resource.kind.name());
                    let Some(state) = known else { continue };
                    let change = self.states[state].take(&scope, told);
                    self.ready(self.origin.max(Duration::from_millis(at)), state, change);
                }
            }
            News::Event { at, scope, told } => {
                let (Told::Set(object) | Told::Deleted(object)) = &told else { return };
                let state = self.state(&scope, Sample::of(object));
                let change = self.states[state].take(&scope, told);
                self.ready(Duration::from_millis(at), state, change);
            }
        }
    }
}

impl Iterator for History {
    type Item = HistoryStep;

    fn next(&mut self) -> Option<HistoryStep> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Some(step);
            }
            match self.source.next() {
                Ok(Some(news)) => self.take(news),
                Ok(None) => return None,
                Err(error) => {
                    self.fault.get_or_insert(error);
                    self.source = Source::Over;
                    return None;
                }
            }
        }
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("states", &self.states.len())
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

/// Reads a file that is one list.
fn saved_list(cursor: &mut FileCursor) -> Result<Vec<First>, CaptureError> {
    let (mut body, mut list) = (Body::list(), ListReader::default());
    while let Some(bytes) = body.next(cursor)? {
        let read = list.read(&bytes).and_then(|()| check_state(list.weight()));
        read.map_err(|fault| CaptureError::new(cursor.path(), None, fault))?;
    }
    match list.end() {
        PageEnd::Complete { objects, version } => {
            let newest = objects.iter().map(version_of).fold(version, u64::max);
            check_version(newest).map_err(|fault| CaptureError::new(cursor.path(), None, fault))?;
            let mut firsts = firsts_of(objects, &mut KindScopes::new());
            firsts.iter_mut().for_each(|first| first.version = first.version.max(version));
            Ok(firsts)
        }
        PageEnd::Continued { .. } => Err(unusable(cursor, "this is one page of a list; save it without --limit")),
        PageEnd::Broken => Err(unusable(cursor, "this is no list; save it again")),
    }
}

/// The first states of resources that only their objects name.
fn firsts_of(objects: Vec<Value>, scopes: &mut KindScopes) -> Vec<First> {
    let mut firsts: Vec<First> = Vec::new();
    for object in objects {
        let scope = scopes.of(&object);
        let version = version_of(&object);
        let place = firsts.iter().position(|first| first.scope == scope).unwrap_or_else(|| {
            let sample = Sample::of(&object);
            firsts.push(First { scope, at: 0, objects: Vec::new(), version: 0, sample });
            firsts.len() - 1
        });
        firsts[place].version = firsts[place].version.max(version);
        firsts[place].objects.push(object);
    }
    firsts
}

fn nothing_to_serve(cursor: &FileCursor) -> CaptureError {
    let message = "the capture has neither a whole list nor a watch; record a program that lists or watches";
    CaptureError::new(cursor.path(), None, Fault::new(CaptureErrorKind::NothingToPlay, message))
}

fn unusable(cursor: &FileCursor, message: &str) -> CaptureError {
    CaptureError::new(cursor.path(), None, Fault::new(CaptureErrorKind::Unrecognized, message))
}
