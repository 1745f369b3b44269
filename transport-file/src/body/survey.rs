//! The first reading of a file that is a list or a log: its kinds, its dates, and where its objects are listed again.

use super::dates::{Dates, written_at};
use super::list::ListBody;
use super::marks::Marks;
use super::watch_log::{Entry, ListHead, WatchEvent, WatchLog, ends_watch};
use crate::error::{CaptureError, Fault};
use crate::file::{FileCursor, FileKind};
use crate::kinds::guessed_plural;
use crate::memory::OBJECT_LIMIT;
use crate::object::{Outline, TypeMeta};
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::framing::{Frame, Framer, Framing};
use listwatch_core::time::WallTime;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What the first reading of a file found that is a list or a log.
///
/// A log may have several watches, one behind the other, each of which begins with all objects. A server tells that an
/// object was added only if it was not there. So a run of additions lists its kinds anew, if one of them tells of an object
/// that is there, with the same uid or in an old state, or behind an error. Objects of these kinds that it leaves out were
/// deleted between two watches. A list says so of its kinds, and so does a watch-list whose initial events end.
///
/// Several watches may write to one file at once. Then a change of the same version is told twice, or an addition is told
/// again and most of the objects that are there are not. Of such a log, additions list nothing anew, and an event is passed
/// over whose object has its version or a later one.
#[derive(Debug)]
pub(crate) struct BodySurvey {
    /// In the order of the file.
    pub(crate) kinds: Vec<LoggedKind>,
    places: HashMap<String, usize>,
    /// In the order of the file.
    pub(crate) relists: Vec<Relist>,
    /// How many events there are, before the fault.
    pub(crate) events: u64,
    /// How many of them are the first state.
    pub(crate) first: u64,
    /// The date of the first state.
    pub(crate) date: Option<WallTime>,
    pub(crate) fault: Option<CaptureError>,
    pub(crate) newest: u64,
    /// How many first events are good lines.
    pub(crate) good: u64,
    /// The events that another watch has told before; `None` if there is one watch at a time.
    pub(crate) twice: Option<Arc<Marks>>,
    /// How many events are before some moments, and when these are, in milliseconds.
    moments: Vec<(u64, u64)>,
}

/// A kind of the objects in a file. Both are empty for objects that do not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoggedKind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// Events that are all objects of some kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Relist {
    /// How many events are before it.
    pub(crate) from: u64,
    /// How many events are before its end.
    pub(crate) until: u64,
    /// The places of the kinds.
    pub(crate) kinds: BTreeSet<usize>,
    /// The newest version up to its end.
    pub(crate) version: u64,
}

/// An event that tells of an object, of the kind at a place.
pub(crate) struct Logged<'e> {
    pub(crate) event: WatchEvent<'e>,
    pub(crate) outline: Outline<'e>,
    pub(crate) kind: usize,
}

/// The time between two events of a log, in milliseconds. The log has none.
const PACE: u64 = 1_000;

/// The annotation of the bookmark that ends the initial events of a watch-list.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl BodySurvey {
    /// Reads a file to its end, or to its first fault.
    pub(crate) fn read(file: FileKind, cursor: &mut FileCursor, skip_bad_lines: bool) -> Self {
        let survey = Self::read_as(file, cursor, skip_bad_lines, false);
        match survey.twice {
            Some(_) => {
                let mut again = FileCursor::new(Arc::clone(cursor.path()), cursor.line_limit());
                Self::read_as(file, &mut again, skip_bad_lines, true)
            }
            None => survey,
        }
    }

    /// Reads a file, to which several watches wrote at once, or of which that is to be found out.
    fn read_as(file: FileKind, cursor: &mut FileCursor, skip_bad_lines: bool, is_mixed: bool) -> Self {
        let saved = written_at(cursor.path());
        let mut reading = Reading::new(saved, is_mixed);
        let fault = match file {
            FileKind::List => reading.list(cursor),
            FileKind::Capture | FileKind::WatchLog => reading.log(cursor, skip_bad_lines),
        };
        reading.end_run(reading.survey.events);
        let Reading { mut survey, dates, newest, twice, is_mixed, .. } = reading;
        survey.twice = is_mixed.then(|| Arc::new(twice));
        (survey.fault, survey.newest) = (fault.err(), newest);
        let end = Duration::from_millis(survey.end());
        survey.date = dates.newest().or_else(|| saved.map(|saved| saved - end));
        survey
    }

    /// The place of the kind of an object.
    pub(crate) fn kind_of(&self, object: &TypeMeta<'_>) -> Option<usize> {
        self.places.get(&name_of(object)).copied()
    }

    /// The object that an event tells of, if it does.
    pub(crate) fn logged<'e>(&self, text: &'e [u8]) -> Option<Logged<'e>> {
        let (event, outline) = object_of(text)?;
        let kind = self.kind_of(&outline.type_meta)?;
        Some(Logged { event, outline, kind })
    }

    /// The next relist, from this one on, of a kind or of any.
    pub(crate) fn next_relist(&self, from: usize, kind: Option<usize>) -> Option<usize> {
        let is_of = |it: &usize| kind.is_none_or(|kind| self.relists[*it].kinds.contains(&kind));
        (from..self.relists.len()).find(is_of)
    }

    /// How many events of several watches are there twice; zero for a log of one watch at a time.
    pub(crate) fn told_twice(&self) -> u64 {
        self.twice.as_ref().map_or(0, |twice| twice.count())
    }

    /// Whether something is behind so many events: another event, or the fault.
    pub(crate) fn has_more(&self, events: u64) -> bool {
        events < self.events || self.fault.is_some()
    }

    /// When so many events have come.
    pub(crate) fn time(&self, events: u64) -> Duration {
        let later = self.moments.partition_point(|(before, _)| *before <= events);
        let (before, at) = later.checked_sub(1).map_or((self.first, 0), |last| self.moments[last]);
        Duration::from_millis(at + events.saturating_sub(before) * PACE)
    }

    /// When the last event came, in milliseconds.
    pub(crate) fn end(&self) -> u64 {
        u64::try_from(self.time(self.events).as_millis()).unwrap_or(u64::MAX)
    }
}

fn name_of(object: &TypeMeta<'_>) -> String {
    format!("{}/{}", object.api_version, object.kind)
}

impl LoggedKind {
    /// The name of its collection, such as `apps/v1/deployments`, as kubectl guesses it.
    pub(crate) fn collection(&self) -> String {
        format!("{}/{}", self.api_version, guessed_plural(&self.kind))
    }

    /// Whether it names a resource.
    pub(crate) fn is_named(&self) -> bool {
        !self.kind.is_empty() && !self.api_version.starts_with("meta.k8s.io/")
    }
}

/// A reading.
struct Reading {
    survey: BodySurvey,
    /// The dates of the first state.
    dates: Dates,
    /// The newest state of each object that is there, by kinds.
    there: HashMap<usize, HashMap<Key, Seen>>,
    newest: u64,
    run: Option<Run>,
    /// The list whose items are told, with those of its pages before.
    list: Option<OpenList>,
    /// The kinds of the last list.
    listed: BTreeSet<usize>,
    is_behind_error: bool,
    /// Whether all events up to here tell of the first state.
    is_first: bool,
    /// Whether several watches wrote to the file at once, as a reading before has found, or this one.
    is_mixed: bool,
    /// Whether this reading marks what is there twice. The versions of the objects that were deleted.
    marks: bool,
    twice: Marks,
    gone: HashMap<(usize, Key), u64>,
}

struct Seen {
    uid: Option<Box<str>>,
    version: u64,
    /// How many events were before it.
    at: u64,
}

/// Additions, one behind the other.
struct Run {
    all: Relist,
    /// The last of them whose keys ascend, as in a list.
    ascending: Relist,
    last: Option<(usize, Key)>,
    is_behind_error: bool,
    /// How many of them tell again of what is there.
    repeats: usize,
}

struct OpenList {
    relist: Relist,
    is_page: bool,
    dates: Dates,
}

impl Reading {
    fn new(saved: Option<WallTime>, is_mixed: bool) -> Self {
        let survey = BodySurvey {
            kinds: Vec::new(),
            places: HashMap::new(),
            relists: Vec::new(),
            events: 0,
            first: 0,
            date: None,
            fault: None,
            newest: 0,
            good: 0,
            twice: None,
            moments: Vec::new(),
        };
        Self {
            survey,
            dates: Dates::before(saved),
            there: HashMap::new(),
            newest: 0,
            run: None,
            list: None,
            listed: BTreeSet::new(),
            is_behind_error: false,
            is_first: true,
            is_mixed,
            marks: is_mixed,
            twice: Marks::default(),
            gone: HashMap::new(),
        }
    }

    /// Reads a file that is one list, of which no object is kept.
    fn list(&mut self, cursor: &mut FileCursor) -> Result<(), CaptureError> {
        let mut framer = Framer::new(Framing::List, OBJECT_LIMIT);
        let (mut body, mut buffer) = (ListBody::default(), Vec::new());
        let (mut list, mut has_unnamed) = (TypeMeta::default(), false);
        while let Some(bytes) = body.next(cursor)? {
            buffer.extend_from_slice(&bytes);
            while let Some(frame) = framer.next_frame(&buffer) {
                match frame {
                    Frame::Item(item) => {
                        let item = str::from_utf8(item).unwrap_or_default();
                        let own: TypeMeta<'_> = serde_json::from_str(item).unwrap_or_default();
                        has_unnamed |= own.kind.is_empty();
                        if !own.kind.is_empty() {
                            self.kind(&own);
                        }
                        self.dates.note(item);
                    }
                    Frame::Field { name, value } => list.take_of_list(name, value),
                    _ => {}
                }
            }
            buffer.drain(..framer.reclaim());
        }
        if has_unnamed {
            self.kind(&list);
        }
        Ok(())
    }

    fn log(&mut self, cursor: &mut FileCursor, skip_bad_lines: bool) -> Result<(), CaptureError> {
        let mut log = WatchLog::new(cursor, skip_bad_lines)?;
        while let Some(entry) = log.next(cursor)? {
            self.survey.good = log.good();
            match entry {
                Entry::List(head) => self.head(&head),
                Entry::Event(event) if self.is_listing() => self.item(&event),
                Entry::Event(event) => self.event(&event, log.is_bare()),
            }
            self.end_list();
        }
        if self.list.is_some() {
            return Err(CaptureError::new(cursor.path(), None, Fault::page()));
        }
        Ok(())
    }

    /// Whether the next event is an item of a list.
    fn is_listing(&self) -> bool {
        self.list.as_ref().is_some_and(|list| self.survey.events < list.relist.until)
    }

    /// A list begins, whose items are the next events, or its next page.
    fn head(&mut self, head: &ListHead) {
        let from = self.survey.events;
        self.end_run(from);
        let (relist, dates) = match self.list.take() {
            Some(list) => (list.relist, list.dates),
            None => (Relist { from, ..Relist::default() }, self.dates.anew()),
        };
        let mut list = OpenList { relist: Relist { until: from + head.items, ..relist }, is_page: head.is_page, dates };
        list.relist.kinds.extend(head.type_meta.as_ref().map(|type_meta| self.kind(type_meta)));
        self.list = Some(list);
    }

    fn item(&mut self, event: &[u8]) {
        let (at, object) = (self.survey.events, object_of(event));
        self.survey.events += 1;
        let Some((event, object)) = object else { return };
        let kind = self.kind(&object.type_meta);
        if let Some(list) = &mut self.list {
            list.relist.kinds.insert(kind);
            list.dates.note(event.object);
        }
        self.see(kind, &object, at);
    }

    /// Ends the list whose items were told, unless another page follows.
    fn end_list(&mut self) {
        let events = self.survey.events;
        let is_over = |list: &mut OpenList| events == list.relist.until && !list.is_page;
        let Some(OpenList { mut relist, dates, .. }) = self.list.take_if(is_over) else { return };
        // A list of nothing may not say of which kind: it is that of the lists before it.
        if relist.kinds.is_empty() {
            relist.kinds.clone_from(&self.listed);
        }
        self.listed.clone_from(&relist.kinds);
        let newest = dates.newest();
        if self.is_first && relist.from == 0 {
            (self.dates, self.survey.first) = (dates, events);
        }
        self.is_first = false;
        let since = newest.zip(self.dates.newest()).map(|(date, first)| date.saturating_since(first));
        self.relist(relist, since.unwrap_or_default());
    }

    fn event(&mut self, event: &[u8], is_bare: bool) {
        let at = self.survey.events;
        self.survey.events += 1;
        let Some((event, object)) = object_of(event) else {
            self.other(event);
            return;
        };
        let kind = self.kind(&object.type_meta);
        let known = (kind, object.key.clone());
        if self.marks && self.is_old(&known, &object) {
            self.twice.set(at);
            return;
        }
        // A watch tells each version once, and none behind a later one.
        let is_again = |seen: &Seen| object.version > 0 && object.version <= seen.version;
        self.is_mixed |= !is_bare && event.r#type == "MODIFIED" && self.seen(&known).is_some_and(is_again);
        if event.r#type == "ADDED" {
            self.add(&known, &object, at);
        } else {
            self.end_run(at);
        }
        let is_new = event.r#type != "DELETED" && self.seen(&known).is_none();
        self.is_first &= is_new;
        if self.is_first || at == 0 {
            self.dates.note(event.object);
        }
        self.survey.first += u64::from(self.is_first);
        match &*event.r#type {
            "DELETED" => {
                self.newest = self.newest.max(object.version);
                self.there.entry(kind).or_default().remove(&object.key);
                if self.marks {
                    self.gone.insert(known, object.version);
                }
            }
            _ => self.see(kind, &object, at),
        }
    }

    /// An error, a bookmark, or an event of an object without a name.
    fn other(&mut self, event: &[u8]) {
        if ends_watch(event) {
            self.end_run(self.survey.events - 1);
            (self.is_behind_error, self.is_first) = (true, false);
        }
        let Some(WatchEvent { object, r#type }) = WatchEvent::checked(event) else { return };
        if r#type != "BOOKMARK" {
            self.survey.first += u64::from(self.is_first);
            return;
        }
        self.is_first = false;
        let object: Value = serde_json::from_str(object).unwrap_or_default();
        let metadata = &object["metadata"];
        self.newest = self.newest.max(crate::object::version_of(&object));
        if metadata["annotations"][INITIAL_EVENTS_END] == "true" {
            let (kind, events) = (self.kind(&TypeMeta::of(&object)), self.survey.events);
            let begin = || Relist { from: events - 1, ..Relist::default() };
            let mut all = self.run.take().map_or_else(begin, |run| run.all);
            all.kinds.insert(kind);
            if all.from == 0 {
                self.survey.first = events;
            }
            self.relist(Relist { until: events, ..all }, Duration::ZERO);
        }
    }

    /// Takes an addition into the run of them.
    fn add(&mut self, known: &(usize, Key), object: &Outline<'_>, at: u64) {
        let is_behind_error = std::mem::take(&mut self.is_behind_error);
        let begin = || Relist { from: at, ..Relist::default() };
        let mut run = self.run.take().unwrap_or_else(|| Run {
            all: begin(),
            ascending: begin(),
            last: None,
            is_behind_error,
            repeats: 0,
        });
        if run.last.as_ref().is_some_and(|last| *last >= *known) {
            run.ascending = begin();
        }
        run.last = Some(known.clone());
        if let Some(seen) = self.seen(known)
            && seen.is_told_again(object, self.newest, run.is_behind_error)
        {
            if seen.at >= run.all.from {
                // It is told twice in this run, so that a list begins within it.
                let all = std::mem::replace(&mut run.all, run.ascending.clone());
                if run.repeats > 0 {
                    self.listed_anew(Relist { until: run.all.from, ..all }, run.repeats, run.is_behind_error);
                }
                run.repeats = 0;
            }
            run.repeats += 1;
        }
        run.all.kinds.insert(known.0);
        run.ascending.kinds.insert(known.0);
        self.run = Some(run);
    }

    /// Ends a run of additions before so many events.
    fn end_run(&mut self, until: u64) {
        self.is_behind_error = false;
        if let Some(Run { all, repeats: repeats @ 1.., is_behind_error, .. }) = self.run.take() {
            self.listed_anew(Relist { until, ..all }, repeats, is_behind_error);
        }
    }

    /// A run of additions tells again so many objects that are there. It lists them anew, unless it leaves most of them out.
    fn listed_anew(&mut self, relist: Relist, repeats: usize, is_behind_error: bool) {
        let there: usize = relist.kinds.iter().filter_map(|kind| self.there.get(kind)).map(HashMap::len).sum();
        let added = usize::try_from(relist.until - relist.from).unwrap_or(usize::MAX).saturating_sub(repeats);
        let is_list = is_behind_error || repeats * 2 >= there.saturating_sub(added);
        self.is_mixed |= !is_list;
        if !self.is_mixed {
            self.relist(relist, Duration::ZERO);
        }
    }

    /// Whether another watch has told the version of an object, or a later one.
    fn is_old(&self, known: &(usize, Key), object: &Outline<'_>) -> bool {
        let there = self.seen(known).map(|seen| seen.version);
        let told = there.or_else(|| self.gone.get(known).copied());
        object.version > 0 && told.is_some_and(|told| object.version <= told)
    }

    /// What a relist leaves out is gone. It is one step, not before a time since the beginning.
    fn relist(&mut self, relist: Relist, since: Duration) {
        if relist.until > self.survey.first || relist.until == relist.from && relist.from > 0 {
            let at = since.max(self.survey.time(relist.from) + Duration::from_millis(PACE));
            self.survey.moments.push((relist.until, u64::try_from(at.as_millis()).unwrap_or(u64::MAX)));
        }
        for kind in &relist.kinds {
            self.there.entry(*kind).or_default().retain(|_, seen| seen.at >= relist.from);
        }
        self.survey.relists.push(Relist { version: self.newest, ..relist });
    }

    fn seen(&self, (kind, key): &(usize, Key)) -> Option<&Seen> {
        self.there.get(kind)?.get(key)
    }

    fn see(&mut self, kind: usize, object: &Outline<'_>, at: u64) {
        self.newest = self.newest.max(object.version);
        self.there.entry(kind).or_default().insert(
            object.key.clone(),
            Seen { uid: object.uid.as_deref().map(Into::into), version: object.version, at },
        );
    }

    fn kind(&mut self, type_meta: &TypeMeta<'_>) -> usize {
        let (name, next) = (name_of(type_meta), self.survey.kinds.len());
        *self.survey.places.entry(name).or_insert_with(|| {
            let (api_version, kind) = (type_meta.api_version.clone().into_owned(), type_meta.kind.clone().into_owned());
            self.survey.kinds.push(LoggedKind { api_version, kind });
            next
        })
    }
}

impl Seen {
    /// Whether an addition tells of the same object again. Another one under the same name has another uid and a newer
    /// version.
    fn is_told_again(&self, object: &Outline<'_>, newest: u64, is_behind_error: bool) -> bool {
        match (&self.uid, &object.uid) {
            (Some(known), Some(uid)) => **known == **uid,
            _ => object.version <= newest || is_behind_error,
        }
    }
}

/// The object that an event tells of.
fn object_of(text: &[u8]) -> Option<(WatchEvent<'_>, Outline<'_>)> {
    let event = WatchEvent::checked(text).filter(|event| matches!(&*event.r#type, "ADDED" | "MODIFIED" | "DELETED"))?;
    let outline = Outline::of(event.object)?;
    Some((event, outline))
}
