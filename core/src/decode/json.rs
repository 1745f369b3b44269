use super::answer::{Decode, Ending, Part};
use super::body::{Body, Content};
use super::decoder::{Decoder, WatchEvent};
use super::error::DecodeError;
use super::from_json::FromJson;
use super::metadata::DecodeOptions;
use crate::framing::Framing;
use crate::object::{Object, ObjectHandle};
use crate::request::Query;
use crate::transport::ResponseHead;
use core::fmt;
use core::marker::PhantomData;

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
            Content::Item(item, list) => Some(item_part(decoder.item(item, list).map(&mut made))),
            Content::Event(event) => Some(event_part(decoder.watch_event(event).map(|event| event.map(&mut made)))),
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

pub(super) fn item_part<T>(item: Result<Object<T>, DecodeError>) -> Part<ObjectHandle<T>> {
    item.map_or_else(Part::Undecodable, |object| Part::Item(object.into()))
}

pub(super) fn event_part<T>(event: Result<WatchEvent<T>, DecodeError>) -> Part<ObjectHandle<T>> {
    match event {
        Ok(WatchEvent::Object(event_type, object)) => Part::Event(event_type, object.into()),
        Ok(WatchEvent::Bookmark { version, initial_events_end }) => Part::Bookmark { version, initial_events_end },
        Ok(WatchEvent::Error(status)) => Part::Error(status),
        Err(undecodable) => Part::Undecodable(undecodable),
    }
}
