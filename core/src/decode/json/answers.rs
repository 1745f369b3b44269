//! The bytes of an answer, divided into frames for a decoder.

use super::super::answer::{Body, Decode, DecodeError, Ending, Part, Reason};
use super::decoder::Decoder;
use super::list::ListMeta;
use super::metadata::DecodeOptions;
use super::status::Status;
use crate::framing::{Buffer, EventType, Frame, Framer, Framing};
use crate::object::{Key, Meta, Object, ObjectHandle};
use crate::request::Query;
use crate::transport::ResponseHead;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use serde::de::DeserializeOwned;

/// Decodes the responses of an API server into [`Object`]s of any type that serde can read, or of another type that
/// implements [`FromJson`]: the decoder of an [`Informer`](crate::Informer).
///
/// It keeps bytes in a buffer until they make a frame ([`Framer`]), and decodes each frame by
/// itself ([`Decoder`]). So it holds one object's JSON at a time, of [`DecodeOptions::frame_limit`] bytes at most.
pub struct Json<T: FromJson> {
    frames: Frames,
    decoder: Decoder,
    state: T::State,
    target: PhantomData<fn() -> T>,
    keeps: Option<Keeps>,
}

/// Whether an object is kept.
pub(crate) type Keeps = Arc<dyn Fn(&Meta) -> bool + Send + Sync>;

impl<T: FromJson> Json<T> {
    /// A decoder of `T` with these options.
    pub fn new(options: DecodeOptions) -> Self {
        Self::with_state(options, T::State::default())
    }

    /// A decoder of `T` with these options, and with a state of the caller's: for [`Packed`](super::Packed), a
    /// [`Packer`](super::Packer).
    pub fn with_state(options: DecodeOptions, state: T::State) -> Self {
        let frames = Frames::new(Framing::List, options.frame_limit);
        Self { frames, decoder: Decoder::new(options), state, target: PhantomData, keeps: None }
    }

    /// The options.
    pub fn options(&self) -> DecodeOptions {
        self.decoder.options()
    }

    /// Passes on the objects for which `keeps` is true.
    pub(crate) fn set_keeps(&mut self, keeps: Keeps) {
        self.keeps = Some(keeps);
    }

    /// The part as it is passed on. The change of an object that is not kept is its deletion, as where an object leaves the
    /// selection of a server. Its creation says nothing.
    fn kept(&self, part: Part<ObjectHandle<T>>) -> Option<Part<ObjectHandle<T>>> {
        let Some(keeps) = &self.keeps else { return Some(part) };
        match part {
            Part::Item(object) => keeps(object.meta()).then_some(Part::Item(object)),
            Part::Event(event_type, object) if !keeps(object.meta()) => {
                (event_type != EventType::Added).then_some(Part::Event(EventType::Deleted, object))
            }
            part => Some(part),
        }
    }

    fn decoded(&mut self) -> Option<Part<ObjectHandle<T>>> {
        let Self { frames, decoder, state, .. } = self;
        let mut made = |Object { meta, value }| Object { meta, value: T::from_json(value, state) };
        frames.next_part(|content| match content {
            Content::Item(item, list) => Some(decoder.item_part(item, list, &mut made)),
            Content::Event(event) => Some(decoder.event_part(event, &mut made)),
            Content::Row(..) | Content::Field(..) => None,
        })
    }
}

impl<T: FromJson> Default for Json<T> {
    fn default() -> Self {
        Self::new(DecodeOptions::default())
    }
}

impl<T: FromJson> Decode for Json<T> {
    type Object = ObjectHandle<T>;

    fn keeps_managed_fields(&self) -> bool {
        self.decoder.options().managed_fields
    }

    fn start(&mut self, query: Query, head: &ResponseHead) {
        self.frames.start(query, head);
    }

    fn space(&mut self) -> &mut [u8] {
        self.frames.space()
    }

    fn take(&mut self, len: usize) {
        self.frames.take(len);
    }

    fn next_part(&mut self) -> Option<Part<ObjectHandle<T>>> {
        loop {
            let part = self.decoded()?;
            if let Some(part) = self.kept(part) {
                return Some(part);
            }
        }
    }

    fn finish(&mut self) -> Ending<'_> {
        self.frames.finish()
    }
}

summary!(impl[T: FromJson] "Json" for Json<T>, |it| { frames: it.frames, decoder: it.decoder });

/// A type that [`Json`] decodes objects into: every serde type that owns its data, and
/// [`Packed`](super::Packed).
///
/// Implement it for a type that is made from a serde type and from what earlier objects left, for example from a
/// dictionary. A type that implements `Deserialize` needs no implementation.
pub trait FromJson: Sized {
    /// The serde type that an object's JSON is read as.
    type Json: DeserializeOwned;

    /// What a decoder keeps from one object to the next. Each stream has a decoder of its own.
    type State: Default + Send + 'static;

    /// Makes the value of `json`. Objects come in the order of their arrival.
    fn from_json(json: Self::Json, state: &mut Self::State) -> Self;
}

impl<T: DeserializeOwned> FromJson for T {
    type Json = T;
    type State = ();

    fn from_json(json: T, (): &mut ()) -> T {
        json
    }
}

/// The frames of one answer at a time. Bytes are kept until they make one.
#[derive(Debug)]
pub(super) struct Frames {
    buffer: Buffer,
    framer: Framer,
    frame_limit: usize,
    /// How the bodies of lists are divided.
    lists: Framing,
    /// `None` before the first answer and behind each.
    body: Option<Body>,
    list: ListMeta,
    /// The fields of a list that those of a status are, as JSON: it may be one.
    status: Vec<u8>,
    /// A frame is with the caller's type. If this is true at the next call, the type panicked and the frame is gone.
    decoding: bool,
}

/// A frame with something to decode.
pub(super) enum Content<'a> {
    Item(&'a [u8], &'a ListMeta),
    Row(&'a [u8], &'a ListMeta),
    Event(&'a [u8]),
    /// A field around the items, by its name.
    Field(&'a [u8], &'a [u8]),
}

impl Frames {
    /// Bodies of frames of at most `frame_limit` bytes.
    pub(super) fn new(lists: Framing, frame_limit: usize) -> Self {
        Self {
            buffer: Buffer::default(),
            framer: Framer::new(Framing::Values, frame_limit),
            frame_limit,
            lists,
            body: None,
            list: ListMeta::default(),
            status: Vec::new(),
            decoding: false,
        }
    }

    pub(super) fn start(&mut self, query: Query, head: &ResponseHead) {
        let body = Body::of(query, head);
        let framing = if body == Body::List { self.lists } else { Framing::Values };
        self.body = Some(body);
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
        let room = match self.body {
            None => 0,
            Some(Body::Refusal(_)) => ResponseHead::MAX_REFUSAL - self.buffer.filled().len(),
            Some(_) => len,
        };
        self.buffer.commit(len.min(room));
    }

    /// The next part of the answer, as `decode` makes it of a frame. Of a field around the items it makes none.
    pub(super) fn next_part<T>(
        &mut self,
        mut decode: impl FnMut(Content<'_>) -> Option<Part<ObjectHandle<T>>>,
    ) -> Option<Part<ObjectHandle<T>>> {
        if matches!(self.body, None | Some(Body::Refusal(_))) {
            return None;
        }
        if self.decoding {
            self.decoding = false;
            return Some(unreadable("the Deserialize of the object's type panicked".into()));
        }
        if self.body == Some(Body::Watch) {
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
        match self.body.take() {
            Some(Body::List) if self.framer.is_complete() => Ending::List {
                resource_version: self.list.resource_version(),
                continue_token: self.list.continue_token(),
            },
            Some(Body::List) => Ending::TruncatedList,
            Some(Body::Refusal(code)) => Ending::Refusal(Status::read(code, self.buffer.filled())),
            _ => Ending::Watch,
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
    if is_of_status && status.len() + value.len() <= ResponseHead::MAX_REFUSAL {
        [b",\"", name, b"\":", value].iter().for_each(|piece| status.extend_from_slice(piece));
    }
}

/// A part without a readable key.
pub(super) fn unreadable<T>(error: Reason) -> Part<ObjectHandle<T>> {
    Part::Undecodable(DecodeError::<Key> { key: None, version: None, event_type: None, error })
}
