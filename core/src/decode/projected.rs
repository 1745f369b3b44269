use super::answer::{Body, Decode, Ending, Part};
use super::projector::Projector;
use crate::projection::{Path, Projected, Projection};
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

    fn keeps_managed_fields(&self) -> bool {
        const MANAGED: Path = Path::new("metadata.managedFields");
        P::FIELDS.iter().any(|field| field.collides_with(&MANAGED) || field.as_str() == MANAGED.as_str())
    }

    fn start(&mut self, query: Query, head: &ResponseHead) {
        self.unread = 0..0;
        self.projector.start(Body::of(query, head));
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
        self.projector.next_part(&mut reading.bytes)
    }

    fn finish(&mut self) -> Ending<'_> {
        self.projector.finish()
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
