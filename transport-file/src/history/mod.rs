//! A recording as the history of a cluster.

mod bodies;
mod change;
mod clients;
mod scope;
mod skipped;
mod source;
mod state;
mod survey;
#[cfg(test)]
mod tests;

pub use crate::object::Unreadable;
pub(crate) use bodies::{BodyReader, PageEnd};
pub use change::{Change, HistoryChange, HistoryStep};
pub(crate) use change::{Observation, Told};
pub(crate) use clients::Clients;
pub use scope::RecordedResource;
pub(crate) use scope::Scope;
pub(crate) use state::ResourceState;

use crate::body::{BodySurvey, Dates, ListBody, WatchLog, written_at};
use crate::capture::{Collection, Reader};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::{FileCursor, FileKind, LINE_LIMIT, Source as File, detect};
use crate::memory::{MOST_STATE, Memory, weight_of_key};
use crate::object::{ObjectText, check_version};
use core::time::Duration;
use listwatch_core::Resource;
use listwatch_core::time::WallTime;
use scope::{KindScopes, Sample};
use skipped::Skipped;
use source::{Log, News, Source, next_event};
use state::Left;
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use survey::{First, Survey};

/// A recording as the history of a cluster: its first state, and the changes after it, in the order of the file.
///
/// An iterator of [`HistoryStep`]s. It takes the files that [`Playback`](crate::Playback) takes:
///
/// * Of a **capture**, each list, with all its pages, is a state, and each watch tells of changes. The first state of a
///   resource counts as its state from the beginning. If a later list shows changes that no watch told of, the
///   recording has a gap: [`HistoryChange::Relisted`]. A watch without a list before it begins with no objects.
/// * A **list** is one state, which does not change.
/// * A **log** of watches, lists or objects begins with its first list, or with its leading events of different objects. The
///   others come a second apart, because it has no times, and a list comes at the newest date in it. What lists objects
///   anew is a gap: another list, or `ADDED` events of objects that are there.
///
/// Single objects that a client read or wrote are no part of it: a change counts when a list or a watch shows it. If a
/// resource was recorded as a whole and by its metadata, the metadata is left out, unless it alone was watched. So is a
/// list or watch by selectors or of one namespace, if all objects were watched too.
///
/// ```
/// use listwatch_transport_file::{History, HistoryChange};
///
/// let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/captures/gap.jsonl.gz");
/// let mut history = History::from_file(capture)?;
/// assert_eq!(history.resources().map(|resource| &*resource.collection).collect::<Vec<_>>(), ["v1/configmaps"]);
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
/// A capture and a watch log are read twice. Until the first step is taken, the first state of each resource is in
/// memory; after that, the keys and versions of all objects, and the lists that are being read. An object of more than
/// 8 MiB is a fault of its line, and so is the line from which all of that takes more than 4 GiB, or 65,536 requests
/// are open. So is the line from which the objects that are there take more than 4 GiB, because callers keep them.
pub struct History {
    path: Arc<Path>,
    source: Source,
    memory: Memory,
    /// That of the objects that are there.
    kept: Memory,
    states: Vec<ResourceState>,
    /// The places of the states, by the names of their collections.
    places: HashMap<String, usize>,
    pending: VecDeque<Pending>,
    origin: Duration,
    end: Duration,
    started: Option<WallTime>,
    /// When it began, as the dates in its objects tell.
    seen: Option<WallTime>,
    /// How many events of several watches are there twice.
    told_twice: u64,
    fault: Option<CaptureError>,
    unreadable: Option<Unreadable>,
    cut: Option<CaptureError>,
}

/// A change of the resource at that place.
struct Pending {
    at: Duration,
    state: usize,
    change: Change,
}

impl History {
    /// Reads a recording for the first time.
    ///
    /// # Errors
    /// If the file cannot be read, has an unknown kind, or has no list and no watch before its first fault. A later
    /// fault is that of [`error`](Self::error).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        Self::within(path.as_ref(), None, MOST_STATE)
    }

    /// Reads a recording for the first time, in which objects of a log or a list that do not say their resource are of this
    /// one, such as metadata alone.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file).
    pub fn of_resource(path: impl AsRef<Path>, resource: &Resource) -> Result<Self, CaptureError> {
        Self::within(path.as_ref(), Collection::parse(resource.path()).as_ref(), MOST_STATE)
    }

    /// Reads a recording for the first time, in this memory at the most.
    fn within(path: &Path, unnamed: Option<&Collection>, most: u64) -> Result<Self, CaptureError> {
        let (path, memory): (Arc<Path>, _) = (path.into(), Memory::at_most(most));
        let mut cursor = FileCursor::new(Arc::clone(&path), LINE_LIMIT);
        let read = match detect(&mut File::open(&path)?)? {
            FileKind::Capture => Self::of_capture(path, &memory),
            FileKind::List => Self::of_list(cursor, unnamed, &memory),
            FileKind::WatchLog => {
                let survey = BodySurvey::read(FileKind::WatchLog, &mut cursor, false);
                Self::of_log(&path, survey, unnamed, &memory)
            }
        };
        let history = read.map_err(CaptureError::without_skipping)?;
        let fault = history.fault.clone().map(CaptureError::without_skipping);
        Ok(Self { fault, ..history })
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

    /// The date at which the recording began: that of the file, or the newest one in the first states. Without one, it ended
    /// when the file was written. `None` if that is unknown too.
    #[must_use]
    pub fn began(&self) -> Option<WallTime> {
        self.started
            .or_else(|| self.seen.map(|seen| seen - self.origin))
            .or_else(|| written_at(&self.path).map(|written| written - self.end))
    }

    /// The fault that ends the history before the file. That of a capture is known from the beginning, except in parts that
    /// the first reading passes over: the bodies behind the first state of each resource. So is that of a watch log.
    #[must_use]
    pub fn error(&self) -> Option<&CaptureError> {
        self.fault.as_ref()
    }

    /// How many events of a log are there twice, because several watches wrote to it at once. They count once, and what was
    /// deleted between two watches is not known.
    #[must_use]
    pub fn told_twice(&self) -> u64 {
        self.told_twice
    }

    /// The states that were left out up to here. The object keeps its last readable state, or is absent if the state was
    /// [skipped](Self::skip_to) to.
    #[must_use]
    pub fn unreadable(&self) -> Option<&Unreadable> {
        self.unreadable.as_ref()
    }

    /// Where the compressed data of a capture breaks off behind a whole line, because the recorder was killed or the copy
    /// was cut. The history has everything before, so this is no [`error`](Self::error). Plain text does not tell.
    #[must_use]
    pub fn cut(&self) -> Option<&CaptureError> {
        self.cut.as_ref()
    }

    /// Skips to a time, since the recording began: the changes up to it come as one step for each resource, which is a
    /// [`Relisted`](HistoryChange::Relisted) with the last state of each object that changed.
    ///
    /// Only these last states are decoded. What was [origin](Self::origin) comes as steps of its own, unless it was taken
    /// before.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_transport_file::{History, HistoryChange};
    ///
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/captures");
    /// let mut history = History::from_file(format!("{folder}/pods-rollout.jsonl.gz"))?;
    /// let steps = history.skip_to(Duration::from_secs(10));
    /// assert!(steps.iter().all(|step| step.at <= Duration::from_secs(10)));
    /// assert!(matches!(steps.last().unwrap().change, HistoryChange::Relisted { .. }));
    /// assert!(history.next().unwrap().at > Duration::from_secs(10));
    /// # Ok::<(), listwatch_transport_file::CaptureError>(())
    /// ```
    pub fn skip_to(&mut self, time: Duration) -> Vec<HistoryStep> {
        let due = self.pending.partition_point(|change| change.at <= time);
        let due: Vec<Pending> = self.pending.drain(..due).collect();
        let mut steps: Vec<HistoryStep> = due.into_iter().filter_map(|change| self.step(change)).collect();
        let mut skipped: Vec<Skipped> = self.states.iter().map(|state| Skipped::behind(state.keys())).collect();
        while let Some(next) = self.next_change() {
            if next.at > time {
                self.pending.push_front(next);
                break;
            }
            skipped.resize_with(self.states.len(), Skipped::default);
            skipped[next.state].take(next.at, next.change);
        }
        let mut left = Left::default();
        let ends = skipped.into_iter().zip(&mut self.states).filter_map(|(skipped, state)| {
            let (at, change) = skipped.end(state, &mut left)?;
            Some(HistoryStep { at, resource: Arc::clone(&state.resource), change })
        });
        let first = steps.len();
        steps.extend(ends);
        steps[first..].sort_by_key(|step| step.at);
        self.on_left(left);
        steps
    }

    fn of_capture(path: Arc<Path>, memory: &Memory) -> Result<Self, CaptureError> {
        let capture = || Reader::new(&path, LINE_LIMIT, false);
        let mut first = capture();
        let Survey { clients, firsts, last, fault, .. } = Survey::read(&mut first, memory);
        let cut = first.cut().cloned();
        if firsts.is_empty() {
            let found = "the capture has neither a whole list nor a watch";
            let nothing = || CaptureError::new(&path, None, Fault::nothing_to_play(found, cut.as_ref()));
            return Err(fault.unwrap_or_else(nothing));
        }
        let (started, memory) = (first.start().started, clients.memory.clone());
        let bad = fault.as_ref().and_then(CaptureError::line);
        let is_audit = first.start().audit;
        let source = Source::Capture { capture: capture().into(), clients: clients.into(), bad, is_audit };
        let end = Duration::from_millis(last);
        let seen = if started.is_none() { newest_date(&firsts, None) } else { None };
        Ok(Self { end, started, seen, fault, cut, ..Self::fixed(path, firsts, source, memory) })
    }

    /// Reads a file that is one list.
    fn of_list(mut cursor: FileCursor, unnamed: Option<&Collection>, memory: &Memory) -> Result<Self, CaptureError> {
        let path = Arc::clone(cursor.path());
        let firsts = saved_list(&mut cursor, unnamed, memory)?;
        let seen = newest_date(&firsts, written_at(&path));
        Ok(Self { seen, ..Self::fixed(path, firsts, Source::Over, memory.anew()) })
    }

    /// A log, whose end and fault are known.
    fn of_log(
        path: &Arc<Path>,
        survey: BodySurvey,
        unnamed: Option<&Collection>,
        memory: &Memory,
    ) -> Result<Self, CaptureError> {
        let bad = |fault| CaptureError::new(path, None, fault);
        if let Some(fault) = survey.fault.as_ref().filter(|_| survey.events == 0) {
            return Err(fault.clone());
        }
        let mut cursor = FileCursor::new(Arc::clone(path), LINE_LIMIT);
        let mut log = WatchLog::new(&mut cursor, false)?.with_good(survey.good);
        log = log.without(survey.twice.clone().unwrap_or_default());
        let (mut objects, mut fault) = (Vec::new(), None);
        while let Some(told) = next_event(&mut log, &mut cursor, survey.first)? {
            let Told::Set(object) = told else { continue };
            if let Err(full) = memory.take(object.weight() + weight_of_key(&object.key)) {
                fault = Some(bad(full));
                break;
            }
            objects.push(object);
        }
        let memory = memory.anew();
        let mut scopes = KindScopes::new(unnamed, &memory);
        let firsts = firsts_of(objects, &mut scopes).map_err(bad)?;
        let (end, seen, told_twice) = (Duration::from_millis(survey.end()), survey.date, survey.told_twice());
        let next = usize::from(survey.relists.first().is_some_and(|relist| relist.from == 0));
        let too_new = check_version(survey.newest).map_err(bad).err();
        let known = fault.clone().or_else(|| survey.fault.clone()).or(too_new);
        let source = match fault {
            None => Source::Log(Log { cursor, log, survey, scopes, next }.into()),
            Some(_) => Source::Over,
        };
        let history = Self::fixed(Arc::clone(path), firsts, source, memory);
        Ok(Self { end, seen, told_twice, fault: known.or(history.fault), ..history })
    }

    /// A history that begins with these states.
    fn fixed(path: Arc<Path>, firsts: Vec<First>, source: Source, memory: Memory) -> Self {
        let origin = Duration::from_millis(firsts.iter().map(|first| first.at).min().unwrap_or(0));
        let mut history = Self {
            path,
            source,
            kept: memory.anew(),
            memory,
            states: Vec::new(),
            places: HashMap::new(),
            pending: VecDeque::new(),
            origin,
            end: origin,
            started: None,
            seen: None,
            told_twice: 0,
            fault: None,
            unreadable: None,
            cut: None,
        };
        for First { scope, objects, version, sample, .. } in firsts {
            let state = history.state(&scope, sample);
            match history.states[state].take(&scope, Told::State { objects, version }) {
                Ok(change) => history.on_change(origin, state, change),
                Err(fault) => history.break_off(fault),
            }
        }
        history
    }

    /// The place of the state of a resource.
    fn state(&mut self, scope: &Scope, sample: Option<Sample>) -> usize {
        if let Some(known) = self.places.get(&scope.collection.name) {
            return *known;
        }
        let resource = scope.collection.resource(sample, scope.metadata_only);
        let is_log = match &self.source {
            Source::Log(_) => true,
            Source::Capture { is_audit, .. } => *is_audit,
            Source::Over => false,
        };
        self.states.push(ResourceState::new(Arc::new(resource), is_log, &self.memory, &self.kept));
        self.places.insert(scope.collection.name.clone(), self.states.len() - 1);
        self.states.len() - 1
    }

    fn on_change(&mut self, at: Duration, state: usize, change: Option<Change>) {
        self.pending.extend(change.map(|change| Pending { at, state, change }));
    }

    /// Takes what a line told. A log shows its resources by their objects; what is told of another one is left out.
    fn on_news(&mut self, News { at, told }: News) -> Result<(), Fault> {
        let at = self.origin.max(Duration::from_millis(at));
        for Observation { scope, told } in told {
            let state = match (self.places.get(&scope.collection.name), &told) {
                (Some(state), _) => *state,
                (None, Told::Set(object) | Told::Deleted(object)) => self.state(&scope, Sample::of(object)),
                (None, Told::Relisted { objects, .. }) => self.state(&scope, objects.first().and_then(Sample::of)),
                (None, _) => continue,
            };
            let change = self.states[state].take(&scope, told)?;
            self.on_change(at, state, change);
        }
        Ok(())
    }

    /// The change with its object. Without memory for that, the history ends before it.
    fn step(&mut self, Pending { at, state, change }: Pending) -> Option<HistoryStep> {
        let (state, mut left) = (&mut self.states[state], Left::default());
        let (change, resource) = (state.decoded(change, &mut left), Arc::clone(&state.resource));
        let change = change.filter(|_| left.fault.is_none());
        self.on_left(left);
        Some(HistoryStep { at, resource, change: change? })
    }

    fn on_left(&mut self, Left { mut unreadable, fault }: Left) {
        if let Some(fault) = fault {
            self.break_off(fault);
            self.pending.clear();
        }
        unreadable.sort_unstable_by(|one, other| one.first.cmp(&other.first));
        for state in unreadable {
            self.unreadable.get_or_insert(Unreadable { count: 0, ..state }).count += 1;
        }
    }

    /// The next change before its objects are decoded.
    pub(crate) fn next_undecoded(&mut self) -> Option<(Duration, Arc<RecordedResource>, Change)> {
        let Pending { at, state, change } = self.next_change()?;
        Some((at, Arc::clone(&self.states[state].resource), change))
    }

    /// Reads up to the next change; `None` at the end.
    fn next_change(&mut self) -> Option<Pending> {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return Some(change);
            }
            match self.source.next() {
                Ok(Some(news)) => {
                    if let Err(fault) = self.on_news(news) {
                        self.break_off(fault);
                    }
                }
                Ok(None) => return None,
                Err(error) => {
                    self.fault.get_or_insert_with(|| error.without_skipping());
                    self.source = Source::Over;
                    return None;
                }
            }
        }
    }

    /// Ends the history at the line that was read last.
    fn break_off(&mut self, fault: Fault) {
        let (path, line) = (&self.path, self.source.line());
        self.fault.get_or_insert_with(|| CaptureError::new(path, line, fault));
        self.source = Source::Over;
    }
}

impl Iterator for History {
    type Item = HistoryStep;

    fn next(&mut self) -> Option<HistoryStep> {
        loop {
            let change = self.next_change()?;
            if let Some(step) = self.step(change) {
                return Some(step);
            }
        }
    }
}

listwatch_core::summary!("History" for History, |it| { states: it.states.len(), fault: it.fault });

/// Reads a file that is one list.
fn saved_list(
    cursor: &mut FileCursor,
    unnamed: Option<&Collection>,
    memory: &Memory,
) -> Result<Vec<First>, CaptureError> {
    let path = Arc::clone(cursor.path());
    let bad = |fault| CaptureError::new(&path, None, fault);
    let (mut body, mut list) = (ListBody::default(), BodyReader::list());
    while let Some(bytes) = body.next(cursor)? {
        memory.give_back(list.weight());
        list.read(&bytes, memory, &mut Vec::new()).and_then(|()| memory.take(list.weight())).map_err(bad)?;
    }
    match list.end() {
        PageEnd::Complete(all) => {
            all.check().map_err(bad)?;
            let Told::State { objects, version } = all else { return Ok(Vec::new()) };
            let mut firsts = firsts_of(objects, &mut KindScopes::new(unnamed, memory)).map_err(bad)?;
            firsts.iter_mut().for_each(|first| first.version = first.version.max(version));
            Ok(firsts)
        }
        PageEnd::Continued(..) => Err(bad(Fault::page())),
        PageEnd::Broken => Err(unusable(cursor, "this is no list; save it again")),
    }
}

/// The newest date in the first states, of a file that was written then.
fn newest_date(firsts: &[First], written: Option<WallTime>) -> Option<WallTime> {
    let mut dates = Dates::before(written);
    firsts.iter().flat_map(|first| &first.objects).for_each(|object| dates.note(&object.text()));
    dates.newest()
}

/// The first states of resources that only their objects name.
fn firsts_of(objects: Vec<ObjectText>, scopes: &mut KindScopes) -> Result<Vec<First>, Fault> {
    let (mut firsts, mut places): (Vec<First>, HashMap<Arc<Scope>, usize>) = Default::default();
    for object in objects {
        let (scope, version) = (scopes.of(&object.type_meta())?, object.version);
        let place = *places.entry(Arc::clone(&scope)).or_insert_with(|| {
            let sample = Sample::of(&object);
            firsts.push(First { scope, at: 0, objects: Vec::new(), version: 0, sample });
            firsts.len() - 1
        });
        firsts[place].version = firsts[place].version.max(version);
        firsts[place].objects.push(object);
    }
    Ok(firsts)
}

fn unusable(cursor: &FileCursor, message: &str) -> CaptureError {
    CaptureError::new(cursor.path(), None, Fault::new(CaptureErrorKind::Unrecognized, message))
}
