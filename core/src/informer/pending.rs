//! What fixed memory had no room for: it is done in parts, each once the queue is empty.
//!
//! A list whose items do not fit the stage is applied in parts. What it no longer has is deleted at its end alone, in parts
//! too. In memory that grows, nothing is ever pending.

use super::InformerIn;
use super::reading::Unlisted;
use super::unfit::Unfit;
use crate::cache::Cache;
use crate::decode::{Decode, EventType, Versioned};
use crate::fifo::Delta;
use crate::object::is_older;
use crate::reflector::{Input, Phase};
use crate::storage::{Keyed, Mem};

/// What became of a delta.
#[derive(Debug)]
pub(super) enum Applied<V> {
    /// It was applied: the object that the cache had, if any.
    Told(Option<V>),
    /// The cache has no room for it.
    Full,
    /// The cache has a newer state.
    Overtaken,
}

impl<V> Applied<V> {
    /// The object that the cache had, of a delta that was applied.
    pub(super) fn told(self) -> Option<Option<V>> {
        match self {
            Self::Told(known) => Some(known),
            Self::Full | Self::Overtaken => None,
        }
    }
}

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
    /// Whether a list that was accepted is pending. Nothing of the next one is staged then.
    pub(super) fn is_accepted_pending(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| matches!(pending.next, Next::Commit))
    }

    /// How many objects the cache would have to hold, at least, while it lacks some; `None` while it has them all.
    ///
    /// A cache of a fixed capacity keeps what fits. [`Failure::DoesNotFit`](crate::reflector::Failure::DoesNotFit) was
    /// reported then, and [`BackoffKind::Room`](crate::reflector::BackoffKind::Room) says when the state is read again.
    #[must_use]
    pub fn wanted(&self) -> Option<usize> {
        self.reflector.wanted()
    }

    /// Keeps an object that did not fit.
    pub(super) fn hold(&mut self, event_type: Option<EventType>, object: D::Object) {
        if self.fifo.is_full() && self.fifo.is_empty() && self.fifo.has_no_stage() {
            // The queue has a capacity of none.
            let delta = event_type.map_or_else(|| Delta::Replaced(&object), |_| Delta::Added(&object));
            self.unfit.note(&delta, false);
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
            self.unfit.has_list = true;
            self.tell_unfit();
        }
    }

    /// Notes what became of a delta: the cache had no room for it, or an object has left the cache.
    pub(super) fn note_fit(&mut self, delta: &Delta<D::Object>, applied: &Applied<D::Object>) {
        match applied {
            Applied::Overtaken => self.unfit.is_overtaken = true,
            Applied::Full => {
                let is_held = self.cache.read(|cache| cache.contains(delta.object().key()));
                self.unfit.note(delta, is_held);
                // The room that the list's own deletions made before was not enough for it.
                self.unfit.has_room &= is_held;
            }
            Applied::Told(known) => {
                if self.pending.is_some() && self.reflector.phase() == Phase::Listing {
                    self.reflector.note_ahead(delta.object().resource_version());
                }
                let is_lacking = self.unfit.is_any || self.reflector.wanted().is_some();
                self.unfit.has_room |= is_lacking && delta.is_deletion() && known.is_some();
            }
        }
    }

    /// Tells the reflector what did not fit, and what made room, once all that was received was tried.
    pub(super) fn tell_unfit(&mut self) {
        let is_done = || self.fifo.is_empty() && self.pending.is_none() && self.reflector.phase() != Phase::Listing;
        if self.unfit == Unfit::default() || !is_done() {
            return;
        }
        let Unfit { has_list, is_any, listed, watched, has_room, is_overtaken } = core::mem::take(&mut self.unfit);
        if is_any {
            // A watch brings an object that is lacking again and again, so only a list counts them.
            let lacked = self.reflector.wanted().filter(|_| !has_list).unwrap_or_default();
            let held = self.cache.read(|cache| cache.len());
            self.steer(self.now, Input::DoesNotFit { wanted: lacked.max(held + listed.max(watched.into())) });
        } else if has_list {
            self.steer(self.now, Input::Fits);
        }
        if has_room {
            self.steer(self.now, Input::Room);
        }
        // Within one history, a list that is accepted is as recent as each object of the cache.
        if has_list && is_overtaken {
            self.steer(self.now, Input::Overtaken);
        }
    }

    /// Whether the cache has a newer state of an object in a part of a list. Only the end of a list shows its version: it may
    /// come from a replica that lags behind.
    pub(super) fn is_overtaken(&self, object: &D::Object) -> bool {
        let is_before = |known: &D::Object| is_older(object.resource_version(), known.resource_version());
        let may_be_old = self.reflector.phase() == Phase::Listing && self.reflector.trusts_versions();
        may_be_old && self.cache.read(|objects| objects.get(object.key()).is_some_and(is_before))
    }

    /// Queues the staged part of a list. Objects that could not be decoded are not deleted at its end.
    fn queue_part(&mut self) {
        let Self { cache, fifo, listed, .. } = self;
        cache.read(|objects| fifo.commit_part(|key| listed.insert_found(objects, key)));
    }
}
