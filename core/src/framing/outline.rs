//! What stands around the values of a body: the gaps between events, the fields of a list.

use super::scan::{Scanner, is_space};
use memchr::memchr;

/// The place in a body that arrives in pieces. It finds where values begin and end, and [`Values`] reads them.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    layout: Layout,
    region: Region,
    /// Passes over names and fields.
    scanner: Scanner,
    /// The beginning of a field's name or value, as it is written, and its length.
    raw: [u8; RAW],
    raw_len: usize,
    /// The list's items were seen, perhaps empty or null.
    items_seen: bool,
    /// The name that they have, by its place in the layout.
    items_name: usize,
    /// The last byte of an unfinished event that is no space.
    last: u8,
}

/// What a body consists of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    /// Values one behind the other, such as the events of a watch.
    Events,
    /// A list, whose items have one of these names.
    List(&'static [&'static [u8]]),
    /// One value.
    #[cfg(feature = "fixed")]
    Value,
}

/// Reads the values of a body.
pub(crate) trait Values {
    /// Whether it reads the metadata of a list.
    const READS_METADATA: bool;

    /// A value begins, or the metadata of a list.
    fn begin(&mut self, is_metadata: bool);

    /// Reads at most `most` of `bytes` from the front, and at most to the end of the value; says whether it ended.
    fn read(&mut self, bytes: &mut &[u8], most: usize) -> bool;

    /// Whether the bytes so far end in a string.
    fn is_in_string(&self) -> bool;
}

/// What was read in one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing that belongs to a value or a field.
    Between,
    /// A part of one.
    Within,
    /// The name of a field has ended.
    Named,
    /// The value of a field begins.
    Valued,
    /// Something has ended.
    Ended(Ended),
}

/// What has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ended {
    /// An event, or the only value.
    Value,
    /// An event that breaks off, for this reason.
    Cut(&'static str),
    /// A line that begins no event, with its end.
    Stray,
    /// An item of a list; whether it has the second of the names.
    Item { is_row: bool },
    /// A field around the items.
    Field,
    /// The metadata of a list.
    Metadata,
    /// The list is complete.
    List,
    /// The body is no list.
    NotAList,
}

/// One byte more than `items` in quotes, each letter an escape.
const RAW: usize = 5 * r"\u0000".len() + 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Region {
    /// Between the events, or before the only value.
    Gap,
    /// In an event, and in its first line.
    FirstLine,
    /// In a further line of an event.
    Line,
    /// In an event, at the beginning of such a line.
    Indentation,
    /// In a line that is no event.
    Stray,
    /// In the only value.
    Value,
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

impl Outline {
    pub(crate) const fn new(layout: Layout) -> Self {
        let region = if let Layout::List(_) = layout { Region::ListStart } else { Region::Gap };
        Self {
            layout,
            region,
            scanner: Scanner::NEW,
            raw: [0; RAW],
            raw_len: 0,
            items_seen: false,
            items_name: 0,
            last: 0,
        }
    }

    /// Whether the list, or the only value, is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.region == Region::Done
    }

    pub(crate) fn is_in_gap(&self) -> bool {
        self.region == Region::Gap
    }

    #[cfg(feature = "json")]
    pub(crate) fn is_in_first_line(&self) -> bool {
        self.region == Region::FirstLine
    }

    /// The event has ended with its line.
    #[cfg(feature = "json")]
    pub(crate) fn end_line(&mut self) {
        self.region = Region::Gap;
    }

    /// Whether a value is being read.
    #[cfg(feature = "fixed")]
    pub(crate) fn is_in_value(&self) -> bool {
        use Region::{FirstLine, Item, Line, Metadata, Value};
        matches!(self.region, FirstLine | Line | Value | Metadata | Item)
    }

    /// Reads on in `bytes`, of which there is at least one, from the front.
    pub(crate) fn step<V: Values>(&mut self, bytes: &mut &[u8], values: &mut V) -> Step {
        let byte = bytes.first().copied().unwrap_or(b' ');
        match self.region {
            Region::FirstLine | Region::Line => self.on_line(bytes, values),
            Region::Indentation => self.on_indentation(byte, bytes, values),
            Region::Value | Region::Metadata | Region::Item => self.on_value(bytes, values),
            Region::Stray => self.on_stray(bytes),
            Region::Name => self.on_name(bytes),
            Region::Colon => self.on_colon(byte, bytes, values),
            Region::Field { is_items } => self.on_field(is_items, bytes),
            Region::Done | Region::NotAList => passed(bytes, bytes.len()),
            _ if is_space(byte) => passed(bytes, spaces(bytes)),
            Region::Gap => self.on_gap(byte, values),
            Region::ListStart => self.on_list_start(byte, bytes),
            Region::Fields => self.on_fields(byte, bytes),
            Region::Items => self.on_items(byte, bytes, values),
        }
    }

    /// A value begins, or a line that is no event.
    fn on_gap<V: Values>(&mut self, byte: u8, values: &mut V) -> Step {
        values.begin(false);
        self.region = match (self.layout, byte) {
            (Layout::Events, b'{' | b'[') => Region::FirstLine,
            (Layout::Events, _) => Region::Stray,
            _ => Region::Value,
        };
        Step::Between
    }

    /// Goes on to the end of an event, at most to the end of the line.
    fn on_line<V: Values>(&mut self, bytes: &mut &[u8], values: &mut V) -> Step {
        let (rest, line) = (*bytes, memchr(b'\n', bytes).map(|end| end + 1));
        let most = line.unwrap_or(rest.len());
        if values.read(bytes, most) {
            self.region = Region::Gap;
            return Step::Ended(Ended::Value);
        }
        self.last = rest[..most].iter().rfind(|byte| !is_space(**byte)).copied().unwrap_or(self.last);
        if line.is_some() {
            if values.is_in_string() {
                return self.cut("the line ends within a string");
            }
            self.region = Region::Indentation;
        }
        Step::Within
    }

    fn on_indentation<V: Values>(&mut self, byte: u8, bytes: &mut &[u8], values: &mut V) -> Step {
        if is_space(byte) {
            values.read(bytes, spaces(bytes));
        } else if byte == b'{' && !matches!(self.last, b':' | b',' | b'[') {
            // No value begins behind the last byte, in an array or in an object.
            return self.cut("the event breaks off");
        } else {
            self.region = Region::Line;
        }
        Step::Within
    }

    /// Ends an event that breaks off.
    fn cut(&mut self, why: &'static str) -> Step {
        self.region = Region::Gap;
        Step::Ended(Ended::Cut(why))
    }

    fn on_stray(&mut self, bytes: &mut &[u8]) -> Step {
        let Some(end) = memchr(b'\n', bytes) else {
            *bytes = &[];
            return Step::Within;
        };
        *bytes = &bytes[end + 1..];
        self.region = Region::Gap;
        Step::Ended(Ended::Stray)
    }

    fn on_value<V: Values>(&mut self, bytes: &mut &[u8], values: &mut V) -> Step {
        if !values.read(bytes, bytes.len()) {
            return Step::Within;
        }
        let (region, ended) = match self.region {
            Region::Metadata => (Region::Fields, Ended::Metadata),
            Region::Item => (Region::Items, Ended::Item { is_row: self.items_name > 0 }),
            _ => (Region::Done, Ended::Value),
        };
        self.region = region;
        Step::Ended(ended)
    }

    fn on_list_start(&mut self, byte: u8, bytes: &mut &[u8]) -> Step {
        if byte != b'{' {
            return self.give_up(bytes);
        }
        self.region = Region::Fields;
        passed(bytes, 1)
    }

    fn on_fields(&mut self, byte: u8, bytes: &mut &[u8]) -> Step {
        match byte {
            b',' => passed(bytes, 1),
            b'"' => {
                (self.region, self.raw_len) = (Region::Name, 0);
                Step::Between
            }
            b'}' if self.items_seen => {
                *bytes = &bytes[1..];
                self.region = Region::Done;
                Step::Ended(Ended::List)
            }
            _ => self.give_up(bytes),
        }
    }

    fn on_name(&mut self, bytes: &mut &[u8]) -> Step {
        if !self.pass_over(bytes) {
            return Step::Within;
        }
        self.region = Region::Colon;
        Step::Named
    }

    fn on_colon<V: Values>(&mut self, byte: u8, bytes: &mut &[u8], values: &mut V) -> Step {
        if byte == b':' || is_space(byte) {
            *bytes = &bytes[1..];
            return Step::Within;
        }
        let name = self.raw().get(1..self.raw_len.saturating_sub(1)).unwrap_or_default();
        let names = if let Layout::List(names) = self.layout { names } else { &[] };
        let items = names.iter().position(|items| *items == name);
        // A second field of items, or one with escapes, which no server writes. Go takes the last field of a name, but
        // these items were already read, so the objects of such a list are unknown.
        let is_ambiguous = match items {
            Some(_) => self.items_seen,
            None => names.iter().any(|items| is_escaped(name, items)),
        };
        // The byte of no value is what follows on a value, and the scanner would read on behind it.
        if matches!(byte, b',' | b']' | b'}') || is_ambiguous {
            return self.give_up(bytes);
        }
        match items {
            Some(items) if byte == b'[' => {
                (self.items_seen, self.items_name, self.region) = (true, items, Region::Items);
                return passed(bytes, 1);
            }
            None if V::READS_METADATA && name == b"metadata" => {
                values.begin(true);
                self.region = Region::Metadata;
            }
            _ => (self.region, self.raw_len) = (Region::Field { is_items: items.is_some() }, 0),
        }
        Step::Valued
    }

    /// A field around the items. If the items are null, the list is empty; if they are no array, the body is no list.
    fn on_field(&mut self, is_items: bool, bytes: &mut &[u8]) -> Step {
        if !self.pass_over(bytes) {
            return Step::Within;
        }
        if is_items && self.raw() != b"null" {
            return self.give_up(bytes);
        }
        self.items_seen |= is_items;
        self.region = Region::Fields;
        Step::Ended(Ended::Field)
    }

    fn on_items<V: Values>(&mut self, byte: u8, bytes: &mut &[u8], values: &mut V) -> Step {
        match byte {
            b',' => passed(bytes, 1),
            b']' => {
                self.region = Region::Fields;
                passed(bytes, 1)
            }
            b'}' => self.give_up(bytes),
            _ => {
                values.begin(false);
                self.region = Region::Item;
                Step::Between
            }
        }
    }

    fn give_up(&mut self, bytes: &mut &[u8]) -> Step {
        *bytes = &[];
        self.region = Region::NotAList;
        Step::Ended(Ended::NotAList)
    }

    fn raw(&self) -> &[u8] {
        &self.raw[..self.raw_len]
    }

    /// Passes over a name or a value, and keeps its beginning; says whether it ended.
    fn pass_over(&mut self, bytes: &mut &[u8]) -> bool {
        let end = self.scanner.end_of_value(bytes);
        let (read, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        for (place, byte) in self.raw[self.raw_len..].iter_mut().zip(read) {
            *place = *byte;
        }
        self.raw_len = RAW.min(self.raw_len + read.len());
        *bytes = rest;
        end.is_some()
    }
}

/// Bytes that belong to no value.
fn passed(bytes: &mut &[u8], len: usize) -> Step {
    *bytes = &bytes[len..];
    Step::Between
}

fn spaces(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_space(**byte)).count()
}

/// Whether a name, without its quotes, is `word` once its escapes are read.
fn is_escaped(mut name: &[u8], word: &[u8]) -> bool {
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
