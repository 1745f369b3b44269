//! What happened in a recording, in its order.

mod moment;

pub use moment::{Moment, MomentKind};

use crate::capture::format::{Line, Payload, Record};
use crate::capture::{Call, Calls, Read, Reader, TapeStart};
use crate::error::{CaptureError, Fault};
use crate::file::{FileKind, LINE_LIMIT, Source as File, detect};
use crate::history::{Clients, History, Observation, RecordedResource, ResourceState, Scope, Told};
use crate::memory::{MOST_STATE, Memory, OBJECT_LIMIT};
use crate::object::ObjectText;
use core::time::Duration;
use listwatch_core::time::WallTime;
use memchr::memmem::Finder;
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// The bytes that are kept of the answer to a list or a watch that was refused.
const MOST_OF_REFUSAL: usize = 4096;

/// What happened in a recording: requests with their answers, changes that clients were told of, and notes of reconciles.
///
/// An iterator of [`Moment`]s in the order of the file. It takes the files that [`Playback`](crate::Playback) takes. A
/// capture is read once, so the first moment comes at once; a log and a list are read as a [`History`]. An error is the last
/// item, behind everything before the fault.
///
/// ```
/// use listwatch_transport_file::{MomentKind, Timeline};
///
/// let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/captures/gap.jsonl.gz");
/// let (mut gaps, mut refused) = (0, 0);
/// for moment in Timeline::from_file(capture)? {
///     match moment?.kind {
///         MomentKind::Expired(resource) => gaps += u32::from(resource.collection == "v1/configmaps"),
///         MomentKind::Ended(call) => refused += u32::from(call.status().is_some_and(|status| status >= 400)),
///         _ => {}
///     }
/// }
/// assert_eq!((gaps, refused), (1, 1));
/// # Ok::<(), listwatch_transport_file::CaptureError>(())
/// ```
///
/// # Memory
///
/// The keys and versions of all objects, the lists that are being read, and the requests that are open, of whose bodies 8 MiB
/// each are kept. All of that takes up to 4 GiB, and then its line is a fault.
pub struct Timeline {
    source: Source,
    moments: VecDeque<Moment>,
    fault: Option<CaptureError>,
    is_over: bool,
}

enum Source {
    Capture(Box<Capture>),
    /// With the resources that it told of.
    Saved(Box<History>, HashSet<String>),
}

/// What the lines of a capture up to here say.
struct Capture {
    reader: Reader,
    lines: Lines,
}

struct Lines {
    clients: Clients,
    calls: Calls,
    states: HashMap<Arc<Scope>, usize>,
    resources: Vec<ResourceState>,
    kept: Memory,
    has_notes: bool,
    is_finished: bool,
    /// Whether an audit log was converted to the capture.
    is_audit: bool,
    last: Duration,
}

impl Timeline {
    /// Opens a recording.
    ///
    /// # Errors
    /// If the file cannot be read or has an unknown kind, or a log or a list has no objects.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        Self::open(path.as_ref(), false)
    }

    /// Opens a recording, whose bad lines are counted and passed over.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file).
    pub fn without_bad_lines(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        Self::open(path.as_ref(), true)
    }

    fn open(path: &Path, skips_bad_lines: bool) -> Result<Self, CaptureError> {
        let path: Arc<Path> = path.into();
        let source = match detect(&mut File::open(&path)?)? {
            FileKind::Capture => {
                let (reader, lines) = (Reader::new(&path, LINE_LIMIT, skips_bad_lines), Lines::new());
                Source::Capture(Capture { reader, lines }.into())
            }
            _ => Source::Saved(History::from_file(&path)?.into(), HashSet::new()),
        };
        let mut timeline = Self { source, moments: VecDeque::new(), fault: None, is_over: false };
        timeline.read();
        Ok(timeline)
    }

    /// Passes over the events of watches in whose text this does not occur, without decoding them.
    ///
    /// Call it before the first moment is taken.
    #[must_use]
    pub fn naming(mut self, text: &str) -> Self {
        if let Source::Capture(capture) = &mut self.source {
            capture.lines.clients.naming = Some(Finder::new(text.as_bytes()).into_owned());
        }
        self
    }

    /// Leaves `managedFields` out of the objects of a capture, so that they take half of the memory.
    ///
    /// Call it before the first moment is taken.
    #[must_use]
    pub fn unmanaged(mut self) -> Self {
        if let Source::Capture(capture) = &mut self.source {
            capture.lines.clients.read_by(ObjectText::unmanaged_of);
        }
        self
    }

    /// The first line of a capture; `None` for a log and a list.
    #[must_use]
    pub fn start(&self) -> Option<&TapeStart> {
        match &self.source {
            Source::Capture(capture) => Some(capture.reader.start()),
            Source::Saved(..) => None,
        }
    }

    /// The date at which the recording began, if its first line has it. That of a log or a list is the one of its
    /// [`History`].
    #[must_use]
    pub fn began(&self) -> Option<WallTime> {
        match &self.source {
            Source::Capture(capture) => capture.reader.start().started,
            Source::Saved(history, _) => history.began(),
        }
    }

    /// Where the compressed data breaks off behind a whole line, once that was reached.
    #[must_use]
    pub fn cut(&self) -> Option<&CaptureError> {
        match &self.source {
            Source::Capture(capture) => capture.reader.cut(),
            Source::Saved(history, _) => history.cut(),
        }
    }

    /// Behind the last moment, whether the tape of a controller has no last line: its recorder was killed, or the file was cut
    /// behind a whole line.
    #[must_use]
    pub fn breaks_off(&self) -> bool {
        match &self.source {
            Source::Capture(capture) => {
                let is_tape = capture.reader.start().seed.is_some() || capture.lines.has_notes;
                is_tape && !capture.lines.is_finished
            }
            Source::Saved(..) => false,
        }
    }

    /// How many bad lines were passed over.
    #[must_use]
    pub fn bad_lines(&self) -> u64 {
        match &self.source {
            Source::Capture(capture) => capture.reader.bad_lines(),
            Source::Saved(..) => 0,
        }
    }

    /// How many events of a log are there twice, as of its [`History`].
    #[must_use]
    pub fn told_twice(&self) -> u64 {
        match &self.source {
            Source::Capture(_) => 0,
            Source::Saved(history, _) => history.told_twice(),
        }
    }

    /// How many pieces of watches were passed over, because they do not have the text of [`naming`](Self::naming).
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        match &self.source {
            Source::Capture(capture) => capture.lines.clients.passed_over,
            Source::Saved(..) => 0,
        }
    }

    /// Reads up to the next moment.
    fn read(&mut self) {
        while self.moments.is_empty() && !self.is_over {
            let read = match &mut self.source {
                Source::Capture(capture) => capture.read(&mut self.moments),
                Source::Saved(history, told) => match history.next_undecoded() {
                    Some((at, resource, change)) => {
                        let is_first = told.insert(resource.collection.clone());
                        let kind = MomentKind::Changed { resource, change, is_first };
                        self.moments.push_back(Moment { at, line: None, kind });
                        Ok(true)
                    }
                    None => history.error().cloned().map_or(Ok(false), Err),
                },
            };
            self.is_over = !matches!(read, Ok(true));
            self.fault = read.err();
        }
    }
}

impl Iterator for Timeline {
    type Item = Result<Moment, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read();
        self.moments.pop_front().map(Ok).or_else(|| self.fault.take().map(Err))
    }
}

impl Capture {
    /// Reads a line; `false` at the end.
    fn read(&mut self, moments: &mut VecDeque<Moment>) -> Result<bool, CaptureError> {
        let lines = &mut self.lines;
        let read = self.reader.next(|read| lines.read(read, moments));
        if matches!(read, Ok(Some(()))) {
            return Ok(true);
        }
        let left = lines.calls.left();
        let moment = |call| Moment { at: lines.last, line: None, kind: MomentKind::Ended(Box::new(call)) };
        moments.extend(left.into_iter().map(moment));
        read.map(|_| false)
    }
}

impl Lines {
    fn new() -> Self {
        let memory = Memory::at_most(MOST_STATE);
        Self {
            kept: memory.anew(),
            clients: Clients::new(memory),
            calls: Calls::default(),
            states: HashMap::new(),
            resources: Vec::new(),
            has_notes: false,
            is_finished: false,
            is_audit: false,
            last: Duration::ZERO,
        }
    }

    fn read(&mut self, Read { place, line, .. }: Read<'_>, moments: &mut VecDeque<Moment>) -> Result<(), Fault> {
        let (mut told, mut own) = (Vec::new(), None);
        match &line {
            Line::Record(Record { t, id, payload }) => own = self.record(*t, *id, payload)?,
            Line::Note(_, _, note) => {
                self.has_notes = true;
                own = Some(MomentKind::Noted(note.clone()));
            }
            Line::Finished(_) => self.is_finished = true,
            Line::Start(_, start) => self.is_audit = start.audit,
        }
        let Some(t) = self.clients.line(line, &mut told)? else { return Ok(()) };
        self.last = Duration::from_millis(t);
        let (at, line) = (self.last, Some(place.line));
        for observation in told {
            let kind = self.observed(observation)?;
            moments.extend(kind.map(|kind| Moment { at, line, kind }));
        }
        moments.extend(own.map(|kind| Moment { at, line, kind }));
        Ok(())
    }

    fn record(&mut self, t: u64, id: u64, payload: &Payload<'_>) -> Result<Option<MomentKind>, Fault> {
        Ok(match payload {
            Payload::Request(request) => {
                let call = Call::of(t, id, request);
                let (method, target, reconcile) =
                    (call.request.method.clone(), call.request.target.clone(), call.reconcile);
                self.calls.open(call);
                Some(MomentKind::Sent { id, method, target, reconcile })
            }
            Payload::End(end) => self.calls.end(id, end).map(|call| MomentKind::Ended(Box::new(call))),
            payload => {
                let most = self.calls.of(id).map_or(0, |call| match (call.query, call.status()) {
                    (Some(_), Some(200)) => 0,
                    (Some(_), _) => MOST_OF_REFUSAL,
                    (None, _) => OBJECT_LIMIT,
                });
                if most > 0 {
                    self.calls.take(id, payload, most);
                    self.clients.memory.check(self.calls.bytes)?;
                }
                None
            }
        })
    }

    /// What a client was told, if it is news.
    fn observed(&mut self, Observation { scope, told }: Observation) -> Result<Option<MomentKind>, Fault> {
        let place = self.state(&scope);
        let state = &mut self.resources[place];
        if state.resource.kind.is_none()
            && let Some(sample) = told.sample()
        {
            state.resource = scope.collection.resource(Some(sample), scope.metadata_only).into();
        }
        let resource = Arc::clone(&state.resource);
        match told {
            Told::Failed(message) => return Ok(Some(MomentKind::Refused(resource, message))),
            Told::Expired => {
                state.take(&scope, Told::Expired)?;
                return Ok(Some(MomentKind::Expired(resource)));
            }
            _ => {}
        }
        let is_first = matches!(told, Told::State { .. }) && !state.is_told_of(&scope);
        let change = state.take(&scope, told)?;
        Ok(change.map(|change| MomentKind::Changed { resource, change, is_first }))
    }

    /// The place of the state of a resource. Metadata alone are a resource of their own.
    fn state(&mut self, scope: &Arc<Scope>) -> usize {
        self.states.get(scope).copied().unwrap_or_else(|| {
            let is_same = |known: &RecordedResource| {
                known.collection == scope.collection.name && known.metadata_only == scope.metadata_only
            };
            let known = self.resources.iter().position(|state| is_same(&state.resource));
            let place = known.unwrap_or(self.resources.len());
            if known.is_none() {
                let resource = scope.collection.resource(None, scope.metadata_only);
                let (memory, kept) = (&self.clients.memory, &self.kept);
                self.resources.push(ResourceState::new(resource.into(), self.is_audit, memory, kept));
            }
            self.states.insert(Arc::clone(scope), place);
            place
        })
    }
}

listwatch_core::summary!("Timeline" for Timeline, |it| { moments: it.moments.len(), fault: it.fault });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::CallEnd;
    use crate::history::Change;

    /// What is told of these lines, and the error at the end.
    fn told(name: &str, lines: &[&str], naming: Option<&str>) -> (Vec<String>, Option<String>) {
        let path = std::env::temp_dir().join(format!("listwatch-timeline-{name}-{}", std::process::id()));
        std::fs::write(&path, lines.join("\n")).unwrap();
        let timeline = Timeline::from_file(&path).unwrap();
        let timeline = if let Some(text) = naming { timeline.naming(text) } else { timeline };
        let (mut told, mut error) = (Vec::new(), None);
        for moment in timeline {
            match moment {
                Ok(moment) => told.push(words(&moment)),
                Err(fault) => error = Some(fault.to_string()),
            }
        }
        std::fs::remove_file(path).unwrap();
        (told, error)
    }

    fn words(moment: &Moment) -> String {
        let what = match &moment.kind {
            MomentKind::Sent { id, method, .. } => format!("sent {id} {method}"),
            MomentKind::Ended(call) => {
                let length = call.answer.as_ref().map_or(0, |answer| answer.body.len());
                format!("{} {:?} {:?} {length}", call.request.id, call.end, call.status())
            }
            MomentKind::Changed { change: Change::Relisted { changed, .. }, is_first, .. } => {
                format!("listed {} {is_first}", changed.len())
            }
            MomentKind::Changed { change: Change::Modified(object), .. } => format!("modified {}", object.key()),
            MomentKind::Refused(_, message) => format!("refused {message}"),
            other => format!("{other:?}"),
        };
        format!("{:?} {}", moment.line, what)
    }

    const LIST: &str = r#"{"t":1,"id":1,"data":"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}},{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"2\"}}]}"}"#;

    fn event(name: &str, version: u64) -> String {
        let object = format!(r#"{{\"metadata\":{{\"name\":\"{name}\",\"resourceVersion\":\"{version}\"}}}}"#);
        format!(r#"{{"t":3,"id":2,"data":"{{\"type\":\"MODIFIED\",\"object\":{object}}}\n"}}"#)
    }

    #[test]
    fn managed_fields_are_left_out_of_the_list_that_a_capture_begins_with() {
        let path = std::env::temp_dir().join(format!("listwatch-timeline-unmanaged-{}", std::process::id()));
        let list = LIST.replace(r#"\"name\":\"a\","#, r#"\"name\":\"a\",\"managedFields\":[{\"manager\":\"x\"}],"#);
        let lines = [
            r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods"}}"#,
            r#"{"t":1,"id":1,"response":{"status":200}}"#,
            &list,
            r#"{"t":1,"id":1,"end":"eof"}"#,
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let texts = |timeline: Timeline| -> Vec<String> {
            let kinds = timeline.map(|moment| moment.unwrap().kind);
            let lists = kinds.filter_map(|kind| match kind {
                MomentKind::Changed { change: Change::Relisted { changed, .. }, .. } => Some(changed),
                _ => None,
            });
            lists.flatten().map(|object| object.text().into_owned()).collect()
        };
        let (whole, unmanaged) = (Timeline::from_file(&path).unwrap(), Timeline::from_file(&path).unwrap().unmanaged());
        let (whole, unmanaged) = (texts(whole), texts(unmanaged));
        std::fs::remove_file(path).unwrap();
        assert!(whole[0].contains("managedFields"), "{whole:?}");
        assert!(!unmanaged[0].contains("managedFields") && unmanaged[1] == whole[1], "{unmanaged:?}");
    }

    #[test]
    fn a_capture_is_told_in_its_order_and_its_open_requests_at_its_end() {
        let (a, b) = (event("a", 6), event("b", 7));
        let lines = [
            r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods"}}"#,
            r#"{"t":1,"id":1,"response":{"status":200}}"#,
            LIST,
            r#"{"t":1,"id":1,"end":"eof"}"#,
            r#"{"t":2,"id":2,"request":{"method":"GET","path":"/api/v1/pods?watch=1&resourceVersion=5"}}"#,
            r#"{"t":2,"id":2,"response":{"status":200}}"#,
            &a,
            r#"{"t":3,"id":3,"request":{"method":"PUT","path":"/api/v1/namespaces/web/pods/a","body":{}}}"#,
            &b,
            r#"{"t":4,"id":2,"data":"{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"no\"}}\n"}"#,
            r#"{"t":5,"id":2,"end":"reset"}"#,
        ];
        let expected = [
            "Some(1) sent 1 GET",
            "Some(4) listed 2 true",
            "Some(4) 1 Answered Some(200) 0",
            "Some(5) sent 2 GET",
            "Some(7) modified a",
            "Some(8) sent 3 PUT",
            "Some(9) modified b",
            "Some(10) refused no",
            "Some(11) 2 Failed(\"reset\") Some(200) 0",
            "None 3 Unknown None 0",
        ];
        assert_eq!(told("order", &lines, None), (expected.map(str::to_owned).to_vec(), None));
        let named = told("named", &lines, Some("\"b\"")).0;
        assert!(
            !named.iter().any(|word| word.contains("modified a"))
                && named.iter().any(|word| word.contains("modified b"))
        );
    }

    #[test]
    fn a_bad_line_is_the_last_item_behind_all_that_stands_before_it() {
        let call = r#"{"t":0,"id":1,"request":{"method":"POST","path":"/api/v1/nodes","body":{}}}"#;
        let (told, error) = told("bad", &[call, "{\"t\":1,"], None);
        assert_eq!(told, ["Some(1) sent 1 POST", "None 1 Unknown None 0"]);
        assert!(error.unwrap().contains(":2: the line breaks off"));
    }

    #[test]
    fn an_answer_is_kept_up_to_the_limit_of_an_object() {
        let (mut calls, most) = (Calls::default(), 10);
        let request = crate::capture::format::RequestRecord::new("GET", "/api/v1/nodes/a".to_owned());
        calls.open(Call::of(0, 1, &request));
        let parse = |line: &'static str| match Line::parse(line.as_bytes()) {
            Ok(Line::Record(Record { payload, .. })) => payload,
            other => panic!("{other:?}"),
        };
        calls.take(1, &parse(r#"{"t":0,"id":1,"response":{"status":200}}"#), most);
        for _ in 0..3 {
            calls.take(1, &parse(r#"{"t":0,"id":1,"data":"123456"}"#), most);
        }
        let Payload::End(end) = parse(r#"{"t":0,"id":1,"end":"eof"}"#) else { panic!() };
        let call = calls.end(1, &end).unwrap();
        assert_eq!(
            (call.answer.unwrap().body, call.is_cut, call.end, calls.bytes),
            (b"1234561234".to_vec(), true, CallEnd::Answered, 0)
        );
    }
}
