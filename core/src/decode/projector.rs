//! Answers in JSON, projected while their bytes arrive.

use super::answer::{Body, DecodeErrorOf, Ending, Part, Reason};
use crate::framing::{Ended, EventKind, Layout, Outline, Step};
use crate::projection::{self, Cause, Problem, Projected, Projection, Reading, Shape, Text};

/// Projects objects out of answers while their bytes arrive.
///
/// It keeps no byte of the text: key, uid, version and the fields of `P` are copied as they go by. So its size is that
/// of one projected object and about 1.5 KB, however large an object is. Bytes may come in any pieces.
///
/// It agrees with [`Json`](super::Json) on what an answer consists of. It differs where it does not look: in a
/// value that no field reads, neither JSON nor UTF-8 is checked, and metadata besides name, namespace, uid and version
/// may have any type. An object may have any size.
///
/// It also refuses two events that `Json` takes. If the object of an `ERROR` event is no JSON where the projector reads
/// it, the event is [`Part::Undecodable`]; `Json` makes it an error of code 0. If the object of a `BOOKMARK` is no
/// object, the event is undecodable as well; `Json` makes it a bookmark without a version.
///
/// ```
/// use listwatch_core::decode::{Body, EventType, Part, Projector};
/// use listwatch_core::projection;
/// use listwatch_core::projection::Text;
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
    value: Reading<P, KEY>,
    /// A part is being read. If this is true at the next call, the projection panicked.
    reading: bool,
}

impl<P: Projection, const KEY: usize> Projector<P, KEY> {
    /// A projector before its first answer. In a constant or a static, it takes no place on the stack.
    pub const fn new() -> Self {
        Self { body: Body::List, outline: Outline::new(LIST), value: Reading::new(), reading: false }
    }

    /// Begins an answer. The state of an earlier one is forgotten.
    pub fn start(&mut self, body: Body) {
        let (layout, shape) = match body {
            Body::List => (LIST, Shape::Object),
            Body::Watch => (Layout::Events, Shape::Event),
            Body::Object => (Layout::Value, Shape::Object),
            Body::Refusal(_) => (Layout::Value, Shape::Status),
        };
        (self.body, self.outline, self.reading) = (body, Outline::new(layout), false);
        self.value.start(shape);
    }

    /// Reads `bytes` from the front, up to the end of the next part; `None` where all of them were read.
    ///
    /// If the projection panics, `bytes` begins with what was not read. A caller that catches the panic calls this again
    /// with it: the object is [`Part::Undecodable`], and the answer goes on behind it.
    pub fn next_part(&mut self, bytes: &mut &[u8]) -> Option<Part<Projected<P, KEY>>> {
        let panicked = core::mem::replace(&mut self.reading, true);
        if panicked {
            self.value.give_up();
        }
        let part = if panicked && !self.outline.is_in_value() { Some(self.end_part(None)) } else { self.read(bytes) };
        self.reading = false;
        part
    }

    /// Ends the answer, whose bytes have all been read.
    pub fn finish(&mut self) -> Ending<'_> {
        let is_complete = self.outline.is_done();
        match self.body {
            Body::Watch => Ending::Watch,
            Body::Object if is_complete => Ending::Watch,
            Body::Refusal(code) => {
                if !is_complete || self.value.broken().is_some() {
                    self.value.forget();
                }
                Ending::Refusal(status_of(self.value.status(code)))
            }
            Body::List | Body::Object => match self.value.list().filter(|_| is_complete) {
                Some((resource_version, continue_token)) => Ending::List { resource_version, continue_token },
                None => Ending::TruncatedList,
            },
        }
    }

    fn read(&mut self, bytes: &mut &[u8]) -> Option<Part<Projected<P, KEY>>> {
        while !bytes.is_empty() {
            let Step::Ended(ended) = self.outline.step(bytes, &mut self.value) else { continue };
            match (ended, self.body) {
                (Ended::Value, Body::Refusal(_)) | (Ended::Field | Ended::List, _) => {}
                (Ended::Value | Ended::Item { .. }, _) => return Some(self.end_part(None)),
                (Ended::Cut(why), _) => return Some(self.end_part(Some(self.value.problem(Cause::Syntax(why))))),
                (Ended::Stray, _) => return Some(self.end_part(Some(STRAY))),
                (Ended::Metadata, _) => self.value.end_list_meta(),
                (Ended::NotAList, _) => return Some(Part::NotAList),
            }
        }
        None
    }

    /// The part that the value is; `problem` is what is wrong around it.
    fn end_part(&mut self, problem: Option<Problem>) -> Part<Projected<P, KEY>> {
        let part = match self.value.broken().or(problem) {
            Some(broken) => Err(self.undecodable(broken, false)),
            None if self.body == Body::Watch => self.event().map_err(|problem| self.undecodable(problem, true)),
            None => self.value.object().map(Part::Item).map_err(|problem| self.undecodable(problem, true)),
        };
        self.value.forget();
        part.unwrap_or_else(Part::Undecodable)
    }

    fn event(&self) -> Result<Part<Projected<P, KEY>>, Problem> {
        Ok(match self.value.event_kind()? {
            EventKind::Object(event_type) => Part::Event(event_type, self.value.object()?),
            EventKind::Bookmark => {
                let (version, initial_events_end) = self.value.bookmark()?;
                Part::Bookmark { version, initial_events_end }
            }
            EventKind::Error => Part::Error(status_of(self.value.status(0))),
        })
    }

    /// What could be read of an object that could not be decoded; nothing where it is no JSON.
    fn undecodable(&self, problem: Problem, is_json: bool) -> DecodeErrorOf<Text<KEY>> {
        let told = self.value.told_kind();
        DecodeErrorOf {
            key: self.value.key().filter(|_| is_json),
            version: self.value.version().filter(|_| is_json),
            event_type: if let Some(EventKind::Object(event_type)) = told { Some(event_type) } else { None },
            error: Reason::Problem(problem),
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

const STRAY: Problem = Problem { field: None, cause: Cause::Syntax("expected an event"), at: 0 };

#[cfg(feature = "json")]
fn status_of(status: projection::Status) -> super::Status {
    super::Status::of_parts(
        status.code,
        &status.reason,
        &status.message,
        status.retry_after(),
        status.is_version_too_large(),
    )
}

#[cfg(not(feature = "json"))]
fn status_of(status: projection::Status) -> projection::Status {
    status
}

#[cfg(all(test, feature = "json"))]
mod tests;
