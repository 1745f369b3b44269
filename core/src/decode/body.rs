//! The bytes of an answer, divided into frames for a decoder.

use super::answer::{Ending, Part};
use super::error::{DecodeError, Reason};
use super::list::ListMeta;
use super::status::Status;
use crate::framing::{Buffer, Frame, Framer, Framing};
use crate::object::{Key, ObjectHandle};
use crate::request::Query;
use crate::transport::ResponseHead;
use alloc::format;
use alloc::vec::Vec;

/// The body of one answer at a time. It keeps bytes until they make a frame.
#[derive(Debug)]
pub(super) struct Body {
    buffer: Buffer,
    framer: Framer,
    frame_limit: usize,
    /// How the bodies of lists are divided.
    lists: Framing,
    kind: Kind,
    list: ListMeta,
    /// The fields of a list that those of a status are, as JSON: it may be one.
    status: Vec<u8>,
    /// A frame is with the caller's type. If this is true at the next call, the type panicked and the frame is gone.
    decoding: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// No response has begun.
    None,
    List,
    Watch,
    /// The body of a response whose status is not 200.
    Status(u16),
}

/// A frame with something to decode.
pub(super) enum Content<'a> {
    Item(&'a [u8], &'a ListMeta),
    Row(&'a [u8], &'a ListMeta),
    Event(&'a [u8]),
    /// A field around the items, by its name.
    Field(&'a [u8], &'a [u8]),
}

/// How many bytes of a refusal's body are kept.
const STATUS_LIMIT: usize = 64 * 1024;

impl Body {
    /// Bodies of frames of at most `frame_limit` bytes.
    pub(super) fn new(lists: Framing, frame_limit: usize) -> Self {
        Self {
            buffer: Buffer::default(),
            framer: Framer::new(Framing::Values, frame_limit),
            frame_limit,
            lists,
            kind: Kind::None,
            list: ListMeta::default(),
            status: Vec::new(),
            decoding: false,
        }
    }

    pub(super) fn start(&mut self, query: Query, head: &ResponseHead) {
        let framing = match query {
            Query::List => self.lists,
            Query::Watch | Query::WatchList => Framing::Values,
        };
        self.kind = match (head.status, query) {
            (200, Query::List) => Kind::List,
            (200, _) => Kind::Watch,
            (status, _) => Kind::Status(status),
        };
        self.decoding = false;
        self.framer = Framer::new(framing, self.frame_limit);
        self.buffer.clear();
        self.list.clear();
        self.status.clear();
    }

    pub(super) fn space(&mut self) -> &mut [u8] {
        self.buffer.space()
    }

    pub(super) fn take(&mut self, len: usize) {
        let room = match self.kind {
            Kind::None => 0,
            Kind::Status(_) => STATUS_LIMIT - self.buffer.filled().len(),
            Kind::List | Kind::Watch => len,
        };
        self.buffer.commit(len.min(room));
    }

    /// The next part of the answer, as `decode` makes it of a frame. Of a field around the items it makes none.
    pub(super) fn next_part<T>(
        &mut self,
        mut decode: impl FnMut(Content<'_>) -> Option<Part<ObjectHandle<T>>>,
    ) -> Option<Part<ObjectHandle<T>>> {
        if !matches!(self.kind, Kind::List | Kind::Watch) {
            return None;
        }
        if self.decoding {
            self.decoding = false;
            return Some(unreadable("the Deserialize of the object's type panicked".into()));
        }
        if self.kind == Kind::Watch {
            while let Some(line) = self.framer.guess_line(self.buffer.filled()) {
                self.decoding = true;
                let part = decode(Content::Event(line));
                self.decoding = false;
                // Its frames follow.
                let is_misguess =
                    matches!(part, Some(Part::Undecodable(_))) && self.framer.misguessed(self.buffer.filled());
                if let Some(part) = part.filter(|_| !is_misguess) {
                    return Some(status_or(part, line));
                }
            }
        }
        loop {
            let Some(frame) = self.framer.next_frame(self.buffer.filled()) else {
                self.buffer.consume(self.framer.reclaim());
                return None;
            };
            let content = match frame {
                Frame::Item(item) => Content::Item(item, &self.list),
                Frame::Row(row) => Content::Row(row, &self.list),
                Frame::Value(event) => Content::Event(event),
                Frame::Field { name, value } => {
                    self.list.read_field(name, value);
                    add_status_field(&mut self.status, name, value);
                    Content::Field(name, value)
                }
                Frame::ListEnd => continue,
                Frame::NotAList => return Some(self.status_instead().map_or(Part::NotAList, Part::Error)),
                Frame::TooLong => return Some(unreadable(self.too_long())),
            };
            let event = if let Frame::Value(event) = frame { event } else { &[] };
            self.decoding = true;
            let part = decode(content);
            self.decoding = false;
            if let Some(part) = part {
                return Some(status_or(part, event));
            }
        }
    }

    pub(super) fn finish(&mut self) -> Ending<'_> {
        match core::mem::replace(&mut self.kind, Kind::None) {
            Kind::List if self.framer.is_complete() => Ending::List {
                resource_version: self.list.resource_version(),
                continue_token: self.list.continue_token(),
            },
            Kind::List => Ending::TruncatedList,
            Kind::Watch | Kind::None => Ending::Watch,
            Kind::Status(code) => Ending::Refusal(Status::read(code, self.buffer.filled())),
        }
    }

    /// The status in place of a list.
    fn status_instead(&self) -> Option<Status> {
        Status::instead(&[b"{", self.status.strip_prefix(b",")?, b"}"].concat())
    }

    fn too_long(&self) -> Reason {
        format!("longer than the limit of {} bytes", self.frame_limit).into()
    }
}

/// The status that came in place of an event that cannot be decoded.
fn status_or<T>(part: Part<ObjectHandle<T>>, event: &[u8]) -> Part<ObjectHandle<T>> {
    let is_event = !matches!(part, Part::Undecodable(_));
    if is_event { part } else { Status::instead(event).map_or(part, Part::Error) }
}

/// Keeps a field that a status has, as far as there is room. No list has one.
fn add_status_field(status: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let is_of_status = match name {
        b"kind" => value == b"\"Status\"",
        name => matches!(name, b"status" | b"code" | b"reason" | b"message" | b"details"),
    };
    if is_of_status && status.len() + value.len() <= STATUS_LIMIT {
        [b",\"", name, b"\":", value].iter().for_each(|piece| status.extend_from_slice(piece));
    }
}

/// A part without a readable key.
pub(super) fn unreadable<T>(error: Reason) -> Part<ObjectHandle<T>> {
    Part::Undecodable(DecodeError::<Key> { key: None, version: None, event_type: None, error })
}
