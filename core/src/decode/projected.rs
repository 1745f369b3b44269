use super::answer::{Decode, DecodeErrorOf, Ending, Part, Reason};
use crate::object::Version;
use crate::projection::{self, Body, Projected, Projection, Projector, Refused, Text};
use crate::request::Query;
use crate::transport::ResponseHead;
use core::ops::Range;

/// Projects the objects of an API server into fields: a decoder that never holds an object.
///
/// It is a [`Projector`] behind a buffer of `ROOM` bytes, so that an [`InformerIn`](crate::informer::InformerIn) can use
/// it. Its objects are [`Projected`], with keys of at most `KEY` bytes.
///
/// A list whose version or token is too long counts as one that broke off. The body of a refusal that is no status, such
/// as a proxy's page, leaves its code alone.
#[derive(Clone, Debug)]
pub struct ProjectedJson<P, const KEY: usize = 128, const ROOM: usize = 2048> {
    projector: Projector<P, KEY>,
    room: [u8; ROOM],
    unread: Range<usize>,
}

impl<P: Projection, const KEY: usize, const ROOM: usize> ProjectedJson<P, KEY, ROOM> {
    /// A decoder before its first answer.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(ROOM > 0, "no byte could ever come") };
        Self { projector: Projector::new(), room: [0; ROOM], unread: 0..0 }
    }
}

impl<P: Projection, const KEY: usize, const ROOM: usize> Default for ProjectedJson<P, KEY, ROOM> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Projection, const KEY: usize, const ROOM: usize> Decode for ProjectedJson<P, KEY, ROOM> {
    type Object = Projected<P, KEY>;

    fn start(&mut self, query: Query, head: &ResponseHead) {
        self.unread = 0..0;
        self.projector.start(match (head.status, query) {
            (200, Query::List) => Body::List,
            (200, _) => Body::Watch,
            (code, _) => Body::Refusal(code),
        });
    }

    fn space(&mut self) -> &mut [u8] {
        // Seldom is anything left. `copy_within` would be the only code of a firmware that needs `memmove`.
        for (to, from) in self.unread.clone().enumerate().filter(|(to, from)| to < from) {
            self.room[to] = self.room[from];
        }
        self.unread = 0..self.unread.len();
        &mut self.room[self.unread.end..]
    }

    fn take(&mut self, len: usize) {
        self.unread.end = self.unread.end.saturating_add(len).min(ROOM);
    }

    fn next_part(&mut self) -> Option<Part<Projected<P, KEY>>> {
        let mut reading = Reading { bytes: &self.room[self.unread.clone()], unread: &mut self.unread };
        self.projector.next_part(&mut reading.bytes).map(Part::from)
    }

    fn finish(&mut self) -> Ending<'_> {
        match self.projector.finish() {
            projection::Ending::List { resource_version, continue_token, .. } => {
                Ending::List { resource_version, continue_token }
            }
            projection::Ending::Refusal(status) => Ending::Refusal(status_of(status)),
            projection::Ending::Watch => Ending::Watch,
            projection::Ending::UnusableList(_) | projection::Ending::Truncated | projection::Ending::Object => {
                Ending::TruncatedList
            }
        }
    }
}

/// The bytes that a projector reads. If it panics, those that it read are not read again.
struct Reading<'a> {
    bytes: &'a [u8],
    unread: &'a mut Range<usize>,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.unread.start = self.unread.end - self.bytes.len();
    }
}

impl<P, const KEY: usize> From<projection::Part<P, KEY>> for Part<Projected<P, KEY>> {
    fn from(part: projection::Part<P, KEY>) -> Self {
        match part {
            projection::Part::Item(object) => Self::Item(object),
            projection::Part::Event(event_type, object) => Self::Event(event_type, object),
            projection::Part::Bookmark { version, initial_events_end } => {
                Self::Bookmark { version: Version::copied(&version).unwrap_or_default(), initial_events_end }
            }
            projection::Part::Error(status) => Self::Error(status_of(status)),
            projection::Part::Undecodable(refused) => Self::Undecodable(refused.into()),
            projection::Part::NotAList => Self::NotAList,
        }
    }
}

impl<const KEY: usize> From<Refused<KEY>> for DecodeErrorOf<Text<KEY>> {
    fn from(refused: Refused<KEY>) -> Self {
        let Refused { key, version, event_type, problem } = refused;
        let version = version.and_then(|version| Version::copied(&version));
        Self { key, version, event_type, error: Reason::Problem(problem) }
    }
}

#[cfg(feature = "json")]
impl From<projection::Status> for super::Status {
    fn from(status: projection::Status) -> Self {
        Self::of_parts(
            status.code,
            &status.reason,
            &status.message,
            status.retry_after(),
            status.is_version_too_large(),
        )
    }
}

#[cfg_attr(not(feature = "json"), expect(clippy::useless_conversion, reason = "with that feature it is none"))]
fn status_of(status: projection::Status) -> super::Status {
    status.into()
}
