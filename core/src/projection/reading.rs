//! What was read so far of one event, object or status, and of a list.

use super::field::{Beginning, Field, Slot, Text};
use super::fields::{
    BOOKMARK, CODE, CONTINUE, Fields, INITIAL_EVENTS_END, LIST_META, LIST_VERSION, MESSAGE, METADATA, NAME, NAMESPACE,
    PROJECTED, REASON, RETRY_AFTER, Shape, TOO_LARGE, TYPE, UID, VERSION, bits, checked,
};
use super::object::{self, Projected, Projection};
use super::problem::{Cause, Problem};
use super::status::Status;
use super::walk::{Slots, Walk};
use crate::framing::{EventKind, Values};
use crate::object::Version;

/// The bytes that a token of the next page may have.
const TOKEN: usize = 512;

/// Reads the values of an answer into their fields, one behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Reading<P, const KEY: usize> {
    shape: Shape,
    walk: Walk,
    draft: Draft<P, KEY>,
    /// The version of the list, or its token, is too long.
    is_list_unusable: bool,
}

#[derive(Clone, Debug)]
struct Draft<P, const KEY: usize> {
    event_type: Beginning<16>,
    name: Text<KEY>,
    namespace: Text<KEY>,
    uid: Text<{ object::UID }>,
    version: Text<{ object::VERSION }>,
    initial_events_end: Beginning<8>,
    status: Status,
    list_version: Text<{ object::VERSION }>,
    token: Text<TOKEN>,
    value: P,
}

impl<P: Projection, const KEY: usize> Reading<P, KEY> {
    pub(crate) const fn new() -> Self {
        let fields = Fields { shape: Shape::Object, projected: const { checked(P::FIELDS) } };
        Self { shape: Shape::Object, walk: Walk::new(fields), draft: Draft::ABSENT, is_list_unusable: false }
    }

    /// Begins an answer with values of this shape.
    pub(crate) fn start(&mut self, shape: Shape) {
        (self.shape, self.is_list_unusable) = (shape, false);
        self.walk.start(shape);
        self.forget_list();
        self.forget();
    }

    /// Forgets everything but the list.
    pub(crate) fn forget(&mut self) {
        for field in 0..LIST_VERSION {
            self.draft.slot(field).clear();
        }
        self.draft.value = P::ABSENT;
    }

    fn forget_list(&mut self) {
        bits(LIST_META).for_each(|field| self.draft.slot(field).clear());
    }

    /// Passes over the rest of the value, after a slot panicked.
    pub(crate) fn give_up(&mut self) {
        self.walk.give_up();
    }

    /// The place where the value turned out to be no JSON.
    pub(crate) fn broken(&self) -> Option<Problem> {
        self.walk.broken()
    }

    /// A problem of the whole value, behind what was read of it.
    pub(crate) fn problem(&self, cause: Cause) -> Problem {
        Problem { field: None, cause, at: self.walk.offset() }
    }

    /// What the event is. One without an object is none.
    pub(crate) fn event_kind(&self) -> Result<EventKind, Problem> {
        if let Some(refused) = self.walk.refused(1 << TYPE) {
            return Err(refused);
        }
        if !self.walk.has_seen(1 << TYPE) || !self.walk.has_seen(METADATA) {
            return Err(self.problem(Cause::NoEvent));
        }
        self.told_kind().ok_or_else(|| self.problem(Cause::UnknownType))
    }

    /// What the event is by its type alone.
    pub(crate) fn told_kind(&self) -> Option<EventKind> {
        EventKind::of(&self.draft.event_type)
    }

    pub(crate) fn object(&self) -> Result<Projected<P, KEY>, Problem> {
        let Draft { uid, version, value, .. } = &self.draft;
        self.checked(METADATA)?;
        self.checked(self.walk.fields().projected())?;
        let key = self.joined_key().map_err(|cause| self.problem(cause))?;
        Ok(Projected { key, uid: uid.clone(), version: version.clone(), value: value.clone() })
    }

    /// The version of a bookmark, and whether the initial events end with it.
    pub(crate) fn bookmark(&self) -> Result<(Version, bool), Problem> {
        self.checked(BOOKMARK & !(1 << INITIAL_EVENTS_END))?;
        let version = Version::copied(&self.draft.version).unwrap_or_default();
        Ok((version, self.draft.initial_events_end == "true"))
    }

    /// The status, of an answer that has `code` unless the status names another one.
    pub(crate) fn status(&self, code: u16) -> Status {
        let status = self.draft.status.clone();
        Status { code: if status.code == 0 { code } else { status.code }, ..status }
    }

    /// The version of a list and the token of its next page; `None` if one of them was too long.
    pub(crate) fn list(&self) -> Option<(&str, &str)> {
        (!self.is_list_unusable).then_some((&self.draft.list_version, &self.draft.token))
    }

    /// The metadata of a list have ended. What is no such thing counts as absent, as in
    /// [`ListMeta`](crate::decode::ListMeta).
    pub(crate) fn end_list_meta(&mut self) {
        let refused = self.walk.refused(LIST_META);
        self.is_list_unusable = refused.is_some_and(|problem| matches!(problem.cause, Cause::TooLong { .. }));
        if self.walk.broken().is_some() || refused.is_some() {
            self.forget_list();
        }
    }

    /// The key of an object that could not be decoded, if it could be read.
    pub(crate) fn key(&self) -> Option<Text<KEY>> {
        self.checked(1 << NAME | 1 << NAMESPACE).ok().and_then(|()| self.joined_key().ok())
    }

    /// Its version, if it could be read.
    pub(crate) fn version(&self) -> Option<Version> {
        self.checked(1 << VERSION).ok()?;
        Some(&self.draft.version).filter(|version| !version.is_empty()).and_then(|version| Version::copied(version))
    }

    fn checked(&self, fields: u32) -> Result<(), Problem> {
        self.walk.refused(fields).map_or(Ok(()), Err)
    }

    fn joined_key(&self) -> Result<Text<KEY>, Cause> {
        let Draft { name, namespace, .. } = &self.draft;
        if name.is_empty() {
            return Err(Cause::NoName);
        }
        let mut key = namespace.clone();
        let separator = if key.is_empty() { "" } else { "/" };
        let joined = key.push(separator).and_then(|()| key.push(name));
        joined.map(|()| key).map_err(|_| Cause::TooLong { most: KEY })
    }
}

impl<P: Projection, const KEY: usize> Values for Reading<P, KEY> {
    const READS_METADATA: bool = true;

    fn begin(&mut self, is_metadata: bool) {
        if is_metadata {
            self.forget_list();
        }
        self.walk.start(if is_metadata { Shape::ListMeta } else { self.shape });
    }

    fn read(&mut self, bytes: &mut &[u8], most: usize) -> bool {
        self.walk.feed(bytes, most, &mut self.draft);
        self.walk.is_done()
    }

    fn is_in_string(&self) -> bool {
        self.walk.is_in_string()
    }
}

impl<P: Projection, const KEY: usize> Draft<P, KEY> {
    const ABSENT: Self = Self {
        event_type: Beginning::ABSENT,
        name: Text::ABSENT,
        namespace: Text::ABSENT,
        uid: Text::ABSENT,
        version: Text::ABSENT,
        initial_events_end: Beginning::ABSENT,
        status: Status::ABSENT,
        list_version: Text::ABSENT,
        token: Text::ABSENT,
        value: P::ABSENT,
    };
}

impl<P: Projection, const KEY: usize> Slots for Draft<P, KEY> {
    fn slot(&mut self, field: u32) -> &mut dyn Slot {
        match field {
            TYPE => &mut self.event_type,
            NAME => &mut self.name,
            NAMESPACE => &mut self.namespace,
            UID => &mut self.uid,
            VERSION => &mut self.version,
            INITIAL_EVENTS_END => &mut self.initial_events_end,
            CODE => &mut self.status.code,
            REASON => &mut self.status.reason,
            MESSAGE => &mut self.status.message,
            RETRY_AFTER => &mut self.status.retry_after,
            TOO_LARGE => &mut self.status.too_large,
            LIST_VERSION => &mut self.list_version,
            CONTINUE => &mut self.token,
            projected => self.value.slot((projected - PROJECTED) as usize),
        }
    }
}
