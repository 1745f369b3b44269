use super::answer::{Body, Cause, Ending, Part, Problem};
use super::draft::{Draft, ListDraft};
use super::fields::{
    BOOKMARK, Fields, INITIAL_EVENTS_END, LIST_META, METADATA, NAME, NAMESPACE, Shape, TYPE, VERSION, bits, checked,
};
use super::object::Projection;
use super::walk::{Slots, Walk};
use crate::framing::{Ended, EventKind, EventType, Layout, Outline, Step, Values};

/// Projects objects out of answers while their bytes arrive.
///
/// It keeps no byte of the text: key, uid, version and the fields of `P` are copied as they go by. So its size is that
/// of one projected object and about 1.5 KB, however large an object is. Bytes may come in any pieces.
///
/// It agrees with [`Json`](crate::decode::Json) on what an answer consists of. It differs where it does not look: in a
/// value that no field reads, neither JSON nor UTF-8 is checked, and metadata besides name, namespace, uid and version
/// may have any type. An object may have any size.
///
/// It also refuses two events that `Json` takes. If the object of an `ERROR` event is no JSON where the projector reads
/// it, the event is [`Part::Undecodable`]; `Json` makes it an error of code 0. If the object of a `BOOKMARK` is no
/// object, the event is undecodable as well; `Json` makes it a bookmark without a version.
///
/// ```
/// use listwatch_core::framing::EventType;
/// use listwatch_core::projection;
/// use listwatch_core::projection::{Body, Part, Projector, Text};
///
/// projection! {
///     struct PodLine {
///         node: Text<63> = "spec.nodeName",
///         ready: Text<7> = "status.conditions[type=Ready].status",
///     }
/// }
///
/// let mut projector = Projector::<PodLine>::new();
/// projector.start(Body::Watch);
/// let mut bytes = &br#"{"type":"ADDED","object":{"metadata":{"namespace":"team-0","name":"web-1"},"spec":{"nodeName":"node-1"},
///     "status":{"conditions":[{"status":"True","type":"Ready"}]}}}"#[..];
/// let Some(Part::Event(EventType::Added, pod)) = projector.next_part(&mut bytes) else { panic!("an event") };
/// assert_eq!(pod.key(), "team-0/web-1");
/// assert_eq!((pod.value.node.as_str(), pod.value.ready.as_str()), ("node-1", "True"));
/// ```
#[derive(Clone, Debug)]
pub struct Projector<P, const KEY: usize = 128> {
    body: Body,
    outline: Outline,
    walk: Walk,
    draft: Draft<P, KEY>,
    /// Why the metadata of the list cannot be used.
    unusable: Option<Problem>,
    /// A part is being read. If this is true at the next call, the projection panicked.
    reading: bool,
}

impl<P: Projection, const KEY: usize> Projector<P, KEY> {
    /// A projector before its first answer. In a constant or a static, it takes no place on the stack.
    #[must_use]
    pub const fn new() -> Self {
        let fields = Fields { shape: Shape::Object, projected: const { checked(P::FIELDS) } };
        Self {
            body: Body::List,
            outline: Outline::new(LIST),
            walk: Walk::new(fields),
            draft: Draft::ABSENT,
            unusable: None,
            reading: false,
        }
    }

    /// Begins an answer. The state of an earlier one is forgotten.
    pub fn start(&mut self, body: Body) {
        (self.body, self.outline) = (body, Outline::new(body.layout()));
        self.walk.start(body.shape());
        *self.draft.list_mut() = ListDraft::ABSENT;
        (self.unusable, self.reading) = (None, false);
        self.draft.start();
    }

    /// Reads `bytes` from the front, up to the end of the next part; `None` where all of them were read.
    ///
    /// If the projection panics, `bytes` begins with what was not read. A caller that catches the panic calls this again
    /// with it: the object is [`Part::Undecodable`], and the answer goes on behind it.
    pub fn next_part(&mut self, bytes: &mut &[u8]) -> Option<Part<P, KEY>> {
        let panicked = core::mem::replace(&mut self.reading, true);
        if panicked {
            self.walk.give_up();
        }
        let part = if panicked && !self.outline.is_in_value() { Some(self.end_part(None)) } else { self.read(bytes) };
        self.reading = false;
        part
    }

    /// Ends the answer, whose bytes have all been read.
    pub fn finish(&mut self) -> Ending<'_> {
        let is_complete = self.outline.is_done();
        match self.body {
            Body::List if !is_complete => Ending::Truncated,
            Body::List => self.list(),
            Body::Watch => Ending::Watch,
            Body::Object if is_complete => Ending::Object,
            Body::Object => Ending::Truncated,
            Body::Refusal(code) => {
                if !is_complete || self.walk.broken().is_some() {
                    self.draft.start();
                }
                Ending::Refusal(self.draft.status(code))
            }
        }
    }

    fn read(&mut self, bytes: &mut &[u8]) -> Option<Part<P, KEY>> {
        while !bytes.is_empty() {
            let mut reading = Reading { walk: &mut self.walk, slots: &mut self.draft, shape: self.body.shape() };
            let Step::Ended(ended) = self.outline.step(bytes, &mut reading) else { continue };
            let problem = |message, at| Some(Problem { field: None, cause: Cause::Syntax(message), at });
            match (ended, self.body) {
                (Ended::Value, Body::Refusal(_)) | (Ended::Field | Ended::List, _) => {}
                (Ended::Value | Ended::Item { .. }, _) => return Some(self.end_part(None)),
                (Ended::Cut(why), _) => return Some(self.end_part(problem(why, self.walk.offset()))),
                (Ended::Stray, _) => return Some(self.end_part(problem("expected an event", 0))),
                (Ended::Metadata, _) => self.end_list_meta(),
                (Ended::NotAList, _) => return Some(Part::NotAList),
            }
        }
        None
    }

    fn end_part(&mut self, problem: Option<Problem>) -> Part<P, KEY> {
        let part = self.part(problem);
        self.draft.start();
        part
    }

    fn list(&self) -> Ending<'_> {
        if let Some(problem) = self.unusable {
            return Ending::UnusableList(problem);
        }
        let ListDraft { version, token, remaining } = self.draft.list();
        Ending::List { resource_version: version, continue_token: token, remaining: *remaining }
    }

    /// Metadata that is no such thing counts as absent, as in [`ListMeta`](crate::decode::ListMeta).
    fn end_list_meta(&mut self) {
        let refused = self.walk.refused(LIST_META);
        self.unusable = refused.filter(|problem| matches!(problem.cause, Cause::TooLong { .. }));
        if self.walk.broken().is_some() || refused.is_some() {
            *self.draft.list_mut() = ListDraft::ABSENT;
        }
    }

    /// The part that the value is; `problem` is what is wrong around it.
    fn part(&self, problem: Option<Problem>) -> Part<P, KEY> {
        let broken = self.walk.broken().or(problem);
        let is_event = self.body == Body::Watch;
        let part = match broken {
            Some(broken) => Err(broken),
            None if is_event => self.event(),
            None => self.object().map(Part::Item),
        };
        part.unwrap_or_else(|problem| {
            let mut refused = self.draft.refused(problem, broken.is_none());
            if self.walk.refused(1 << NAME | 1 << NAMESPACE).is_some() {
                refused.key = None;
            }
            if self.walk.refused(1 << VERSION).is_some() {
                refused.version = None;
            }
            refused.event_type = self.event_type().filter(|_| is_event);
            Part::Undecodable(refused)
        })
    }

    fn event(&self) -> Result<Part<P, KEY>, Problem> {
        let problem = |cause| Problem { field: None, cause, at: self.walk.offset() };
        if let Some(refused) = self.walk.refused(1 << TYPE) {
            return Err(refused);
        }
        if !self.walk.has_seen(1 << TYPE) || !self.walk.has_seen(METADATA) {
            return Err(problem(Cause::NoEvent));
        }
        match EventKind::of(self.draft.event_type()).ok_or_else(|| problem(Cause::UnknownType))? {
            EventKind::Object(event_type) => Ok(Part::Event(event_type, self.object()?)),
            EventKind::Bookmark => self.walk.refused(BOOKMARK & !(1 << INITIAL_EVENTS_END)).map_or_else(
                || {
                    let initial_events_end = self.draft.is_initial_events_end();
                    Ok(Part::Bookmark { version: self.draft.version().clone(), initial_events_end })
                },
                Err,
            ),
            EventKind::Error => Ok(Part::Error(self.draft.status(0))),
        }
    }

    fn object(&self) -> Result<super::Projected<P, KEY>, Problem> {
        let fields = self.walk.fields();
        match self.walk.refused(METADATA).or_else(|| self.walk.refused(fields.projected())) {
            Some(refused) => Err(refused),
            None => self.draft.object(self.walk.offset()),
        }
    }

    fn event_type(&self) -> Option<EventType> {
        match EventKind::of(self.draft.event_type())? {
            EventKind::Object(event_type) => Some(event_type),
            EventKind::Bookmark | EventKind::Error => None,
        }
    }
}

impl<P: Projection, const KEY: usize> Default for Projector<P, KEY> {
    fn default() -> Self {
        Self::new()
    }
}

/// The names of a list's items.
const LIST: Layout = Layout::List(&[b"items"]);

impl Body {
    fn layout(self) -> Layout {
        match self {
            Self::List => LIST,
            Self::Watch => Layout::Events,
            Self::Object | Self::Refusal(_) => Layout::Value,
        }
    }

    /// The shape of its values.
    fn shape(self) -> Shape {
        match self {
            Self::Watch => Shape::Event,
            Self::List | Self::Object => Shape::Object,
            Self::Refusal(_) => Shape::Status,
        }
    }
}

/// Reads the values of a body into slots.
struct Reading<'a> {
    walk: &'a mut Walk,
    slots: &'a mut dyn Slots,
    shape: Shape,
}

impl Values for Reading<'_> {
    const READS_METADATA: bool = true;

    fn begin(&mut self, is_metadata: bool) {
        if is_metadata {
            bits(LIST_META).for_each(|field| self.slots.slot(field).clear());
        }
        self.walk.start(if is_metadata { Shape::ListMeta } else { self.shape });
    }

    fn read(&mut self, bytes: &mut &[u8], most: usize) -> bool {
        self.walk.feed(bytes, most, self.slots);
        self.walk.is_done()
    }

    fn is_in_string(&self) -> bool {
        self.walk.is_in_string()
    }
}
