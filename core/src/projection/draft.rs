//! What was read so far of one event, object or status, and of a list.

use super::answer::{Cause, Problem, Refused, Status};
use super::field::{Beginning, Field, Slot, Text};
use super::fields::{
    CODE, CONTINUE, INITIAL_EVENTS_END, LIST_VERSION, MESSAGE, NAME, NAMESPACE, PROJECTED, REASON, REMAINING,
    RETRY_AFTER, TOO_LARGE, TYPE, UID, VERSION,
};
use super::object::{self, Projected, Projection};
use super::walk::Slots;
use core::time::Duration;

/// The bytes that a token of the next page may have.
const TOKEN: usize = 512;

#[derive(Clone, Debug)]
pub(super) struct Draft<P, const KEY: usize> {
    event_type: Beginning<16>,
    name: Text<KEY>,
    namespace: Text<KEY>,
    uid: Text<{ object::UID }>,
    version: Text<{ object::VERSION }>,
    initial_events_end: Beginning<8>,
    status: StatusDraft,
    list: ListDraft,
    value: P,
}

#[derive(Clone, Debug)]
struct StatusDraft {
    code: u16,
    reason: Beginning<{ Status::REASON }>,
    message: Beginning<{ Status::MESSAGE }>,
    retry_after: u32,
    too_large: Beginning<32>,
}

/// The metadata of a list.
#[derive(Clone, Debug)]
pub(super) struct ListDraft {
    pub(super) version: Text<{ object::VERSION }>,
    pub(super) token: Text<TOKEN>,
    pub(super) remaining: Option<i64>,
}

impl ListDraft {
    pub(super) const ABSENT: Self = Self { version: Text::ABSENT, token: Text::ABSENT, remaining: None };
}

impl<P: Projection, const KEY: usize> Draft<P, KEY> {
    pub(super) const ABSENT: Self = Self {
        event_type: Beginning::ABSENT,
        name: Text::ABSENT,
        namespace: Text::ABSENT,
        uid: Text::ABSENT,
        version: Text::ABSENT,
        initial_events_end: Beginning::ABSENT,
        status: StatusDraft {
            code: 0,
            reason: Beginning::ABSENT,
            message: Beginning::ABSENT,
            retry_after: 0,
            too_large: Beginning::ABSENT,
        },
        list: ListDraft::ABSENT,
        value: P::ABSENT,
    };

    /// Forgets everything but the list.
    pub(super) fn start(&mut self) {
        for field in 0..LIST_VERSION {
            self.slot(field).clear();
        }
        self.value = P::ABSENT;
    }

    pub(super) fn event_type(&self) -> &str {
        &self.event_type
    }

    pub(super) fn version(&self) -> &Text<{ object::VERSION }> {
        &self.version
    }

    pub(super) fn is_initial_events_end(&self) -> bool {
        self.initial_events_end == "true"
    }

    pub(super) fn list(&self) -> &ListDraft {
        &self.list
    }

    pub(super) fn list_mut(&mut self) -> &mut ListDraft {
        &mut self.list
    }

    /// The status, of an answer that has `code` unless the status names another one.
    pub(super) fn status(&self, code: u16) -> Status {
        let StatusDraft { code: own, reason, message, retry_after, too_large } = &self.status;
        let told = *reason == "Timeout" && names_version(message.as_bytes());
        Status {
            code: if *own == 0 { code } else { *own },
            reason: reason.clone(),
            message: message.clone(),
            retry_after: (*retry_after > 0).then(|| Duration::from_secs((*retry_after).into())),
            is_version_too_large: told || !too_large.is_empty(),
        }
    }

    pub(super) fn key(&self) -> Result<Text<KEY>, Cause> {
        if self.name.is_empty() {
            return Err(Cause::NoName);
        }
        let mut key = self.namespace.clone();
        let separator = if key.is_empty() { "" } else { "/" };
        let joined = key.push(separator).and_then(|()| key.push(&self.name));
        joined.map(|()| key).map_err(|_| Cause::TooLong { most: KEY })
    }

    pub(super) fn object(&self, at: usize) -> Result<Projected<P, KEY>, Problem> {
        let key = self.key().map_err(|cause| Problem { field: None, cause, at })?;
        Ok(Projected { key, uid: self.uid.clone(), version: self.version.clone(), value: self.value.clone() })
    }

    /// What could be read of an object that could not be decoded.
    pub(super) fn refused(&self, problem: Problem, is_json: bool) -> Refused<KEY> {
        let version = Some(&self.version).filter(|version| is_json && !version.is_empty());
        Refused { key: self.key().ok().filter(|_| is_json), version: version.cloned(), event_type: None, problem }
    }
}

/// Whether a message says that a version is too large. The search of strings takes twice the code.
fn names_version(message: &[u8]) -> bool {
    const TOLD: &[u8] = b"Too large resource version";
    message.windows(TOLD.len()).any(|part| part == TOLD)
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
            LIST_VERSION => &mut self.list.version,
            CONTINUE => &mut self.list.token,
            REMAINING => &mut self.list.remaining,
            projected => self.value.slot((projected - PROJECTED) as usize),
        }
    }
}
