use super::answer::{Decode, Ending, Part};
use super::decoder::{Decoder, WatchEvent};
use super::error::DecodeError;
use super::list::ListMeta;
use super::metadata::DecodeOptions;
use super::status::Status;
use crate::framing::{Buffer, CONCATENATED_JSON, Frame, Framer, Framing};
use crate::object::{Key, Object, ObjectHandle};
use crate::request::Query;
use crate::transport::ResponseHead;
use alloc::format;
use alloc::sync::Arc;
use core::marker::PhantomData;
use serde::de::DeserializeOwned;

/// Decodes the responses of an API server into [`Object`]s of any type that serde can read: the decoder of an
/// [`Informer`](crate::Informer).
///
/// It keeps bytes in a buffer until they make a frame ([`Framer`]), and decodes each frame by itself ([`Decoder`]). So
/// it holds one object's JSON at a time, of [`DecodeOptions::frame_limit`] bytes at most.
#[derive(Debug)]
pub struct Json<T> {
    buffer: Buffer,
    framer: Framer,
    decoder: Decoder,
    frame_limit: usize,
    body: Body,
    list: ListMeta,
    /// A frame is with the caller's type. If this is true at the next call, the type panicked and the frame is gone.
    decoding: bool,
    target: PhantomData<fn() -> T>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Body {
    /// No response has begun.
    None,
    List,
    Watch,
    /// The body of a response whose status is not 200.
    Status(u16),
}

/// How many bytes of a refusal's body are kept.
const STATUS_LIMIT: usize = 64 * 1024;

impl<T> Json<T> {
    /// A decoder of `T` with these options.
    #[must_use]
    pub fn new(options: DecodeOptions) -> Self {
        Self {
            buffer: Buffer::default(),
            framer: Framer::new(Framing::Lines, options.frame_limit),
            decoder: Decoder::new(options),
            frame_limit: options.frame_limit,
            body: Body::None,
            list: ListMeta::default(),
            decoding: false,
            target: PhantomData,
        }
    }

    fn too_long(&self) -> Arc<str> {
        format!("longer than the limit of {} bytes", self.frame_limit).into()
    }
}

impl<T> Default for Json<T> {
    fn default() -> Self {
        Self::new(DecodeOptions::default())
    }
}

impl<T: DeserializeOwned> Decode for Json<T> {
    type Object = ObjectHandle<T>;

    fn start(&mut self, query: Query, head: &ResponseHead) {
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
        self.framer = Framer::new(framing, self.frame_limit);
        self.buffer.clear();
        self.list.clear();
    }

    fn space(&mut self) -> &mut [u8] {
        self.buffer.space()
    }

    fn take(&mut self, len: usize) {
        let room = match self.body {
            Body::None => 0,
            Body::Status(_) => STATUS_LIMIT - self.buffer.filled().len(),
            Body::List | Body::Watch => len,
        };
        self.buffer.commit(len.min(room));
    }

    fn next_part(&mut self) -> Option<Part<ObjectHandle<T>>> {
        if !matches!(self.body, Body::List | Body::Watch) {
            return None;
        }
        if self.decoding {
            self.decoding = false;
            return Some(unreadable("the Deserialize of the object's type panicked".into()));
        }
        loop {
            let Some(frame) = self.framer.next_frame(self.buffer.filled()) else {
                self.buffer.consume(self.framer.reclaim());
                return None;
            };
            match frame {
                Frame::Item(item) => {
                    self.decoding = true;
                    let item = self.decoder.item(item, &self.list);
                    self.decoding = false;
                    return Some(item_part(item));
                }
                Frame::Value(event) => {
                    self.decoding = true;
                    let event = self.decoder.watch_event(event);
                    self.decoding = false;
                    return Some(event_part(event));
                }
                Frame::Field { name, value } => self.list.read_field(name, value),
                Frame::ListEnd => {}
                Frame::NotAList => return Some(Part::NotAList),
                Frame::TooLong => return Some(unreadable(self.too_long())),
            }
        }
    }

    fn finish(&mut self) -> Ending<'_> {
        match core::mem::replace(&mut self.body, Body::None) {
            Body::List if self.framer.is_complete() => Ending::List {
                resource_version: self.list.resource_version(),
                continue_token: self.list.continue_token(),
            },
            Body::List => Ending::TruncatedList,
            Body::Watch | Body::None => Ending::Watch,
            Body::Status(code) => Ending::Refusal(Status::read(code, self.buffer.filled())),
        }
    }
}

fn item_part<T>(item: Result<Object<T>, DecodeError>) -> Part<ObjectHandle<T>> {
    item.map_or_else(Part::Undecodable, |object| Part::Item(object.into()))
}

fn event_part<T>(event: Result<WatchEvent<T>, DecodeError>) -> Part<ObjectHandle<T>> {
    match event {
        Ok(WatchEvent::Object(event_type, object)) => Part::Event(event_type, object.into()),
        Ok(WatchEvent::Bookmark { version, initial_events_end }) => Part::Bookmark { version, initial_events_end },
        Ok(WatchEvent::Error(status)) => Part::Error(status),
        Err(undecodable) => Part::Undecodable(undecodable),
    }
}

/// A part without a readable key.
fn unreadable<T>(error: Arc<str>) -> Part<ObjectHandle<T>> {
    Part::Undecodable(DecodeError::<Key> { key: None, version: None, event_type: None, error })
}
