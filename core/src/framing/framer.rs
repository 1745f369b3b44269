//! Divides a body into frames, which are decoded one by one.

use super::scan::{Scanner, is_space};
use core::ops::Range;
use memchr::memchr;

/// How a body is divided into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One frame a JSON value, of any layout: a watch. An API server sends a line for each, and a proxy or kubectl may not.
    ///
    /// A value that breaks off would swallow those behind it. So it ends with its line if that ends in a string. It also
    /// ends before a line that begins with a brace where no value can begin.
    Values,
    /// One frame an item of a list, and one a field around the items.
    List,
    /// The same, or one frame a row of a `meta.k8s.io` Table: whichever of `items` and `rows` the body has.
    Table,
}

/// A part of a body, borrowed from the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'b> {
    /// A value, or a line that begins none.
    Value(&'b [u8]),
    /// An item of a list.
    Item(&'b [u8]),
    /// A row of a Table.
    Row(&'b [u8]),
    /// Another field of a list.
    Field {
        /// Its name, without the quotes.
        name: &'b [u8],
        /// Its value.
        value: &'b [u8],
    },
    /// The list is complete.
    ListEnd,
    /// A frame was longer than the limit and was skipped. The frames behind it follow.
    TooLong,
    /// The body is no list, or has its items twice. No other frame follows.
    NotAList,
}

/// Finds the frames in a body that arrives in pieces.
///
/// It owns no bytes. The caller keeps the bytes in a buffer, passes all of it to each call, and drops as many from its
/// front as [`reclaim`](Self::reclaim) says. The framer scans each byte once. It skips a frame over the limit without
/// storing it.
///
/// ```
/// use listwatch_core::framing::{Frame, Framer, Framing};
///
/// let mut framer = Framer::new(Framing::List, 1024);
/// let mut buffer = Vec::from(r#"{"kind":"PodList","items":[{"a":1},{"#);
/// assert_eq!(framer.next_frame(&buffer), Some(Frame::Field { name: b"kind", value: br#""PodList""# }));
/// assert_eq!(framer.next_frame(&buffer), Some(Frame::Item(br#"{"a":1}"#)));
/// assert_eq!(framer.next_frame(&buffer), None);
///
/// buffer.drain(..framer.reclaim());
/// buffer.extend_from_slice(br#""a":2}]}"#);
/// assert_eq!(framer.next_frame(&buffer), Some(Frame::Item(br#"{"a":2}"#)));
/// assert_eq!(framer.next_frame(&buffer), Some(Frame::ListEnd));
/// assert!(framer.is_complete());
/// ```
#[derive(Clone, Debug)]
pub struct Framer {
    state: State,
    scanner: Scanner,
    limit: usize,
    /// Where the unfinished frame begins. The bytes before it can be dropped.
    start: usize,
    /// How far the buffer has been scanned.
    scanned: usize,
    /// The unfinished frame is over the limit: its bytes are dropped as they come.
    skipping: bool,
    /// The list's `items` was seen, perhaps empty or null.
    items_seen: bool,
    /// Rows count as items.
    table: bool,
    /// The items that come are rows.
    in_rows: bool,
    /// The last byte of an unfinished value that is no space.
    last: u8,
    /// Where the last guessed line began.
    #[cfg(feature = "json")]
    guess: usize,
    /// A line was guessed that was not one value.
    #[cfg(feature = "json")]
    has_misguessed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Between values.
    Gap,
    /// In a value, and in its first line.
    FirstLine,
    /// In a further line of a value.
    Line,
    /// In a value, at the beginning of such a line.
    Indentation,
    /// A line among values that is no JSON value.
    Stray,
    /// Before the bracket that opens a list.
    ListStart,
    /// Between the fields of a list.
    Fields,
    Name,
    /// Between a field's name, which ends before `name_end`, and its value; both count from the frame's start.
    Colon {
        name_end: usize,
    },
    Field {
        name_end: usize,
        value: usize,
    },
    /// Between the items of a list.
    Items,
    Item,
    /// Behind the list.
    Done,
    NotAList,
}

impl Framer {
    /// A framer at the beginning of a body, for frames of at most `limit` bytes.
    #[must_use]
    pub fn new(framing: Framing, limit: usize) -> Self {
        let state = match framing {
            Framing::Values => State::Gap,
            Framing::List | Framing::Table => State::ListStart,
        };
        Self {
            state,
            scanner: Scanner::default(),
            limit,
            start: 0,
            scanned: 0,
            skipping: false,
            items_seen: false,
            table: framing == Framing::Table,
            in_rows: false,
            last: 0,
            #[cfg(feature = "json")]
            guess: 0,
            #[cfg(feature = "json")]
            has_misguessed: false,
        }
    }

    /// The next frame in `buffer`, which holds every byte that has arrived and was not reclaimed. `None` if the framer
    /// needs more bytes.
    #[must_use]
    pub fn next_frame<'b>(&mut self, buffer: &'b [u8]) -> Option<Frame<'b>> {
        while self.scanned < buffer.len() {
            let found = match self.state {
                State::Gap => self.on_gap(buffer),
                State::FirstLine | State::Line => self.on_line(buffer),
                State::Indentation => self.on_indentation(buffer),
                State::Stray => self.on_stray(buffer),
                State::ListStart => self.on_list_start(buffer),
                State::Fields => self.on_fields(buffer),
                State::Name => self.on_name(buffer),
                State::Colon { name_end } => self.on_colon(buffer, name_end),
                State::Field { name_end, value } => self.on_field(buffer, name_end, value),
                State::Items => self.on_items(buffer),
                State::Item => self.on_value(buffer, State::Items).map(Found::Item),
                State::Done | State::NotAList => {
                    self.drop_all(buffer);
                    None
                }
            };
            if let Some(found) = found {
                return Some(self.frame(buffer, found));
            }
            self.enforce_limit();
        }
        None
    }

    /// How many bytes at the front of the buffer are no longer needed. The caller drops them before the next call.
    #[must_use]
    pub fn reclaim(&mut self) -> usize {
        let count = core::mem::take(&mut self.start);
        self.scanned -= count;
        count
    }

    /// Whether the body is complete if it ends here. A value, and a list, needs all its brackets.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::Gap | State::Done)
    }

    /// The line that a value begins, as a guess: nearly always it is that value and nothing else. To look for the end of a
    /// line takes a tenth of the time that the brackets take. A caller that cannot decode it asks
    /// [`misguessed`](Self::misguessed). `None` if the brackets have to tell.
    #[cfg(feature = "json")]
    pub(crate) fn guess_line<'b>(&mut self, buffer: &'b [u8]) -> Option<&'b [u8]> {
        if self.state == State::Gap && !self.has_misguessed {
            self.on_gap(buffer);
        }
        if self.state != State::FirstLine || self.skipping || self.has_misguessed {
            return None;
        }
        let end = self.scanned + memchr(b'\n', &buffer[self.scanned..])?;
        if end - self.start > self.limit {
            return None;
        }
        (self.guess, self.state, self.scanner) = (self.start, State::Gap, Scanner::default());
        Some(&buffer[self.end_frame(end, end + 1)])
    }

    /// Whether the last guessed line is not one value and nothing else. Then its frames follow, and no line is guessed any
    /// more.
    #[cfg(feature = "json")]
    pub(crate) fn misguessed(&mut self, buffer: &[u8]) -> bool {
        let line = &buffer[self.guess..self.start];
        let rest = Scanner::default().end_of_value(line).map(|len| &line[len..]);
        self.has_misguessed = rest.is_none_or(|rest| !rest.iter().all(|byte| is_space(*byte)));
        if self.has_misguessed {
            (self.start, self.scanned) = (self.guess, self.guess);
        }
        self.has_misguessed
    }

    fn on_gap(&mut self, buffer: &[u8]) -> Option<Found> {
        if let Some(byte) = self.skip_space(buffer) {
            self.state = if matches!(byte, b'{' | b'[') { State::FirstLine } else { State::Stray };
        }
        None
    }

    /// Goes on to the end of a value, at most to the end of the line.
    fn on_line(&mut self, buffer: &[u8]) -> Option<Found> {
        let rest = &buffer[self.scanned..];
        let line = memchr(b'\n', rest).map(|end| &rest[..=end]);
        if let Some(length) = self.scanner.end_of_value(line.unwrap_or(rest)) {
            self.state = State::Gap;
            return Some(Found::Value(self.end_frame(self.scanned + length, self.scanned + length)));
        }
        let passed = line.unwrap_or(rest);
        self.scanned += passed.len();
        self.last = passed.iter().rfind(|byte| !is_space(**byte)).copied().unwrap_or(self.last);
        line?;
        if self.scanner.is_in_string() {
            return Some(self.cut());
        }
        self.state = State::Indentation;
        None
    }

    fn on_indentation(&mut self, buffer: &[u8]) -> Option<Found> {
        self.scanned += buffer[self.scanned..].iter().take_while(|byte| is_space(**byte)).count();
        if *buffer.get(self.scanned)? == b'{' && !may_begin_behind(self.last) {
            return Some(self.cut());
        }
        self.state = State::Line;
        None
    }

    /// Ends a value that breaks off.
    fn cut(&mut self) -> Found {
        (self.state, self.scanner) = (State::Gap, Scanner::default());
        Found::Value(self.end_frame(self.scanned, self.scanned))
    }

    fn on_stray(&mut self, buffer: &[u8]) -> Option<Found> {
        let Some(length) = memchr(b'\n', &buffer[self.scanned..]) else {
            self.scanned = buffer.len();
            return None;
        };
        self.state = State::Gap;
        Some(Found::Value(self.end_frame(self.scanned + length, self.scanned + length + 1)))
    }

    /// Goes on to the end of a value, and from there to `after`.
    fn on_value(&mut self, buffer: &[u8], after: State) -> Option<Range<usize>> {
        let Some(length) = self.scanner.end_of_value(&buffer[self.scanned..]) else {
            self.scanned = buffer.len();
            return None;
        };
        self.state = after;
        Some(self.end_frame(self.scanned + length, self.scanned + length))
    }

    fn on_list_start(&mut self, buffer: &[u8]) -> Option<Found> {
        let byte = self.skip_space(buffer)?;
        if byte != b'{' {
            return self.give_up(buffer);
        }
        self.skip_byte();
        self.state = State::Fields;
        None
    }

    fn on_fields(&mut self, buffer: &[u8]) -> Option<Found> {
        match self.skip_space(buffer)? {
            b',' => self.skip_byte(),
            b'"' => self.state = State::Name,
            b'}' if self.items_seen => {
                self.skip_byte();
                self.state = State::Done;
                return Some(Found::ListEnd);
            }
            _ => return self.give_up(buffer),
        }
        None
    }

    fn on_name(&mut self, buffer: &[u8]) -> Option<Found> {
        match self.scanner.end_of_value(&buffer[self.scanned..]) {
            None => self.scanned = buffer.len(),
            Some(length) => {
                self.scanned += length;
                self.state = State::Colon { name_end: self.scanned - 1 - self.start };
            }
        }
        None
    }

    fn on_colon(&mut self, buffer: &[u8], name_end: usize) -> Option<Found> {
        let byte = buffer[self.scanned];
        if byte == b':' || is_space(byte) {
            self.scanned += 1;
        } else if is_no_value(byte) || self.is_ambiguous(buffer, name_end) {
            return self.give_up(buffer);
        } else if byte == b'[' && self.is_items(buffer, name_end) {
            self.in_rows = self.is_rows(buffer, name_end);
            self.scanned += 1;
            self.start = self.scanned;
            self.items_seen = true;
            self.state = State::Items;
        } else {
            self.state = State::Field { name_end, value: self.scanned - self.start };
        }
        None
    }

    /// A field around the items. If `items` is null, the list is empty; if it is no array, the body is no list. A field
    /// over the limit is skipped.
    fn on_field(&mut self, buffer: &[u8], name_end: usize, value: usize) -> Option<Found> {
        let is_items = self.is_items(buffer, name_end);
        let frame = self.on_value(buffer, State::Fields)?;
        let is_items = is_items && frame.len() <= self.limit;
        if is_items && &buffer[frame.start + value..frame.end] != b"null" {
            return self.give_up(buffer);
        }
        self.items_seen |= is_items;
        Some(Found::Field { frame, name_end, value })
    }

    fn is_items(&self, buffer: &[u8], name_end: usize) -> bool {
        let is_list = !self.skipping && &buffer[self.start..self.start + name_end] == b"\"items";
        is_list || self.is_rows(buffer, name_end)
    }

    fn is_rows(&self, buffer: &[u8], name_end: usize) -> bool {
        self.table && !self.skipping && &buffer[self.start..self.start + name_end] == b"\"rows"
    }

    /// Whether a field is a second `items`, or an `items` with escapes, which no server writes. Go takes the last field
    /// of a name, but these items were already read, so the objects of such a list are unknown.
    fn is_ambiguous(&self, buffer: &[u8], name_end: usize) -> bool {
        if self.skipping {
            return false;
        }
        if self.is_items(buffer, name_end) {
            return self.items_seen;
        }
        let name = &buffer[self.start + 1..self.start + name_end];
        is_escaped(name, b"items") || (self.table && is_escaped(name, b"rows"))
    }

    fn on_items(&mut self, buffer: &[u8]) -> Option<Found> {
        match self.skip_space(buffer)? {
            b',' => self.skip_byte(),
            b']' => {
                self.skip_byte();
                self.state = State::Fields;
            }
            b'}' => return self.give_up(buffer),
            _ => self.state = State::Item,
        }
        None
    }

    fn give_up(&mut self, buffer: &[u8]) -> Option<Found> {
        self.drop_all(buffer);
        self.state = State::NotAList;
        Some(Found::NotAList)
    }

    /// Ends the frame before `end`; the next one begins at `next`.
    fn end_frame(&mut self, end: usize, next: usize) -> Range<usize> {
        let frame = self.start..end;
        self.start = next;
        self.scanned = next;
        frame
    }

    /// Skips white space between frames; gives the byte behind it.
    fn skip_space(&mut self, buffer: &[u8]) -> Option<u8> {
        let spaces = buffer[self.scanned..].iter().take_while(|byte| is_space(**byte)).count();
        self.scanned += spaces;
        self.start = self.scanned;
        buffer.get(self.scanned).copied()
    }

    fn skip_byte(&mut self) {
        self.scanned += 1;
        self.start = self.scanned;
    }

    fn drop_all(&mut self, buffer: &[u8]) {
        self.scanned = buffer.len();
        self.start = self.scanned;
    }

    fn enforce_limit(&mut self) {
        self.skipping |= self.scanned - self.start > self.limit;
        if self.skipping {
            self.start = self.scanned;
        }
    }

    fn frame<'b>(&mut self, buffer: &'b [u8], found: Found) -> Frame<'b> {
        let range = match &found {
            Found::Value(range) | Found::Item(range) | Found::Field { frame: range, .. } => range.clone(),
            Found::ListEnd => return Frame::ListEnd,
            Found::NotAList => return Frame::NotAList,
        };
        if core::mem::take(&mut self.skipping) || range.len() > self.limit {
            return Frame::TooLong;
        }
        let frame = &buffer[range];
        match found {
            Found::Item(_) if self.in_rows => Frame::Row(frame),
            Found::Item(_) => Frame::Item(frame),
            Found::Field { name_end, value, .. } => Frame::Field { name: &frame[1..name_end], value: &frame[value..] },
            _ => Frame::Value(frame),
        }
    }
}

/// Whether a value may begin behind this byte, in an array or in an object.
pub(crate) const fn may_begin_behind(byte: u8) -> bool {
    matches!(byte, b':' | b',' | b'[')
}

/// Whether no value begins with this byte. It is what follows on a value, and the scanner would read on behind it.
pub(crate) const fn is_no_value(byte: u8) -> bool {
    matches!(byte, b',' | b']' | b'}')
}

/// Whether a name, without its quotes, is `word` once its escapes are read.
pub(crate) fn is_escaped(mut name: &[u8], word: &[u8]) -> bool {
    word.iter().all(|letter| {
        let (read, rest) = match name {
            [b'\\', b'u', hex @ ..] if hex.len() >= 4 => {
                let hex = core::str::from_utf8(&hex[..4]).ok();
                (hex.and_then(|hex| u16::from_str_radix(hex, 16).ok()), &name[6..])
            }
            [byte, rest @ ..] => (Some(u16::from(*byte)), rest),
            [] => (None, name),
        };
        name = rest;
        read == Some(u16::from(*letter))
    }) && name.is_empty()
}

/// A frame as places in the buffer.
enum Found {
    Value(Range<usize>),
    Item(Range<usize>),
    Field { frame: Range<usize>, name_end: usize, value: usize },
    ListEnd,
    NotAList,
}

#[cfg(test)]
mod tests;
