//! What fixed memory had no room for: it is done in parts, each once the queue is empty.
//!
//! A list whose items do not fit the stage is applied in parts. What it no longer has is deleted at its end alone, in parts
//! too. In memory that grows, nothing is ever pending.

use super::InformerIn;
use super::reading::Unlisted;
use crate::cache::Cache;
use crate::decode::{Decode, EventType};
use crate::reflector::{Input, Phase};
use crate::storage::Mem;

/// What is done next, once every queued delta was taken.
#[derive(Debug)]
pub(super) struct Pending<V> {
    next: Next<V>,
    /// The queue has a part of a list, which has not ended or is not committed.
    pub(super) is_parted: bool,
}

#[derive(Debug)]
enum Next<V> {
    /// An item, or an event of this type, has to be queued or staged.
    Object(Option<EventType>, V),
    /// The list has ended, and is not committed.
    Commit,
}

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    /// Keeps an object that did not fit.
    pub(super) fn hold(&mut self, event_type: Option<EventType>, object: D::Object) {
        if self.fifo.is_full() && self.fifo.is_empty() && self.fifo.has_no_stage() {
            // The queue has a capacity of none.
            self.unfit += 1;
            return;
        }
        self.pending = Some(Pending { next: Next::Object(event_type, object), is_parted: false });
    }

    /// Goes on with what is pending. The queue is empty.
    pub(super) fn go_on(&mut self, pending: Pending<D::Object>) {
        if !self.fifo.has_no_stage() {
            self.pending = Some(Pending { is_parted: true, ..pending });
            return self.queue_part();
        }
        match pending.next {
            Next::Object(None, object) => self.on_item(object),
            Next::Object(Some(event_type), object) => self.on_event(event_type, object),
            Next::Commit => self.commit(),
        }
    }

    /// Commits the staged list. If that does not fit, it is committed in parts.
    pub(super) fn commit(&mut self) {
        // The caller's code may panic: then the commit is tried again.
        self.pending = Some(Pending { next: Next::Commit, is_parted: false });
        let Self { cache, fifo, listed, .. } = self;
        let committed = cache.read(|objects| {
            let unlisted = Unlisted { objects, cache, listed };
            let committed = fifo.try_commit_stage(&unlisted).is_ok();
            if !committed && fifo.has_no_stage() {
                fifo.bury_part(&unlisted);
            }
            committed
        });
        if committed {
            self.pending = None;
            self.forget_stage();
            self.tell_unfit();
        }
    }

    /// Notes that objects did not fit, once all of a list were tried.
    pub(super) fn tell_unfit(&mut self) {
        let is_done = || self.fifo.is_empty() && self.pending.is_none() && self.reflector.phase() != Phase::Listing;
        if self.unfit > 0 && is_done() {
            let wanted = self.cache.read(|cache| cache.len()) + core::mem::take(&mut self.unfit);
            self.forget_response();
            self.steer(self.now, Input::DoesNotFit { wanted });
        }
    }

    /// Queues the staged part of a list. Objects that could not be decoded are not deleted at its end.
    fn queue_part(&mut self) {
        let Self { cache, fifo, listed, .. } = self;
        cache.read(|objects| fifo.commit_part(|key| listed.insert_found(objects, key)));
    }
}
