//! What fixed memory had no room for. In memory that grows, nothing of this happens.
//!
//! A list whose items do not fit the stage is applied in parts, each once the queue is empty. What it no longer has is
//! deleted at its end alone, in parts too. What the cache has no room for is counted, and told to the reflector.

use super::InformerIn;
use super::response::Unlisted;
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

/// What the cache had no room for, and what made room, since the reflector was told last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unfit {
    /// A whole list was queued.
    has_list: bool,
    /// There was no room for the state of an object.
    is_any: bool,
    /// How many objects of a list the cache lacks.
    listed: usize,
    /// The cache lacks an object that a watch brought.
    watched: bool,
    /// An object has left the cache.
    has_room: bool,
    /// A part of a list was older than the cache.
    is_overtaken: bool,
}

impl Unfit {
    /// There was no room for the object of a delta, of which the cache has another state or none.
    fn note<V>(&mut self, delta: &Delta<V>, is_held: bool) {
        self.is_any = true;
        match delta {
            _ if is_held => {}
            Delta::Replaced(_) => self.listed += 1,
            _ => self.watched = true,
        }
    }
}

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    /// How many objects the cache would have to hold, at least, while it lacks some; `None` while it has them all.
    ///
    /// A cache of a fixed capacity keeps what fits. [`Failure::DoesNotFit`](crate::reflector::Failure::DoesNotFit) was
    /// reported then, and [`BackoffKind::Room`](crate::reflector::BackoffKind::Room) says when the state is read again.
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

    /// Queues the staged part of a list. Objects that could not be decoded are not deleted at its end.
    fn queue_part(&mut self) {
        let Self { cache, fifo, list, .. } = self;
        cache.read(|objects| fifo.commit_part(|key| list.places.insert_found(objects, key)));
    }

    /// Commits the staged list. If that does not fit, it is committed in parts.
    pub(super) fn commit(&mut self) {
        // The caller's code may panic: then the commit is tried again.
        self.pending = Some(Pending { next: Next::Commit, is_parted: false });
        let Self { cache, fifo, list, .. } = self;
        let committed = cache.read(|objects| {
            let unlisted = Unlisted { objects, cache, places: &list.places };
            let committed = fifo.try_commit_stage(&unlisted).is_ok();
            if !committed && fifo.has_no_stage() {
                fifo.bury_part(&unlisted);
            }
            committed
        });
        if committed {
            self.pending = None;
            self.lists = self.lists.wrapping_add(1);
            self.list.clear();
            self.unfit.has_list = true;
            self.tell_unfit();
        }
    }

    /// Forgets a list that broke off, and what is pending of it. One that was accepted is committed all the same; nothing of
    /// the next one is staged then.
    pub(super) fn discard(&mut self) {
        if !matches!(self.pending, Some(Pending { next: Next::Commit, .. })) {
            self.fifo.discard_stage();
            (self.pending, self.unfit) = (None, Unfit::default());
            self.list.clear();
        }
    }

    /// Whether all that was received is queued, and the reflector knows what did not fit.
    pub(super) fn is_all_queued(&self) -> bool {
        self.pending.is_none() && self.unfit == Unfit::default()
    }

    /// Notes what became of a delta: the cache had no room for it, or an object has left the cache. Returns the object that
    /// the cache had, if the delta was applied.
    pub(super) fn note_applied(
        &mut self,
        delta: &Delta<D::Object>,
        applied: Applied<D::Object>,
    ) -> Option<Option<D::Object>> {
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
                    self.reflector.versions_mut().note_ahead(delta.object().resource_version());
                }
                let is_lacking = self.unfit.is_any || self.reflector.wanted().is_some();
                self.unfit.has_room |= is_lacking && delta.is_deletion() && known.is_some();
                return Some(known);
            }
        }
        None
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
            self.steer(Input::DoesNotFit { wanted: lacked.max(held + listed.max(watched.into())) });
        } else if has_list {
            self.steer(Input::Fits);
        }
        if has_room {
            self.steer(Input::Room);
        }
        // Within one history, a list that is accepted is as recent as each object of the cache.
        if has_list && is_overtaken {
            self.steer(Input::Overtaken);
        }
    }

    /// Whether the cache has a newer state of an object in a part of a list. Only the end of a list shows its version: it may
    /// come from a replica that lags behind.
    pub(super) fn is_overtaken(&self, object: &D::Object) -> bool {
        let is_before = |known: &D::Object| is_older(object.resource_version(), known.resource_version());
        let may_be_old = self.reflector.phase() == Phase::Listing && self.reflector.versions().are_comparable();
        may_be_old && self.cache.read(|objects| objects.get(object.key()).is_some_and(is_before))
    }
}
