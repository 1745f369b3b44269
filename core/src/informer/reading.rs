//! Input: each part of a response goes to the reflector, and to the queue where the reflector says so.

use super::listed::Listed;
use super::unfit::Unfit;
use super::{InformerIn, KeyOf};
use crate::cache::{Cache, IndexerIn, Note};
use crate::decode::{Decode, DecodeErrorOf, Ending, EventType, Part, Versioned};
use crate::fifo::Order;
use crate::object::{Version, is_older};
use crate::reflector::{Failure, Input, Phase, Response, Step};
use crate::request::RequestId;
#[cfg(feature = "alloc")]
use crate::request::{WITHHELD, is_confidential};
use crate::storage::{Keyed, KnownObjects, Mem};
use crate::time::Instant;
use crate::transport::{ResponseHead, TransportError, TransportErrorKind};

/// How many bytes a staged object counts besides those received: its metadata and its records in queue and cache.
const BESIDE: usize = 512;

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    pub(super) fn on_head(&mut self, now: Instant, id: RequestId, head: &ResponseHead) {
        if let Some(query) = self.reflector.open_query(id) {
            self.closing = None;
            (self.id, self.reading) = (id, true);
            self.decoder.start(query, head);
            self.answer(now, id, Response::Head(head));
        }
    }

    pub(super) fn on_closed(&mut self, id: RequestId, result: Result<(), TransportError>) {
        if self.reflector.open_query(id).is_some() {
            if self.id != id {
                // The response ended before it began.
                (self.id, self.reading) = (id, false);
            }
            self.closing = Some(result);
        }
    }

    /// Bytes of the response that is read. Those of a list count as received, white space and skipped items too, so
    /// that every list ends.
    pub(super) fn on_data(&mut self, len: usize) {
        self.decoder.take(len);
        if matches!(self.reflector.phase(), Phase::Listing | Phase::Resuming) {
            self.progress.count_bytes(len);
        }
    }

    /// Decodes the bytes that have arrived, until back-pressure applies.
    pub(super) fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.read_on();
        self.blocked |= !self.wants_input();
        self.note_recovered();
        self.cache.wake();
    }

    fn read_on(&mut self) {
        while self.wants_input() {
            if let Some(pending) = self.pending.take() {
                self.go_on(pending);
            } else if self.reading && self.progress.staged_bytes > self.max_list_bytes {
                self.on_broken(Failure::TooLarge { limit: self.max_list_bytes });
            } else if let Some(part) = self.reading.then(|| self.decoder.next_part()).flatten() {
                self.on_part(part);
            } else {
                self.on_all_read();
                self.unread = false;
            }
            self.note_received();
            // A part of a list may have been keys alone, which leave the queue empty.
            if !self.has_work() {
                return;
            }
        }
    }

    /// Notes that the failure that was told last is over.
    fn note_recovered(&mut self) {
        if self.is_failing && self.reflector.outage().is_none() {
            self.is_failing = false;
            self.cache.note(Note::Recovered);
        }
    }

    /// Restarts the deadlines for silence where back-pressure has ended: the server was not silent, it was not read.
    pub(super) fn listen(&mut self, now: Instant) {
        if self.blocked && self.wants_input() {
            self.blocked = false;
            self.steer(now, Input::Listening);
        }
    }

    fn on_part(&mut self, part: Part<D::Object>) {
        match part {
            Part::Item(object) => self.on_item(object),
            Part::Event(event_type, object) => self.on_event(event_type, object),
            Part::Bookmark { version, initial_events_end } => {
                self.answer(self.now, self.id, Response::Bookmark { version: &version, initial_events_end });
            }
            Part::Error(status) => self.on_broken(Failure::in_stream(status)),
            Part::Undecodable(undecodable) => self.on_undecodable(undecodable),
            Part::NotAList => self.on_broken(Failure::NotAList),
        }
    }

    pub(super) fn on_item(&mut self, object: D::Object) {
        if self.place(object.resource_version(), None) != Step::Stage {
            return;
        }
        let staged = match self.staging(object) {
            Staging::Known(place) if !self.listed.contains(place) => self.try_stage_known(place),
            // The list has it twice, and both are told.
            Staging::Known(place) => self.known(place).map_or(Ok(()), |again| self.try_stage(again)),
            Staging::Object(object) => self.try_stage(object),
            Staging::Outdated(object, known) => {
                if self.reflector.trusts_versions() && self.reflector.has_reached(&known) {
                    self.on_outdated(object.resource_version(), &known);
                }
                self.try_stage(object)
            }
        };
        self.note_staged(None, staged);
    }

    pub(super) fn on_event(&mut self, event_type: EventType, mut object: D::Object) {
        let step = self.place(object.resource_version(), Some(event_type));
        let known = match step {
            Step::Apply => self.share(&mut object).filter(|known| self.reflector.has_reached(known)),
            Step::Stage if event_type == EventType::Deleted => self.staged_version(object.key()),
            _ => None,
        };
        let is_before = |known: &Version| is_older(object.resource_version(), known);
        match (known, self.reflector.version()) {
            (Some(known), _) if is_before(&known) => return self.on_outdated(object.resource_version(), &known),
            (None, Some(reached)) if step == Step::Apply && event_type != EventType::Deleted && is_before(reached) => {
                let reached = reached.clone();
                self.on_outdated(object.resource_version(), &reached);
                // A change of an object that is gone. A creation may have been overtaken by other events.
                if event_type == EventType::Modified {
                    return;
                }
            }
            _ => {}
        }
        let queued = match (step, event_type) {
            (Step::Stage, EventType::Deleted) => {
                let left = self.try_unstage(object.key());
                return left.unwrap_or_else(|()| self.hold(Some(event_type), object));
            }
            (Step::Stage, EventType::Added | EventType::Modified) => {
                let staged = self.try_restage(object);
                return self.note_staged(Some(event_type), staged);
            }
            (Step::Apply, EventType::Added) => self.fifo.try_add(object),
            (Step::Apply, EventType::Modified) => self.fifo.try_update(object),
            (Step::Apply, EventType::Deleted) => self.try_delete(object),
            (Step::Nothing | Step::Commit | Step::Discard, _) => return,
        };
        if let Err(full) = queued {
            self.hold(Some(event_type), M::into_item(full));
        }
    }

    /// How a listed object is staged. If it has not changed, the handle that is held already is, so that a relist costs
    /// memory only for changes.
    fn staging(&self, mut object: D::Object) -> Staging<D::Object> {
        if let Some(queued) = self.fifo.newest(object.key()) {
            if self.is_same_state(queued, &object) {
                return Staging::Object(queued.clone());
            }
            object.share_with(queued);
            let newer = newer_version(queued, &object);
            return Staging::changed(object, newer);
        }
        let mut newer = None;
        let by_place = self.fifo.order() == Order::Arrival;
        let held = self.cache.read(|objects| {
            let (place, known) = objects.find(object.key())?;
            if !self.is_same_state(known, &object) {
                object.share_with(known);
                newer = newer_version(known, &object);
                return None;
            }
            let by_place = by_place && self.cache.covers(known);
            Some(if by_place { Staging::Known(place) } else { Staging::Object(known.clone()) })
        });
        // The cache is not locked any more where an object is dropped.
        held.unwrap_or_else(|| Staging::changed(object, newer))
    }

    /// Whether two objects of one key are the same state: the server's versions say so, if they are of one history.
    fn is_same_state(&self, known: &D::Object, object: &D::Object) -> bool {
        self.reflector.trusts_versions() && known.is_same_state(object)
    }

    /// Lets a changed object share memory with the newest state before it, whose version is returned unless it is deleted.
    fn share(&self, object: &mut D::Object) -> Option<Version> {
        if let Some(queued) = self.fifo.newest_delta(object.key()) {
            object.share_with(queued.object());
            return if queued.is_deletion() { None } else { Version::copied(queued.object().resource_version()) };
        }
        self.cache.read(|objects| {
            let known = objects.get(object.key())?;
            object.share_with(known);
            Version::copied(known.resource_version())
        })
    }

    /// The version of the object that is staged under a key.
    fn staged_version(&self, key: &KeyOf<D>) -> Option<Version> {
        let placed = self.listed_place(key).and_then(|place| self.known(place));
        Version::copied(placed.as_ref().or_else(|| self.fifo.staged_object(key))?.resource_version())
    }

    fn is_behind_stage(&self, object: &D::Object) -> bool {
        self.staged_version(object.key()).is_some_and(|staged| is_older(object.resource_version(), &staged))
    }

    /// Tells the reflector of an object that is older than the known one.
    fn on_outdated(&mut self, version: &str, known: &str) {
        self.answer(self.now, self.id, Response::Outdated { version, known });
    }

    /// The object in a place of the cache.
    fn known(&self, place: u32) -> Option<D::Object> {
        self.cache.read(|objects| objects.at_place(place).cloned())
    }

    /// Stages the object in a place, which is the listed one. Fixed memory may have no room for it.
    fn try_stage_known(&mut self, place: u32) -> Result<(), D::Object> {
        if self.fifo.try_stage_known(place).is_err() {
            return self.known(place).map_or(Ok(()), Err);
        }
        self.listed.insert(place);
        Ok(())
    }

    fn try_stage(&mut self, object: D::Object) -> Result<(), D::Object> {
        self.fifo.try_stage(object).map_err(M::into_item)
    }

    /// Stages an object of a stream in place of the one that is staged under its key, if any.
    fn try_restage(&mut self, object: D::Object) -> Result<(), D::Object> {
        let listed = self.listed_place(object.key());
        match (self.staging(object), listed) {
            (Staging::Outdated(object, known), _) if self.is_behind_stage(&object) => {
                self.on_outdated(object.resource_version(), &known);
                Ok(())
            }
            (Staging::Known(_), Some(_)) => Ok(()),
            (Staging::Known(place), None) => self.try_stage_known(place),
            (Staging::Object(object) | Staging::Outdated(object, _), Some(place)) => {
                let staged = self.fifo.try_unstage_known(place, Some(object)).map_err(M::into_item);
                if staged.is_ok() {
                    self.listed.remove(place);
                }
                staged.or_else(|object| object.map_or(Ok(()), Err))
            }
            (Staging::Object(object) | Staging::Outdated(object, _), None) => {
                self.fifo.try_restage(object).map_err(M::into_item)
            }
        }
    }

    /// Takes a key out of the staged list. That can split a run of places: then fixed memory may have no room for its other
    /// part, and nothing has changed.
    fn try_unstage(&mut self, key: &KeyOf<D>) -> Result<(), ()> {
        if let Some(place) = self.listed_place(key) {
            self.fifo.try_unstage_known(place, None).map_err(drop)?;
            self.listed.remove(place);
        }
        self.fifo.unstage(key);
        Ok(())
    }

    /// Notes that the list has an object of the cache, for whose key the stage has no room.
    fn note_present(&mut self, key: &KeyOf<D>) {
        let Self { cache, listed, .. } = self;
        cache.read(|objects| listed.insert_found(objects, key));
    }

    /// Notes that a change may be missing.
    fn note_doubt(&mut self) {
        self.fifo.stage_unreadable();
        self.answer(self.now, self.id, Response::Unreadable);
    }

    /// The place of an object whose place is staged.
    fn listed_place(&self, key: &KeyOf<D>) -> Option<u32> {
        if self.listed.is_unused() {
            return None;
        }
        self.cache.read(|objects| Some(objects.find(key)?.0)).filter(|place| self.listed.contains(*place))
    }

    /// Counts a staged object, or holds one that did not fit.
    fn note_staged(&mut self, event_type: Option<EventType>, staged: Result<(), D::Object>) {
        match staged {
            Ok(()) => self.count_staged(),
            Err(object) => self.hold(event_type, object),
        }
    }

    fn count_staged(&mut self) {
        self.progress.staged += 1;
        self.progress.count_bytes(BESIDE);
    }

    /// An object that cannot be decoded keeps its last good state, unless it was deleted. In a list it counts as
    /// present. If its key is unknown too, the list infers no deletion.
    #[cold]
    fn on_undecodable(&mut self, undecodable: DecodeErrorOf<KeyOf<D>>) {
        let version = undecodable.version.as_deref().unwrap_or_default();
        let step = match &undecodable.key {
            Some(_) => self.place(version, undecodable.event_type),
            None => self.reflector.handle(self.now, Input::Response(self.id, Response::Unreadable)),
        };
        let deleted = undecodable.event_type == Some(EventType::Deleted);
        match (step, &undecodable.key) {
            (Step::Stage, Some(key)) if deleted => self.try_unstage(key).unwrap_or_else(|()| self.note_doubt()),
            (Step::Stage, Some(key)) if self.listed_place(key).is_some() => {}
            (Step::Stage, Some(key)) => {
                if self.fifo.try_stage_present(key).is_err() {
                    self.note_present(key);
                }
            }
            (Step::Stage, None) => self.fifo.stage_unreadable(),
            (Step::Apply, Some(key)) if deleted => self.delete_undecodable(key, version),
            (Step::Apply, _) => {}
            (Step::Nothing | Step::Commit | Step::Discard, _) => return,
        }
        let staged = step == Step::Stage && !deleted && undecodable.key.is_some();
        self.has_staged_gap |= step == Step::Stage && !deleted;
        self.has_gap |= step == Step::Apply && !deleted;
        self.undecodable = Some(self.without_secrets(undecodable));
        if staged {
            self.count_staged();
        }
    }

    /// Deletes the last state of an object whose final one could not be decoded.
    fn delete_undecodable(&mut self, key: &KeyOf<D>, version: &str) {
        let Some(last) = self.newest(key) else { return };
        let known = last.resource_version();
        if is_older(version, known) && self.reflector.has_reached(known) {
            self.on_outdated(version, known);
        } else if let Err(full) = self.try_delete(last) {
            self.hold(Some(EventType::Deleted), M::into_item(full));
        }
    }

    /// The error without what the decoder says of a Secret.
    #[cfg(feature = "alloc")]
    fn without_secrets(&self, error: DecodeErrorOf<KeyOf<D>>) -> DecodeErrorOf<KeyOf<D>> {
        match is_confidential(self.reflector.resource().path()) {
            true => DecodeErrorOf { error: WITHHELD.into(), ..error },
            false => error,
        }
    }

    /// The same: a projection quotes no value.
    #[cfg(not(feature = "alloc"))]
    fn without_secrets(&self, error: DecodeErrorOf<KeyOf<D>>) -> DecodeErrorOf<KeyOf<D>> {
        error
    }

    /// Queues a deletion that the watch reported.
    fn try_delete(&mut self, object: D::Object) -> Result<(), M::Full<D::Object>> {
        let Self { cache, fifo, .. } = self;
        cache.read(|objects| fifo.try_delete(object, objects))
    }

    /// Reads no more of the response.
    pub(super) fn forget_response(&mut self) {
        (self.reading, self.unread) = (false, false);
        self.closing = None;
    }

    /// Gives up an unusable response.
    fn on_broken(&mut self, failure: Failure) {
        self.forget_response();
        self.answer(self.now, self.id, Response::Broken(failure));
    }

    /// A frame of its own: on a device, that of reading is on the stack beneath the queue's.
    #[inline(never)]
    fn on_all_read(&mut self) {
        if self.closing.is_none() {
            return;
        }
        // If `finish` panics, the end stays noted, so the request ends as one without an answer.
        let ending = core::mem::take(&mut self.reading).then(|| self.decoder.finish());
        let Some(result) = self.closing.take() else { return };
        let closed = result.map_err(Failure::Transport);
        let answer = match ending {
            // A list with all its brackets is complete, however the connection ended.
            Some(Ending::List { resource_version, continue_token }) => {
                Response::ListEnd { version: resource_version, continue_token }
            }
            Some(Ending::TruncatedList) => Response::Closed(closed.and(Err(Failure::Truncated))),
            Some(Ending::Watch) => Response::Closed(closed),
            Some(Ending::Refusal(status)) => Response::Closed(Err(Failure::refused(status))),
            None if closed.is_ok() => Response::Closed(Err(no_answer())),
            None => Response::Closed(closed),
        };
        let step = self.reflector.handle(self.now, Input::Response(self.id, answer));
        self.follow(step);
    }

    /// The reflector's decision on an object of this version: stage, apply or drop.
    fn place(&mut self, version: &str, event_type: Option<EventType>) -> Step {
        let object = Response::Object { version, event_type };
        self.reflector.handle(self.now, Input::Response(self.id, object))
    }

    /// Passes a part of a response to the reflector.
    pub(super) fn answer(&mut self, now: Instant, id: RequestId, answer: Response<'_>) {
        self.steer(now, Input::Response(id, answer));
    }

    /// Passes an input to the reflector.
    pub(super) fn steer(&mut self, now: Instant, input: Input<'_>) {
        self.now = self.now.max(now);
        let step = self.reflector.handle(self.now, input);
        self.follow(step);
    }

    /// Commits or discards the staged list, as the reflector says.
    fn follow(&mut self, step: Step) {
        self.blocked |= !self.wants_input();
        match step {
            Step::Commit => {
                self.has_gap = core::mem::take(&mut self.has_staged_gap);
                self.restored = None;
                self.commit();
            }
            Step::Discard => self.discard(),
            Step::Nothing | Step::Stage | Step::Apply => {}
        }
    }

    /// Forgets a list that broke off, and what is pending of it.
    fn discard(&mut self) {
        if self.is_accepted_pending() {
            return;
        }
        self.fifo.discard_stage();
        (self.pending, self.unfit, self.has_staged_gap) = (None, Unfit::default(), false);
        self.forget_stage();
    }

    /// Forgets which objects were staged.
    pub(super) fn forget_stage(&mut self) {
        self.listed.clear();
        (self.progress.staged, self.progress.staged_bytes) = (0, 0);
    }
}

/// How a listed object is staged.
enum Staging<V> {
    /// By the place of the object in the cache, which is the same state.
    Known(u32),
    Object(V),
    /// The object is older than the newest known state, which has this version.
    Outdated(V, Version),
}

impl<V> Staging<V> {
    fn changed(object: V, newer: Option<Version>) -> Self {
        match newer {
            Some(newer) => Self::Outdated(object, newer),
            None => Self::Object(object),
        }
    }
}

/// The version of the known state of an object, if that is newer.
fn newer_version<V: Versioned>(known: &V, object: &V) -> Option<Version> {
    let known = known.resource_version();
    is_older(object.resource_version(), known).then(|| Version::copied(known)).flatten()
}

/// The objects of the cache that the informer's lists cover, without those whose places are staged.
pub(super) struct Unlisted<'a, V: Keyed, C: Cache<V>> {
    pub(super) objects: &'a IndexerIn<V, C::Mem>,
    pub(super) cache: &'a C,
    pub(super) listed: &'a Listed<C::Mem>,
}

impl<V: Keyed, C: Cache<V>> KnownObjects<V> for Unlisted<'_, V, C> {
    fn known<'a>(&'a self) -> impl Iterator<Item = &'a V>
    where
        V: 'a,
    {
        let unlisted = self.objects.places().filter(|(place, _)| !self.listed.contains(*place));
        unlisted.map(|(_, object)| object).filter(|object| self.cache.covers(object))
    }

    fn is_known(&self, key: &V::Key) -> bool {
        self.objects.contains(key)
    }
}

fn no_answer() -> Failure {
    Failure::Transport(TransportError::new(TransportErrorKind::Protocol, "the response ended before its head"))
}
