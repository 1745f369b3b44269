//! Lists and watches in fixed memory: a loop in the place of the informer, with the fewest decisions.
//!
//! It reads a list, commits it, and watches from its version. A watch that breaks off goes on from the last version. An
//! expired version, and any other refusal, lead to a list. Nothing waits, because a tape has no server to be spared.

use crate::fixed::{Cache, Deltas, Fields, ROOM};
use crate::line::{KEY, Line, Object};
use crate::tape::{Answer, Query, Source, Tape};
use crate::told::Told;
use listwatch_core::fifo::{Delta, Popped};
use listwatch_core::framing::EventType;
use listwatch_core::projection::{Body, Ending, Part};
use listwatch_core::storage::Versioned;

/// The status of a version that the server no longer has.
const GONE: u16 = 410;

/// A full container.
const FULL: &str = "the delta queue is full";

/// Follows the answers of a tape.
pub struct Follower<'a> {
    fields: &'a mut Fields,
    deltas: &'a mut Deltas,
    cache: &'a mut Cache,
    room: &'a mut [u8; ROOM],
    tape: Tape,
    open: Option<Open>,
    next: Query,
}

/// The answer that is being read.
struct Open {
    query: Query,
    answer: Answer,
    /// What follows on it, as far as its parts have told.
    next: Query,
}

// What is not inlined has frames of its own: parts and objects of several would otherwise be on the stack at once.
impl<'a> Follower<'a> {
    /// A loop over these machines, which are empty.
    pub fn new(
        tape: Tape,
        fields: &'a mut Fields,
        deltas: &'a mut Deltas,
        cache: &'a mut Cache,
        room: &'a mut [u8; ROOM],
    ) -> Self {
        Self { fields, deltas, cache, room, tape, open: None, next: Query::List }
    }

    /// Reads the next piece of an answer; `false` where the tape has none for the next request.
    ///
    /// # Errors
    /// If a container is full, or an answer cannot be used.
    #[inline(never)]
    pub fn pump(&mut self) -> Result<bool, &'static str> {
        let Some(open) = &mut self.open else { return Ok(self.open()) };
        let len = open.answer.body.read(self.room);
        if len == 0 {
            let open = self.open.take();
            return open.map_or(Ok(()), |open| self.close(open)).map(|()| true);
        }
        let mut at = 0;
        while at < len {
            let mut bytes = &self.room[at..len];
            let part = self.fields.next_part(&mut bytes);
            at = len - bytes.len();
            if let Some(part) = part {
                self.take(part)?;
            }
        }
        Ok(true)
    }

    /// Takes the next change, which the cache has.
    ///
    /// # Errors
    /// If the cache is full.
    #[inline(never)]
    pub fn poll(&mut self) -> Result<Option<Told<Object>>, &'static str> {
        while let Some(Popped { delta, initial, .. }) = self.deltas.pop() {
            let (is_deletion, final_state_known) = (delta.is_deletion(), !matches!(delta, Delta::Tombstone(_)));
            let object = delta.into_object();
            if is_deletion {
                if self.cache.remove(object.key()).is_some() {
                    return Ok(Some(Told::Deleted { object, final_state_known }));
                }
                continue;
            }
            let new = object.clone();
            let old = self.cache.try_insert(object).map_err(|_| "the cache is full")?;
            return Ok(Some(match old {
                None => Told::Added { object: new, initial },
                Some(old) if old.is_same_object(&new) => Told::Updated { old, new },
                Some(old) => Told::Recreated { old, new },
            }));
        }
        Ok(None)
    }

    /// The cache.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        self.cache
    }

    fn open(&mut self) -> bool {
        let query = self.next;
        let Some(answer) = self.tape.next(query) else { return false };
        self.fields.start(match (answer.status, query) {
            (200, Query::List) => Body::List,
            (200, Query::Watch) => Body::Watch,
            (status, _) => Body::Refusal(status),
        });
        self.open = Some(Open { query, answer, next: query });
        true
    }

    #[inline(never)]
    fn take(&mut self, part: Part<Line, KEY>) -> Result<(), &'static str> {
        match part {
            Part::Item(object) => return self.deltas.try_stage(object).map_err(|_| FULL),
            Part::Event(EventType::Added, object) => return self.deltas.try_add(object).map_err(|_| FULL),
            Part::Event(EventType::Deleted, object) => {
                return self.deltas.try_delete(object, &*self.cache).map_err(|_| FULL);
            }
            Part::Event(_, object) => return self.deltas.try_update(object).map_err(|_| FULL),
            Part::Bookmark { .. } => {}
            Part::Error(_) => self.open.iter_mut().for_each(|open| open.next = Query::List),
            _ => return Err("an object could not be decoded"),
        }
        Ok(())
    }

    /// Decides on the next request.
    #[inline(never)]
    fn close(&mut self, open: Open) -> Result<(), &'static str> {
        self.next = match self.fields.finish() {
            Ending::List { continue_token: "", .. } => {
                self.deltas.try_commit_stage(&*self.cache).map_err(|_| FULL)?;
                Query::Watch
            }
            Ending::List { .. } => Query::List,
            Ending::Watch => open.next,
            Ending::Refusal(status) if open.query == Query::Watch && status.code != GONE => Query::Watch,
            _ => {
                self.deltas.discard_stage();
                Query::List
            }
        };
        Ok(())
    }
}
