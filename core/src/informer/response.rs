//! The response that is read: each part of it goes to the reflector, and to the queue where the reflector says so.

use super::list::Places;
use super::{InformerIn, KeyOf};
use crate::cache::{Cache, IndexerIn};
use crate::decode::{Decode, DecodeErrorOf, Ending, EventType, Part, Versioned};
use crate::fifo::Order;
use crate::object::{Version, is_older};
use crate::reflector::{Failure, Input, Phase, Response, Step};
use crate::request::RequestId;
#[cfg(feature = "alloc")]
use crate::request::is_confidential;
use crate::storage::{Keyed, KnownObjects, Mem};
use crate::transport::{ResponseHead, TransportError, TransportErrorKind};

/// How much of a response has come, and how much of it was decoded.
#[derive(Debug, Default)]
pub(super) enum Reading {
    /// Nothing is read.
    #[default]
    Nothing,
    /// The response has begun, and the decoder has it.
    Open,
    /// The response has ended. The decoder may have bytes of it left.
    Ended(Result<(), TransportError>),
    /// The response has ended, and the decoder has nothing of it: there was no head, or the decoder panicked at the end.
    Unanswered(Result<(), TransportError>),
}

impl Reading {
    /// Whether the decoder has something of the response.
    pub(super) fn has_begun(&self) -> bool {
        matches!(self, Self::Open | Self::Ended(_))
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Unanswered(_))
    }
}

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    pub(super) fn on_head(&mut self, id: RequestId, head: &ResponseHead) {
        if let Some(query) = self.reflector.open_query(id) {
            (self.id, self.reading) = (id, Reading::Open);
            self.decoder.start(query, head);
            self.answer(id, Response::Head(head));
        }
    }

    /// Bytes of a list count as received, white space and skipped items too, so that every list ends.
    pub(super) fn on_data(&mut self, id: RequestId, len: usize) {
        if self.reading.has_begun() && id == self.id {
            self.decoder.take(len);
            if matches!(self.reflector.phase(), Phase::Listing | Phase::Resuming) {
                self.list.count_bytes(len);
            }
        }
        self.answer(id, Response::Data(len));
    }

    pub(super) fn on_closed(&mut self, id: RequestId, result: Result<(), TransportError>) {
        if self.reflector.open_query(id).is_some() {
            let has_begun = self.id == id && self.reading.has_begun();
            (self.id, self.reading) =
                (id, if has_begun { Reading::Ended(result) } else { Reading::Unanswered(result) });
        }
    }

    /// Decodes the bytes that have arrived, until back-pressure applies.
    pub(super) fn read_on(&mut self) {
        while self.wants_input() {
            if let Some(pending) = self.pending.take() {
                self.go_on(pending);
            } else if self.reading.has_begun() && self.list.bytes > self.limits.list_bytes {
                self.on_broken(Failure::TooLarge { limit: self.limits.list_bytes });
            } else if let Some(part) = self.reading.has_begun().then(|| self.decoder.next_part()).flatten() {
                self.on_part(part);
            } else {
                self.on_all_read();
                self.is_unread = false;
            }
            self.note_received();
            // A part of a list may have been keys alone, which leave the queue empty.
            if !self.has_work() {
                return;
            }
        }
    }

    fn on_part(&mut self, part: Part<D::Object>) {
        match part {
            Part::Item(object) => self.on_item(object),
            Part::Event(event_type, object) => self.on_event(event_type, object),
            Part::Bookmark { version, initial_events_end } => {
                self.answer(self.id, Response::Bookmark { version: &version, initial_events_end });
            }
            Part::Error(status) => self.on_broken(Failure::in_stream(status)),
            Part::Undecodable(undecodable) => self.on_undecodable(undecodable),
            Part::NotAList => self.on_broken(Failure::NotAList),
        }
    }

    /// Stages an item of a list.
    pub(super) fn on_item(&mut self, object: D::Object) {
        if self.place(object.resource_version(), None) != Step::Stage {
            return;
        }
        let staged = match self.staging(object) {
            Staging::Known(place) if !self.list.places.contains(place) => self.try_stage_known(place),
            // The list has it twice, and both are told.
            Staging::Known(place) => self.known(place).map_or(Ok(()), |again| self.try_stage(again)),
            Staging::Object(object) => self.try_stage(object),
            Staging::Outdated(object, known) => {
                let versions = self.reflector.versions();
                if versions.are_comparable() && versions.has_reached(&known) {
                    self.on_outdated(object.resource_version(), &known);
                }
                self.try_stage(object)
            }
        };
        self.note_staged(None, staged);
    }

    pub(super) fn on_event(&mut self, event_type: EventType, object: D::Object) {
        match (self.place(object.resource_version(), Some(event_type)), event_type) {
            (Step::Apply, _) => self.on_change(event_type, object),
            (Step::Stage, EventType::Deleted) => self.on_initial_deletion(object),
            (Step::Stage, EventType::Added | EventType::Modified) => {
                let staged = self.try_restage(object);
                self.note_staged(Some(event_type), staged);
            }
            (Step::Nothing | Step::Commit | Step::Discard, _) => {}
        }
    }

    /// Queues an event of a watch, unless a newer state is known.
    fn on_change(&mut self, event_type: EventType, mut object: D::Object) {
        let is_before = |known: &Version, object: &D::Object| is_older(object.resource_version(), known);
        let known = self.share(&mut object).filter(|known| self.reflector.versions().has_reached(known));
        match (known, self.reflector.version()) {
            (Some(known), _) if is_before(&known, &object) => {
                return self.on_outdated(object.resource_version(), &known);
            }
            (None, Some(reached)) if event_type != EventType::Deleted && is_before(reached, &object) => {
                let reached = reached.clone();
                self.on_outdated(object.resource_version(), &reached);
                // A change of an object that is gone. A creation may have been overtaken by other events.
                if event_type == EventType::Modified {
                    return;
                }
            }
            _ => {}
        }
        let queued = match event_type {
            EventType::Added => self.fifo.try_add(object),
            EventType::Modified => self.fifo.try_update(object),
            EventType::Deleted => self.try_delete(object),
        };
        if let Err(full) = queued {
            self.hold(Some(event_type), M::into_item(full));
        }
    }

    /// An object is deleted again before the initial events are over.
    fn on_initial_deletion(&mut self, object: D::Object) {
        match self.staged_version(object.key()).filter(|staged| is_older(object.resource_version(), staged)) {
            Some(staged) => self.on_outdated(object.resource_version(), &staged),
            None => {
                let left = self.try_unstage(object.key());
                left.unwrap_or_else(|()| self.hold(Some(EventType::Deleted), object));
            }
        }
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
        let is_deleted = undecodable.event_type == Some(EventType::Deleted);
        match (step, &undecodable.key) {
            (Step::Stage, Some(key)) if is_deleted => {
                if self.try_unstage(key).is_err() {
                    // A change may be missing.
                    self.fifo.stage_unreadable();
                    self.answer(self.id, Response::Unreadable);
                }
            }
            (Step::Stage, Some(key)) => self.stage_present(key),
            (Step::Stage, None) => self.fifo.stage_unreadable(),
            (Step::Apply, Some(key)) if is_deleted => self.delete_undecodable(key, version),
            (Step::Apply, _) => {}
            (Step::Nothing | Step::Commit | Step::Discard, _) => return,
        }
        match step {
            _ if is_deleted => {}
            Step::Stage => self.list.has_gap = true,
            _ => self.has_gap = true,
        }
        self.undecodable = Some(self.without_secrets(undecodable));
    }

    /// Stages a key alone. If there is no room for it, the list has at least the object of the cache.
    fn stage_present(&mut self, key: &KeyOf<D>) {
        if self.listed_place(key).is_none() && self.fifo.try_stage_present(key).is_err() {
            let Self { cache, list, .. } = self;
            cache.read(|objects| list.places.insert_found(objects, key));
        }
        self.list.count_item();
    }

    /// Deletes the last state of an object whose final one could not be decoded.
    fn delete_undecodable(&mut self, key: &KeyOf<D>, version: &str) {
        let newest = self.fifo.newest(key).cloned();
        let Some(last) = newest.or_else(|| self.cache.read(|cache| cache.get(key).cloned())) else { return };
        let known = last.resource_version();
        if is_older(version, known) && self.reflector.versions().has_reached(known) {
            self.on_outdated(version, known);
        } else if let Err(full) = self.try_delete(last) {
            self.hold(Some(EventType::Deleted), M::into_item(full));
        }
    }

    /// The error without what the decoder says of a value, if it is a Secret's. A projection quotes none.
    fn without_secrets(&self, error: DecodeErrorOf<KeyOf<D>>) -> DecodeErrorOf<KeyOf<D>> {
        #[cfg(feature = "alloc")]
        if is_confidential(self.reflector.resource().path()) {
            return DecodeErrorOf { error: error.error.without_values(), ..error };
        }
        error
    }

    /// Reads no more of the response.
    pub(super) fn forget_response(&mut self) {
        (self.reading, self.is_unread) = (Reading::Nothing, false);
    }

    /// Gives up an unusable response.
    fn on_broken(&mut self, failure: Failure) {
        self.forget_response();
        self.answer(self.id, Response::Broken(failure));
    }

    /// Not inlined: on a device, the frame of [`read_on`](Self::read_on) is on the stack below those of the queue.
    #[inline(never)]
    fn on_all_read(&mut self) {
        if !self.reading.has_ended() {
            return;
        }
        let ending = match core::mem::take(&mut self.reading) {
            Reading::Ended(result) => {
                // If `finish` panics, the request ends as one without an answer.
                self.reading = Reading::Unanswered(result);
                Some(self.decoder.finish())
            }
            reading => {
                self.reading = reading;
                None
            }
        };
        let Reading::Unanswered(result) = core::mem::take(&mut self.reading) else { return };
        let closed = result.map_err(Failure::Transport);
        let answer = match ending {
            // A list with all its brackets is complete, however the connection ended.
            Some(Ending::List { resource_version, continue_token }) => {
                Response::ListEnd { version: resource_version, continue_token }
            }
            Some(Ending::TruncatedList) => Response::Closed(closed.and(Err(Failure::Truncated))),
            Some(Ending::Watch) => Response::Closed(closed),
            Some(Ending::Refusal(status)) => Response::Closed(Err(Failure::refused(status))),
            None => Response::Closed(closed.and_then(|()| Err(no_answer()))),
        };
        let step = self.reflector.handle(self.now, Input::Response(self.id, answer));
        self.follow(step);
    }

    /// The reflector's decision on an object of this version: stage, apply or drop.
    fn place(&mut self, version: &str, event_type: Option<EventType>) -> Step {
        let object = Response::Object { version, event_type };
        self.reflector.handle(self.now, Input::Response(self.id, object))
    }

    /// Tells the reflector of an object that is older than the known one.
    fn on_outdated(&mut self, version: &str, known: &str) {
        self.answer(self.id, Response::Outdated { version, known });
    }

    /// Passes a part of a response to the reflector.
    fn answer(&mut self, id: RequestId, answer: Response<'_>) {
        self.steer(Input::Response(id, answer));
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
        self.reflector.versions().are_comparable() && known.is_same_state(object)
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

    /// Counts a staged object, or holds one that did not fit.
    fn note_staged(&mut self, event_type: Option<EventType>, staged: Result<(), D::Object>) {
        match staged {
            Ok(()) => self.list.count_item(),
            Err(object) => self.hold(event_type, object),
        }
    }

    /// Stages the object in a place, which is the listed one. Fixed memory may have no room for it.
    fn try_stage_known(&mut self, place: u32) -> Result<(), D::Object> {
        if self.fifo.try_stage_known(place).is_err() {
            return self.known(place).map_or(Ok(()), Err);
        }
        self.list.places.insert(place);
        Ok(())
    }

    fn try_stage(&mut self, object: D::Object) -> Result<(), D::Object> {
        self.fifo.try_stage(object).map_err(M::into_item)
    }

    /// Stages an object of a stream in place of the one that is staged under its key, if any.
    fn try_restage(&mut self, object: D::Object) -> Result<(), D::Object> {
        let listed = self.listed_place(object.key());
        let object = match (self.staging(object), listed) {
            (Staging::Known(_), Some(_)) => return Ok(()),
            (Staging::Known(place), None) => return self.try_stage_known(place),
            (Staging::Outdated(object, known), _) if self.is_behind_stage(&object) => {
                self.on_outdated(object.resource_version(), &known);
                return Ok(());
            }
            (Staging::Object(object) | Staging::Outdated(object, _), _) => object,
        };
        let Some(place) = listed else { return self.fifo.try_restage(object).map_err(M::into_item) };
        let staged = self.fifo.try_unstage_known(place, Some(object)).map_err(M::into_item);
        if staged.is_ok() {
            self.list.places.remove(place);
        }
        staged.or_else(|object| object.map_or(Ok(()), Err))
    }

    /// Takes a key out of the staged list. That can split a run of places: then fixed memory may have no room for its other
    /// part, and nothing has changed.
    fn try_unstage(&mut self, key: &KeyOf<D>) -> Result<(), ()> {
        if let Some(place) = self.listed_place(key) {
            self.fifo.try_unstage_known(place, None).map_err(drop)?;
            self.list.places.remove(place);
        }
        self.fifo.unstage(key);
        Ok(())
    }

    /// Queues a deletion that the watch reported.
    pub(super) fn try_delete(&mut self, object: D::Object) -> Result<(), M::Full<D::Object>> {
        let Self { cache, fifo, .. } = self;
        cache.read(|objects| fifo.try_delete(object, objects))
    }

    fn is_behind_stage(&self, object: &D::Object) -> bool {
        self.staged_version(object.key()).is_some_and(|staged| is_older(object.resource_version(), &staged))
    }

    /// The version of the object that is staged under a key.
    fn staged_version(&self, key: &KeyOf<D>) -> Option<Version> {
        let placed = self.listed_place(key).and_then(|place| self.known(place));
        Version::copied(placed.as_ref().or_else(|| self.fifo.staged_object(key))?.resource_version())
    }

    /// The place of an object whose place is staged.
    fn listed_place(&self, key: &KeyOf<D>) -> Option<u32> {
        if self.list.places.is_unused() {
            return None;
        }
        self.cache.read(|objects| Some(objects.find(key)?.0)).filter(|place| self.list.places.contains(*place))
    }

    /// The object in a place of the cache.
    fn known(&self, place: u32) -> Option<D::Object> {
        self.cache.read(|objects| objects.at_place(place).cloned())
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
    pub(super) places: &'a Places<C::Mem>,
}

impl<V: Keyed, C: Cache<V>> KnownObjects<V> for Unlisted<'_, V, C> {
    fn known<'a>(&'a self) -> impl Iterator<Item = &'a V>
    where
        V: 'a,
    {
        let unlisted = self.objects.places().filter(|(place, _)| !self.places.contains(*place));
        unlisted.map(|(_, object)| object).filter(|object| self.cache.covers(object))
    }

    fn is_known(&self, key: &V::Key) -> bool {
        self.objects.contains(key)
    }
}

fn no_answer() -> Failure {
    Failure::Transport(TransportError::new(TransportErrorKind::Protocol, "the response ended before its head"))
}
