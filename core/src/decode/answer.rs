//! The seam between an informer and the format of its answers.

use super::{Status, Versioned};
use crate::framing::EventType;
#[cfg(feature = "json")]
use crate::object::Key;
use crate::object::Version;
#[cfg(feature = "fixed")]
use crate::projection::Problem;
use crate::request::Query;
use crate::storage::Keyed;
#[cfg(feature = "alloc")]
use crate::text::WITHHELD;
use crate::text::{Printable, SharedText};
use crate::transport::ResponseHead;
use core::fmt;

/// Decodes the bytes of responses into objects; a parameter of the [informer](crate::informer).
///
/// [`Json`](super::Json) implements it for every type that serde can read. Another implementation can project objects
/// while their bytes arrive, or hold them in memory of a fixed size.
///
/// The informer calls an implementation so:
///
/// 1. [`start`](Self::start) begins an answer. The state of an earlier response is forgotten.
/// 2. [`space`](Self::space) and [`take`](Self::take) bring bytes, as often as the transport has some.
/// 3. [`next_part`](Self::next_part) is called until it returns `None`, unless the informer's queue is full. Then it is
///    called again when events were taken; more bytes may come only after that.
/// 4. [`finish`](Self::finish) ends an answer. It may be missing: where a request is given up, the next `start`
///    follows.
///
/// Before the first `start` and after `finish`, `space` alone is called. The informer deals with request ids, versions,
/// deadlines and back-pressure.
pub trait Decode {
    /// The handle of a decoded object. Queue, cache and events hold clones of it, so a clone should be cheap.
    type Object: Versioned<Key: Clone> + Clone;

    /// Whether objects keep their `metadata.managedFields`. If not, the informer
    /// [asks for none](crate::Resource::without_managed_fields). A decoder of this crate keeps what its options or its
    /// projection say.
    fn keeps_managed_fields(&self) -> bool {
        true
    }

    /// Begins the answer to a request for `query`. Where its status is not 200, its body explains a refusal.
    fn start(&mut self, query: Query, head: &ResponseHead);

    /// Room for the bytes that come next, at least one byte. It stays valid until the next call.
    fn space(&mut self) -> &mut [u8];

    /// Takes the first `len` bytes of the room, or all of it where that is less.
    fn take(&mut self, len: usize);

    /// Takes all of `bytes`, by [`space`](Self::space) and [`take`](Self::take): for a test of a decoder.
    fn extend_from_slice(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let len = space.len().min(bytes.len());
            space[..len].copy_from_slice(&bytes[..len]);
            self.take(len);
            bytes = &bytes[len..];
        }
    }

    /// The next part of the answer; `None` where it needs more bytes.
    ///
    /// It must return `None` in the end: the informer calls it until then, without a limit on the number of calls. One
    /// [`poll_event`](crate::informer::InformerIn::poll_event) may skip any number of bookmarks.
    ///
    /// If it panics, for example in a `Deserialize` of the caller's, the informer may be used again. The part that
    /// panicked must not be read again: it is reported as [`Part::Undecodable`], because the object may exist.
    fn next_part(&mut self) -> Option<Part<Self::Object>>;

    /// Ends the answer, whose bytes have all been taken and read.
    ///
    /// If it panics, the request counts as one without an answer, and the informer tries again.
    fn finish(&mut self) -> Ending<'_>;
}

/// A decoder in a place of its own, such as a `static` of firmware.
impl<D: Decode> Decode for &mut D {
    type Object = D::Object;

    fn keeps_managed_fields(&self) -> bool {
        (**self).keeps_managed_fields()
    }

    fn start(&mut self, query: Query, head: &ResponseHead) {
        (**self).start(query, head);
    }

    fn space(&mut self) -> &mut [u8] {
        (**self).space()
    }

    fn take(&mut self, len: usize) {
        (**self).take(len);
    }

    fn next_part(&mut self) -> Option<Part<D::Object>> {
        (**self).next_part()
    }

    fn finish(&mut self) -> Ending<'_> {
        (**self).finish()
    }
}

/// What the bytes of an answer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body {
    /// A list.
    List,
    /// A watch, of events in any layout.
    Watch,
    /// One object. What follows on it is not read.
    Object,
    /// The status of an answer that has this code, which is not 200.
    Refusal(u16),
}

impl Body {
    /// The body of the answer to a request for `query`.
    pub(super) fn of(query: Query, head: &ResponseHead) -> Self {
        match (head.status, query) {
            (200, Query::List) => Self::List,
            (200, _) => Self::Watch,
            (code, _) => Self::Refusal(code),
        }
    }
}

/// A part of an answer. `V` is the handle of an object.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Part<V: Keyed> {
    /// An item of a list, or a single object.
    Item(V),
    /// A watch event about an object.
    Event(EventType, V),
    /// A watch event that says how far the watch has come.
    Bookmark {
        /// The version up to which the watch has sent everything.
        version: Version,
        /// Whether the initial events of a watch-list are complete with it.
        initial_events_end: bool,
    },
    /// A watch event by which the server ends the stream.
    Error(Status),
    /// An item or an event that holds no such object. The answer goes on behind it.
    Undecodable(DecodeErrorOf<V::Key>),
    /// The body of a list is no list: nothing more of it can be used.
    NotAList,
}

/// The end of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending<'a> {
    /// A complete list, or a complete page of one.
    List {
        /// The version of the list; empty where it has none.
        resource_version: &'a str,
        /// The token of the next page; empty on the last page.
        continue_token: &'a str,
    },
    /// A list or an object that broke off, or a list whose version or token is too long for the decoder.
    TruncatedList,
    /// A watch, or a single object. An event that broke off is dropped: the next watch begins before it.
    Watch,
    /// The body of an answer whose status is not 200.
    Refusal(Status),
}

/// A [`DecodeErrorOf`] an object of this key.
#[cfg(feature = "json")]
pub type DecodeError<K = Key> = DecodeErrorOf<K>;

/// An item or event that could not be decoded, with the metadata that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DecodeErrorOf<K> {
    /// The object's key; `None` where it could not be read.
    pub key: Option<K>,
    /// The object's version; `None` where it could not be read.
    pub version: Option<Version>,
    /// The type of the event; `None` in a list.
    pub event_type: Option<EventType>,
    /// The cause and its place in the frame.
    pub error: Reason,
}

/// The reason that an item or event could not be decoded. [`Display`](fmt::Display) writes it as one printable line
/// ([`Printable`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Reason {
    /// A decoder's own words.
    Text(SharedText),
    /// A field has another type, or another value, than the program's: its path, such as `spec.containers[0].image`, and
    /// what is wrong with it.
    Field(SharedText, SharedText),
    /// A projection's problem.
    #[cfg(feature = "fixed")]
    Problem(Problem),
}

impl Reason {
    /// The reason without any value: a decoder's words may quote one.
    #[cfg(feature = "alloc")]
    pub(crate) fn without_values(self) -> Self {
        match self {
            Self::Field(path, _) => Self::Field(path, WITHHELD.into()),
            _ => WITHHELD.into(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => Printable::new(text).fmt(f),
            Self::Field(path, why) => write!(f, "`{}` does not fit: {}", Printable::new(path), Printable::new(why)),
            #[cfg(feature = "fixed")]
            Self::Problem(problem) => problem.fmt(f),
        }
    }
}

impl<T: Into<SharedText>> From<T> for Reason {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl<K: fmt::Display> fmt::Display for DecodeErrorOf<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}: {}", Printable::new(key), self.error),
            None => write!(f, "an object without a readable name: {}", self.error),
        }
    }
}

impl<K: fmt::Debug + fmt::Display> core::error::Error for DecodeErrorOf<K> {}
