//! What stands around the objects of an answer: the gaps between events, the fields of a list.

use super::answer::Body;
use super::fields::{LIST_META, Shape, bits};
use super::problem::{Cause, Problem};
use super::walk::{Slots, Walk};
use crate::framing::{Scanner, is_escaped, is_no_value, is_space, may_begin_behind};
use memchr::memchr;

/// The place in an answer. It agrees with the [`Framer`](crate::framing::Framer), which needs whole frames.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    body: Body,
    state: State,
    scanner: Scanner,
    /// The beginning of a field's name or value, as it is written.
    raw: heapless::Vec<u8, RAW>,
    /// The list's `items` was seen, perhaps empty or null.
    items_seen: bool,
    /// The last byte of an unfinished event that is no space.
    last: u8,
}

/// One byte more than `items` in quotes, each letter an escape.
const RAW: usize = 5 * r"\u0000".len() + 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Between the events of a watch, or before the value.
    Gap,
    Value,
    /// At the beginning of a further line of an event.
    Indentation,
    /// In a line that is no event.
    BadLine(Problem),
    /// Before the bracket that opens a list.
    ListStart,
    /// Between the fields of a list.
    Fields,
    Name,
    Colon,
    Metadata,
    Field {
        is_items: bool,
    },
    /// Between the items of a list.
    Items,
    Item,
    /// Behind the list or the value.
    Done,
    NotAList,
}

/// What has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ended {
    /// An event, an item or an object; with what is wrong around it.
    Value(Option<Problem>),
    ListMeta,
    Status,
    /// The body is no list.
    NotAList,
}

impl Envelope {
    pub(super) const fn new() -> Self {
        Self {
            body: Body::List,
            state: State::ListStart,
            scanner: Scanner::NEW,
            raw: heapless::Vec::new(),
            items_seen: false,
            last: 0,
        }
    }

    pub(super) fn start(&mut self, body: Body) {
        let state = if body == Body::List { State::ListStart } else { State::Gap };
        *self = Self { body, state, ..Self::new() };
    }

    /// The kind of answer, and whether it is complete if it ends here.
    pub(super) fn finish(&self) -> (Body, bool) {
        (self.body, self.state == State::Done)
    }

    /// The shape of the values of the answer.
    pub(super) fn shape(&self) -> Shape {
        match self.body {
            Body::Watch => Shape::Event,
            Body::List | Body::Object => Shape::Object,
            Body::Refusal(_) => Shape::Status,
        }
    }

    /// Reads `bytes` from the front, until something ends.
    pub(super) fn advance(&mut self, bytes: &mut &[u8], walk: &mut Walk, slots: &mut dyn Slots) -> Option<Ended> {
        while let Some(byte) = bytes.first().copied() {
            let (len, ended) = self.step(byte, bytes, walk, slots);
            *bytes = &bytes[len..];
            if ended.is_some() {
                return ended;
            }
        }
        None
    }

    /// Whether a value is being read, so that a slot may panic.
    pub(super) fn is_in_value(&self) -> bool {
        matches!(self.state, State::Value | State::Metadata | State::Item)
    }

    /// Reads on; returns how many bytes belong to what was read besides those that the walk took.
    fn step(&mut self, byte: u8, bytes: &mut &[u8], walk: &mut Walk, slots: &mut dyn Slots) -> (usize, Option<Ended>) {
        match self.state {
            State::Value if self.body == Body::Watch => self.on_event(bytes, walk, slots),
            State::Indentation => self.on_indentation(byte, bytes, walk, slots),
            State::Value | State::Metadata | State::Item => self.on_value(bytes, walk, slots),
            State::BadLine(problem) => self.on_bad_line(problem, bytes),
            State::Name => self.on_name(bytes),
            State::Field { is_items } => self.on_field(is_items, bytes),
            State::Done | State::NotAList => (bytes.len(), None),
            _ if is_space(byte) => (1, None),
            State::Gap => (self.begin_value(byte, walk), None),
            State::ListStart => self.on_list_start(byte),
            State::Fields => self.on_fields(byte),
            State::Colon => self.on_colon(byte, walk, slots),
            State::Items => self.on_items(byte, walk),
        }
    }

    /// The value begins at the byte, unless no event begins so.
    fn begin_value(&mut self, byte: u8, walk: &mut Walk) -> usize {
        walk.start(self.shape());
        self.state = if self.body == Body::Watch && !matches!(byte, b'{' | b'[') {
            State::BadLine(Problem { field: None, cause: Cause::Syntax("expected an event"), at: 0 })
        } else {
            State::Value
        };
        0
    }

    fn on_value(&mut self, bytes: &mut &[u8], walk: &mut Walk, slots: &mut dyn Slots) -> (usize, Option<Ended>) {
        walk.feed(bytes, bytes.len(), slots);
        if !walk.is_done() {
            return (0, None);
        }
        let (state, ended) = match (self.state, self.body) {
            (State::Metadata, _) => (State::Fields, Ended::ListMeta),
            (State::Item, _) => (State::Items, Ended::Value(None)),
            (_, Body::Refusal(_)) => (State::Done, Ended::Status),
            _ => (State::Done, Ended::Value(None)),
        };
        self.state = state;
        (0, Some(ended))
    }

    /// Goes on to the end of an event, at most to the end of the line.
    fn on_event(&mut self, bytes: &mut &[u8], walk: &mut Walk, slots: &mut dyn Slots) -> (usize, Option<Ended>) {
        let (rest, line) = (*bytes, memchr(b'\n', bytes).map(|end| end + 1));
        let most = line.unwrap_or(rest.len());
        walk.feed(bytes, most, slots);
        if walk.is_done() {
            self.state = State::Gap;
            return (0, Some(Ended::Value(None)));
        }
        self.last = rest[..most].iter().rfind(|byte| !is_space(**byte)).copied().unwrap_or(self.last);
        match line {
            Some(_) if walk.is_in_string() => return self.cut(walk, "the line ends within a string"),
            Some(_) => self.state = State::Indentation,
            None => {}
        }
        (0, None)
    }

    fn on_indentation(
        &mut self,
        byte: u8,
        bytes: &mut &[u8],
        walk: &mut Walk,
        slots: &mut dyn Slots,
    ) -> (usize, Option<Ended>) {
        if is_space(byte) {
            walk.feed(bytes, 1, slots);
        } else if byte == b'{' && !may_begin_behind(self.last) {
            return self.cut(walk, "the event breaks off");
        } else {
            self.state = State::Value;
        }
        (0, None)
    }

    /// Ends an event that breaks off.
    fn cut(&mut self, walk: &Walk, why: &'static str) -> (usize, Option<Ended>) {
        self.state = State::Gap;
        (0, Some(Ended::Value(Some(Problem { field: None, cause: Cause::Syntax(why), at: walk.offset() }))))
    }

    fn on_bad_line(&mut self, problem: Problem, bytes: &[u8]) -> (usize, Option<Ended>) {
        match memchr(b'\n', bytes) {
            None => (bytes.len(), None),
            Some(end) => {
                self.state = State::Gap;
                (end + 1, Some(Ended::Value(Some(problem))))
            }
        }
    }

    fn on_list_start(&mut self, byte: u8) -> (usize, Option<Ended>) {
        if byte != b'{' {
            return self.give_up();
        }
        self.state = State::Fields;
        (1, None)
    }

    fn on_fields(&mut self, byte: u8) -> (usize, Option<Ended>) {
        match byte {
            b',' => (1, None),
            b'"' => {
                self.raw.clear();
                self.state = State::Name;
                (0, None)
            }
            b'}' if self.items_seen => {
                self.state = State::Done;
                (1, None)
            }
            _ => self.give_up(),
        }
    }

    fn on_name(&mut self, bytes: &[u8]) -> (usize, Option<Ended>) {
        let (len, is_end) = self.pass_over(bytes);
        if is_end {
            self.state = State::Colon;
        }
        (len, None)
    }

    fn on_colon(&mut self, byte: u8, walk: &mut Walk, slots: &mut dyn Slots) -> (usize, Option<Ended>) {
        let is_items = &*self.raw == b"\"items\"";
        if byte == b':' {
            return (1, None);
        }
        if is_no_value(byte) || self.is_ambiguous(is_items) {
            return self.give_up();
        }
        if byte == b'[' && is_items {
            (self.items_seen, self.state) = (true, State::Items);
            return (1, None);
        }
        if &*self.raw == b"\"metadata\"" {
            bits(LIST_META).for_each(|field| slots.slot(field).clear());
            walk.start(Shape::ListMeta);
            self.state = State::Metadata;
        } else {
            self.raw.clear();
            self.state = State::Field { is_items };
        }
        (0, None)
    }

    /// Whether a field is a second `items`, or an `items` with escapes: see the framer.
    fn is_ambiguous(&self, is_items: bool) -> bool {
        let name = self.raw.get(1..self.raw.len() - 1).unwrap_or_default();
        if is_items { self.items_seen } else { is_escaped(name, b"items") }
    }

    /// A field around the items that nobody reads. If `items` is null, the list is empty.
    fn on_field(&mut self, is_items: bool, bytes: &[u8]) -> (usize, Option<Ended>) {
        let (len, is_end) = self.pass_over(bytes);
        if is_end {
            if is_items && &*self.raw != b"null" {
                return self.give_up();
            }
            self.items_seen |= is_items;
            self.state = State::Fields;
        }
        (len, None)
    }

    fn on_items(&mut self, byte: u8, walk: &mut Walk) -> (usize, Option<Ended>) {
        match byte {
            b',' => (1, None),
            b']' => {
                self.state = State::Fields;
                (1, None)
            }
            b'}' => self.give_up(),
            _ => {
                walk.start(Shape::Object);
                self.state = State::Item;
                (0, None)
            }
        }
    }

    fn give_up(&mut self) -> (usize, Option<Ended>) {
        self.state = State::NotAList;
        (0, Some(Ended::NotAList))
    }

    /// Passes over a name or a value, and keeps its beginning; says whether it ended.
    fn pass_over(&mut self, bytes: &[u8]) -> (usize, bool) {
        let end = self.scanner.end_of_value(bytes);
        let len = end.unwrap_or(bytes.len());
        let kept = len.min(RAW - self.raw.len());
        drop(self.raw.extend_from_slice(&bytes[..kept]));
        (len, end.is_some())
    }
}
