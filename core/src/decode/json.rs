use super::answer::{Decode, Ending, Part};
use super::body::{Body, Content};
use super::decoder::{Decoder, Notice};
use super::from_json::FromJson;
use super::list::ListMeta;
use super::metadata::DecodeOptions;
use crate::framing::Framing;
use crate::object::{Object, ObjectHandle};
use crate::request::Query;
use crate::storage::Keyed;
use crate::transport::ResponseHead;
use core::fmt;
use core::marker::PhantomData;
use serde::de::DeserializeOwned;

/// Decodes the responses of an API server into [`Object`]s of any type that serde can read, or of another type that
/// implements [`FromJson`]: the decoder of an [`Informer`](crate::Informer).
///
/// It keeps bytes in a buffer until they make a frame ([`Framer`](crate::framing::Framer)), and decodes each frame by
/// itself ([`Decoder`]). So it holds one object's JSON at a time, of [`DecodeOptions::frame_limit`] bytes at most.
pub struct Json<T: FromJson> {
    body: Body,
    decoder: Decoder,
    state: T::State,
    target: PhantomData<fn() -> T>,
}

impl<T: FromJson> Json<T> {
    /// A decoder of `T` with these options.
    #[must_use]
    pub fn new(options: DecodeOptions) -> Self {
        Self::with_state(options, T::State::default())
    }

    /// A decoder of `T` with these options, and with a state of the caller's: for [`Packed`](super::Packed), a
    /// [`Packer`](super::Packer).
    #[must_use]
    pub fn with_state(options: DecodeOptions, state: T::State) -> Self {
        let body = Body::new(Framing::List, options.frame_limit);
        Self { body, decoder: Decoder::new(options), state, target: PhantomData }
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> DecodeOptions {
        self.decoder.options()
    }
}

impl<T: FromJson> Default for Json<T> {
    fn default() -> Self {
        Self::new(DecodeOptions::default())
    }
}

impl<T: FromJson> Decode for Json<T> {
    type Object = ObjectHandle<T>;

    fn start(&mut self, query: Query, head: &ResponseHead) {
        self.body.start(query, head);
    }

    fn space(&mut self) -> &mut [u8] {
        self.body.space()
    }

    fn take(&mut self, len: usize) {
        self.body.take(len);
    }

    fn next_part(&mut self) -> Option<Part<ObjectHandle<T>>> {
        let Self { body, decoder, state, .. } = self;
        let mut made = |Object { meta, value }| Object { meta, value: T::from_json(value, state) };
        body.next_part(|content| match content {
            Content::Item(item, list) => Some(decoder.item_part(item, list, &mut made)),
            Content::Event(event) => Some(decoder.event_part(event, &mut made)),
            Content::Row(..) | Content::Field(..) => None,
        })
    }

    fn finish(&mut self) -> Ending<'_> {
        self.body.finish()
    }
}

impl<T: FromJson> fmt::Debug for Json<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { body, decoder, .. } = self;
        f.debug_struct("Json").field("body", body).field("decoder", decoder).finish_non_exhaustive()
    }
}

impl Decoder {
    /// The part of an answer that is an item of a list. `map` makes the object that is kept.
    pub(super) fn item_part<T: DeserializeOwned, U>(
        &mut self,
        item: &[u8],
        list: &ListMeta,
        map: impl FnOnce(Object<T>) -> Object<U>,
    ) -> Part<ObjectHandle<U>> {
        let part = self.read_item(item, list, |object| Part::Item(map(object).into()));
        part.unwrap_or_else(Part::Undecodable)
    }

    /// The part of an answer that is an event of a watch. `map` makes the object that is kept.
    pub(super) fn event_part<T: DeserializeOwned, U>(
        &mut self,
        event: &[u8],
        map: impl FnOnce(Object<T>) -> Object<U>,
    ) -> Part<ObjectHandle<U>> {
        let part = self.read_event(event, |event_type, object| Part::Event(event_type, map(object).into()));
        part.unwrap_or_else(Part::Undecodable)
    }
}

impl<V: Keyed> From<Notice> for Part<V> {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Bookmark { version, initial_events_end } => Self::Bookmark { version, initial_events_end },
            Notice::Error(status) => Self::Error(status),
        }
    }
}
