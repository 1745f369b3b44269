//! From the bytes of an answer to its parts: items, events, the end.

use crate::decode::{DecodeError, DecodeOptions, Decoder, ListMeta, Status, WatchEvent};
use crate::framing::{Buffer, CONCATENATED_JSON, Frame, Framer, Framing};
use crate::object::Object;
use crate::request::{Query, RequestId};
use crate::transport::ResponseHead;
use alloc::format;
use alloc::sync::Arc;
use serde::de::DeserializeOwned;

/// Reads one answer after the other.
#[derive(Debug)]
pub(super) struct Intake {
    buffer: Buffer,
    framer: Framer,
    decoder: Decoder,
    frame_limit: usize,
    id: RequestId,
    body: Body,
    list: ListMeta,
    /// The length of the part that was returned last.
    part_len: usize,
    /// A frame is with the caller's type; found true, the type panicked and the frame is gone.
    decoding: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Body {
    /// No answer has begun.
    None,
    List,
    Watch,
    /// The body of an answer with a status that is no success.
    Status(u16),
}

/// A part of an answer.
pub(super) enum Part<T> {
    Item(Result<Object<T>, DecodeError>),
    Event(Result<WatchEvent<T>, DecodeError>),
    /// The body is no list.
    NotAList,
}

/// What an answer was, when it is over.
pub(super) enum Ending {
    /// A list, or a page, with all its brackets.
    List(ListMeta),
    /// A list that broke off.
    HalfAList,
    Watch,
    Refusal(Status),
    Nothing,
}

/// How much of the body of a refusal is kept: its beginning.
const STATUS_LIMIT: usize = 64 * 1024;

impl Intake {
    pub(super) fn new(keep: DecodeOptions, frame_limit: usize) -> Self {
        Self {
            buffer: Buffer::default(),
            framer: Framer::new(Framing::Lines, frame_limit),
            decoder: Decoder::new(keep),
            frame_limit,
            id: RequestId::default(),
            body: Body::None,
            list: ListMeta::default(),
            part_len: 0,
            decoding: false,
        }
    }

    /// Room for more bytes of the answer.
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.buffer.space()
    }

    /// An answer to `query` begins; what was there of another one is forgotten.
    pub(super) fn start(&mut self, id: RequestId, query: Query, head: &ResponseHead) {
        let framing = match query {
            Query::List => Framing::List,
            Query::Watch | Query::WatchList if head.content_type.as_deref() == Some(CONCATENATED_JSON) => {
                Framing::Values
            }
            Query::Watch | Query::WatchList => Framing::Lines,
        };
        self.body = match (head.status, query) {
            (200, Query::List) => Body::List,
            (200, _) => Body::Watch,
            (status, _) => Body::Status(status),
        };
        self.decoding = false;
        self.id = id;
        self.framer = Framer::new(framing, self.frame_limit);
        self.buffer.clear();
        self.list.clear();
    }

    /// `len` bytes of the answer `id` were written to the room.
    pub(super) fn take(&mut self, id: RequestId, len: usize) {
        if id != self.id || self.body == Body::None {
            return;
        }
        let room = match self.body {
            Body::Status(_) => STATUS_LIMIT - self.buffer.filled().len(),
            Body::None | Body::List | Body::Watch => len,
        };
        self.buffer.commit(len.min(room));
    }

    /// There will be no answer to `id`.
    pub(super) fn forget(&mut self, id: RequestId) {
        self.id = id;
        self.body = Body::None;
    }

    /// The length of the last part, in bytes.
    pub(super) fn part_len(&self) -> usize {
        self.part_len
    }

    /// The request whose answer is being read.
    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    /// The next part that has arrived.
    pub(super) fn next_part<T: DeserializeOwned>(&mut self) -> Option<Part<T>> {
        if !matches!(self.body, Body::List | Body::Watch) {
            return None;
        }
        if self.decoding {
            return Some(self.after_panic());
        }
        loop {
            let Some(frame) = self.framer.next_frame(self.buffer.filled()) else {
                self.buffer.consume(self.framer.reclaim());
                return None;
            };
            self.part_len = match frame {
                Frame::Item(frame) | Frame::Value(frame) => frame.len(),
                _ => 0,
            };
            match frame {
                Frame::Item(item) => {
                    self.decoding = true;
                    let item = self.decoder.item(item, &self.list);
                    self.decoding = false;
                    return Some(Part::Item(item));
                }
                Frame::Value(event) => {
                    self.decoding = true;
                    let event = self.decoder.watch_event(event);
                    self.decoding = false;
                    return Some(Part::Event(event));
                }
                Frame::Field { name, value } => self.list.read_field(name, value),
                Frame::ListEnd => {}
                Frame::NotAList => return Some(Part::NotAList),
                Frame::TooLong => return Some(self.unreadable(self.too_long())),
            }
        }
    }

    /// The answer is over: what it was.
    pub(super) fn finish(&mut self) -> Ending {
        match core::mem::replace(&mut self.body, Body::None) {
            Body::None => Ending::Nothing,
            Body::List if self.framer.is_complete() => Ending::List(core::mem::take(&mut self.list)),
            Body::List => Ending::HalfAList,
            Body::Watch => Ending::Watch,
            Body::Status(code) => Ending::Refusal(Status::read(code, self.buffer.filled())),
        }
    }

    /// The caller caught a panic of its type and goes on. The frame is not read again, which could panic again.
    fn after_panic<T>(&mut self) -> Part<T> {
        self.decoding = false;
        self.unreadable("the Deserialize of the object's type panicked".into())
    }

    fn too_long(&self) -> Arc<str> {
        format!("longer than the limit of {} bytes", self.frame_limit).into()
    }

    /// A part of which nothing is known.
    fn unreadable<T>(&self, error: Arc<str>) -> Part<T> {
        let undecodable = DecodeError { key: None, version: None, change: None, error };
        match self.body {
            Body::List => Part::Item(Err(undecodable)),
            _ => Part::Event(Err(undecodable)),
        }
    }
}
