//! What becomes of what comes in: each part of an answer, in its order.

use super::Informer;
use super::intake::{Ending, Part};
use crate::cache::Cache;
use crate::decode::{Change, DecodeError, WatchEvent};
use crate::object::{Object, ObjectHandle};
use crate::reflector::{Answer, Failure, Input, Step};
use crate::request::RequestId;
use crate::time::Instant;
use crate::transport::{ResponseHead, TransportError, TransportErrorKind};
use serde::de::DeserializeOwned;

/// What a staged object costs beside its own bytes: its metadata, its places in queue and cache.
const BESIDE: usize = 512;

impl<T: DeserializeOwned, C: Cache<ObjectHandle<T>>> Informer<T, C> {
    pub(super) fn on_head(&mut self, now: Instant, id: RequestId, head: &ResponseHead) {
        if let Some(query) = self.reflector.open_query(id) {
            self.closing = None;
            self.intake.start(id, query, head);
            self.answer(now, id, Answer::Head(head));
        }
    }

    pub(super) fn on_closed(&mut self, id: RequestId, result: Result<(), TransportError>) {
        if self.reflector.open_query(id).is_some() {
            if self.intake.id() != id {
                self.intake.forget(id);
            }
            self.closing = Some(result);
        }
    }

    /// Reads on for as long as there is room for what comes out.
    pub(super) fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.read_on();
        self.blocked |= !self.wants_input();
    }

    fn read_on(&mut self) {
        while self.wants_input() {
            match self.intake.next_part() {
                Some(Part::Item(item)) => self.on_item(item),
                Some(Part::Event(event)) => self.on_event(event),
                Some(Part::NotAList) => self.on_broken(Failure::NotAList),
                None => {
                    self.on_all_read();
                    return self.note_received();
                }
            }
            self.note_received();
        }
    }

    /// The server was not silent while events were to be taken first: nobody listened.
    pub(super) fn listen(&mut self, now: Instant) {
        if self.blocked && self.wants_input() {
            self.blocked = false;
            self.steer(now, Input::Listening);
        }
    }

    fn on_item(&mut self, item: Result<Object<T>, DecodeError>) {
        match item {
            Ok(object) if self.place(object.meta.resource_version(), None) == Step::Stage => {
                let object = self.shared(object);
                self.fifo.stage(object);
                self.note_staged();
            }
            Ok(_) => {}
            Err(undecodable) => self.on_undecodable(undecodable),
        }
    }

    fn on_event(&mut self, event: Result<WatchEvent<T>, DecodeError>) {
        match event {
            Ok(WatchEvent::Object(change, object)) => {
                let step = self.place(object.meta.resource_version(), Some(change));
                self.on_change(step, change, object);
            }
            Ok(WatchEvent::Bookmark { version, initial_events_end }) => {
                let bookmark = Answer::Bookmark { version: &version, initial_events_end };
                self.answer(self.now, self.intake.id(), bookmark);
            }
            Ok(WatchEvent::Error(status)) => self.on_broken(Failure::StreamError(status.into())),
            Err(undecodable) => self.on_undecodable(undecodable),
        }
    }

    fn on_change(&mut self, step: Step, change: Change, object: Object<T>) {
        let object = match step {
            Step::Stage if change == Change::Deleted => return self.fifo.unstage(object.meta.key()),
            Step::Stage => self.shared(object),
            Step::Apply => object.into(),
            Step::Nothing | Step::Commit | Step::Discard => return,
        };
        match (step, change) {
            (Step::Stage, _) => {
                self.fifo.restage(object);
                self.note_staged();
            }
            (_, Change::Added) => self.fifo.add(object),
            (_, Change::Modified) => self.fifo.update(object),
            (_, Change::Deleted) => self.cache.read(|cache| self.fifo.delete(object, cache)),
        }
    }

    /// Gives a state up that is larger than it may be.
    fn note_staged(&mut self) {
        let progress = &mut self.progress;
        progress.staged += 1;
        progress.staged_bytes = progress.staged_bytes.saturating_add(self.intake.part_len()).saturating_add(BESIDE);
        if progress.staged_bytes > self.max_list_bytes {
            self.on_broken(Failure::TooLarge { limit: self.max_list_bytes });
        }
    }

    /// An object that cannot be decoded keeps its last good state, unless it is gone. In a list it counts as present,
    /// and if it may be any object, no other one is taken for deleted.
    fn on_undecodable(&mut self, undecodable: DecodeError) {
        let version = undecodable.version.as_deref().unwrap_or_default();
        let step = match &undecodable.key {
            Some(_) => self.place(version, undecodable.change),
            None => self.reflector.handle(self.now, Input::Answer(self.intake.id(), Answer::Unreadable)),
        };
        let deleted = undecodable.change == Some(Change::Deleted);
        match (step, &undecodable.key) {
            (Step::Stage, Some(key)) if deleted => self.fifo.unstage(key),
            (Step::Stage, Some(key)) => self.fifo.stage_present(key),
            (Step::Stage, None) => self.fifo.stage_unreadable(),
            (Step::Apply, Some(key)) if deleted => {
                if let Some(last) = self.newest(key) {
                    self.cache.read(|cache| self.fifo.delete(last, cache));
                }
            }
            (Step::Apply, _) => {}
            (Step::Nothing | Step::Commit | Step::Discard, _) => return,
        }
        let staged = step == Step::Stage && !deleted && undecodable.key.is_some();
        self.undecodable = Some(undecodable);
        if staged {
            self.note_staged();
        }
    }

    /// The answer is of no more use.
    fn on_broken(&mut self, failure: Failure) {
        self.intake.finish();
        self.closing = None;
        self.answer(self.now, self.intake.id(), Answer::Broken(failure));
    }

    fn on_all_read(&mut self) {
        let Some(result) = self.closing.take() else { return };
        let (id, now) = (self.intake.id(), self.now);
        let closed = result.map_err(Failure::Transport);
        let closed = match self.intake.finish() {
            // A list that has all its brackets is complete, however the connection ended.
            Ending::List(list) => {
                let (version, continue_token) = (list.resource_version(), list.continue_token());
                return self.answer(now, id, Answer::ListEnd { version, continue_token });
            }
            Ending::HalfAList => closed.and(Err(Failure::Truncated)),
            Ending::Watch => closed,
            Ending::Refusal(status) => Err(Failure::Status(status.into())),
            Ending::Nothing => closed.and_then(|()| Err(no_answer())),
        };
        self.answer(now, id, Answer::Closed(closed));
    }

    /// Asks the reflector where an object of this version belongs.
    fn place(&mut self, version: &str, change: Option<Change>) -> Step {
        let object = Answer::Object { version, change };
        self.reflector.handle(self.now, Input::Answer(self.intake.id(), object))
    }

    /// Passes on what else comes of an answer.
    pub(super) fn answer(&mut self, now: Instant, id: RequestId, answer: Answer<'_>) {
        self.steer(now, Input::Answer(id, answer));
    }

    /// Passes an input to the reflector, and does with the staged list what it says.
    pub(super) fn steer(&mut self, now: Instant, input: Input<'_>) {
        self.now = self.now.max(now);
        let step = self.reflector.handle(self.now, input);
        self.blocked |= !self.wants_input();
        match step {
            Step::Commit => self.cache.read(|cache| self.fifo.commit_stage(cache)),
            Step::Discard => self.fifo.discard_stage(),
            Step::Nothing | Step::Stage | Step::Apply => return,
        }
        (self.progress.staged, self.progress.staged_bytes) = (0, 0);
    }
}

fn no_answer() -> Failure {
    Failure::Transport(TransportError::new(TransportErrorKind::Protocol, "the answer ended before it began"))
}
