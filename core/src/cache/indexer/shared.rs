//! Lists that readers share: each is cut into chunks, and a chunk is kept until an object of it changes.
//!
//! A reader has shared access, and makes the chunks that are missing. The owner has exclusive access, and forgets those
//! that no longer hold. So a list that a reader holds never changes, and the next list is made of the chunks that stay.
//!
//! Other forms were rejected. Chunks that the writer keeps up to date cost each update a write to each of its lists,
//! whether or not a reader asks for them. A persistent map lets a list of one object hold the old states of all others.
//! A lock that lets the writer through leaves readers as slow as they are with copies.

use super::posting::Posting;
#[cfg(feature = "alloc")]
use crate::cache::snapshot::{Chunk, Snapshot};
use crate::storage::sealed::{Empty, Records};
use crate::storage::{Chained, Linked, List, Mem, PostingSlab, Slab, Slot};
#[cfg(not(feature = "alloc"))]
use core::cell::OnceCell as Once;
use core::sync::atomic::AtomicBool;
#[cfg(feature = "json")]
use core::sync::atomic::Ordering;
#[cfg(feature = "alloc")]
use once_cell::race::OnceBox as Once;

/// The most objects of a chunk. A change costs the next reader the copies of so many handles, and of one handle for each
/// chunk of the list.
const CHUNK: usize = 128;

/// A run of fewer objects is merged with a neighbour, if both together have at most three times as many.
const FEW: usize = CHUNK / 4;

/// Fixed memory has no such lists.
#[cfg(not(feature = "alloc"))]
type Chunk<V> = V;
#[cfg(not(feature = "alloc"))]
type Snapshot<V> = V;

/// What a reader has made, kept until the owner forgets it. Of two readers that make it at once, one is believed.
struct Memo<T>(Once<T>);

/// All objects of an indexer, a chunk for each range of slots.
pub(in crate::cache) struct Ranges<V, M: Mem> {
    chunks: M::Array<Memo<Chunk<V>>>,
    whole: Memo<Snapshot<V>>,
}

/// The objects of each index value: its postings are cut into runs, a chunk for each.
///
/// A new posting joins the last run. Runs that have become short are merged. So a value has as many runs as its objects
/// need, within a small factor, and no operation touches more than two runs.
pub(in crate::cache) struct Runs<V, M: Mem> {
    runs: Slab<Linked<Run<V>>, M>,
    /// A reader has made a chunk.
    is_shared: AtomicBool,
}

/// The runs of one value.
pub(in crate::cache) struct RunList<V> {
    runs: List,
    whole: Memo<Snapshot<V>>,
}

struct Run<V> {
    first: Slot,
    len: u32,
    chunk: Memo<Chunk<V>>,
}

type Postings<M> = PostingSlab<Linked<Posting<M>, <M as Mem>::Slot>, M>;

impl<T> Memo<T> {
    #[expect(clippy::declare_interior_mutable_const, reason = "each use makes another one")]
    const EMPTY: Self = Self(Once::new());

    #[cfg(feature = "json")]
    fn get_or(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| alloc::boxed::Box::new(make()))
    }

    #[inline]
    fn forget(&mut self) {
        if self.0.get().is_some() {
            self.0 = Once::new();
        }
    }
}

impl<V, M: Mem> Ranges<V, M> {
    /// All objects. `read` reads those of one range, by the indexes of their slots.
    #[cfg(feature = "json")]
    pub(super) fn snapshot(&self, read: impl Fn(core::ops::Range<usize>) -> Chunk<V>) -> Snapshot<V> {
        let chunk =
            |(at, chunk): (usize, &Memo<Chunk<V>>)| Chunk::clone(chunk.get_or(|| read(at * CHUNK..(at + 1) * CHUNK)));
        self.whole.get_or(|| Snapshot::of(self.chunks.iter().enumerate().map(chunk))).share()
    }

    /// The object in a slot is another one now, or none.
    #[inline]
    pub(super) fn changed(&mut self, slot: Slot) {
        let at = slot.index() / CHUNK;
        while self.chunks.len() <= at && self.chunks.try_push(Memo::EMPTY).is_ok() {}
        if let Some(chunk) = self.chunks.get_mut(at) {
            chunk.forget();
        }
        self.whole.forget();
    }
}

impl<V, M: Mem> Runs<V, M> {
    /// The objects of a value. `read` reads a number of objects, from one of its postings on.
    #[cfg(feature = "json")]
    pub(super) fn snapshot(&self, list: &RunList<V>, read: impl Fn(Slot, usize) -> Chunk<V>) -> Snapshot<V> {
        self.is_shared.store(true, Ordering::Relaxed);
        let chunk = |run: &Run<V>| Chunk::clone(run.chunk.get_or(|| read(run.first, run.len as usize)));
        list.whole.get_or(|| Snapshot::of(list.runs.iter(&self.runs).map(|slot| chunk(&self.runs[slot])))).share()
    }

    /// The posting is in the list of the value now, behind the last one.
    pub(super) fn push(&mut self, list: &mut RunList<V>, postings: &mut Postings<M>, posting: Slot) {
        let run = list.runs.back().filter(|last| (self.runs[*last].len as usize) < CHUNK).unwrap_or_else(|| {
            let run = Linked::new(Run { first: posting, len: 0, chunk: Memo::EMPTY });
            let Ok(run) = self.runs.try_insert(run) else { unreachable!("the heap has no limit") };
            list.runs.push_back(&mut self.runs, run);
            run
        });
        self.runs[run].len += 1;
        postings[posting].set_run(run);
        self.changed(list, Some(run));
    }

    /// The posting, which was in the run and before `next`, is in the list no more.
    pub(super) fn unlinked(
        &mut self,
        list: &mut RunList<V>,
        postings: &mut Postings<M>,
        run: Option<Slot>,
        (posting, next): (Slot, Option<Slot>),
    ) {
        self.changed(list, run);
        let Some(slot) = run else { return };
        let run = &mut *self.runs[slot];
        run.len -= 1;
        match next {
            _ if run.len == 0 => {
                list.runs.unlink(&mut self.runs, slot);
                self.runs.remove(slot);
                return;
            }
            Some(next) if run.first == posting => run.first = next,
            _ => {}
        }
        if (run.len as usize) < FEW {
            self.merge(list, postings, slot);
        }
    }

    /// Whether a reader may have something of a list. If not, nothing has to be told of [changes](Self::changed).
    pub(super) fn is_shared(&mut self) -> bool {
        *self.is_shared.get_mut()
    }

    /// An object of the run is in another state now.
    #[inline]
    pub(super) fn changed(&mut self, list: &mut RunList<V>, run: Option<Slot>) {
        list.whole.forget();
        if let Some(run) = run {
            self.runs[run].chunk.forget();
        }
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    pub(super) fn release(&mut self) {
        self.runs.release();
    }

    /// The number of runs, of all values.
    #[cfg(test)]
    #[cfg(feature = "std")]
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Panics if the postings from `first` on are not those of the runs; for tests.
    pub(super) fn check(&self, list: &RunList<V>, postings: &Postings<M>, first: Option<Slot>) {
        let mut at = first;
        for slot in list.runs.iter(&self.runs) {
            let Run { first, len, .. } = *self.runs[slot];
            assert!((1..=CHUNK).contains(&(len as usize)), "a run of {len}");
            assert_eq!(at, Some(first), "a run begins behind the last one");
            for _ in 0..len {
                let posting = &postings[at.expect("a run is as long as it says")];
                assert_eq!(posting.run(), Some(slot), "a posting of the run");
                at = posting.next();
            }
        }
        assert_eq!(at, None, "every posting is in a run");
    }

    /// Merges a run with its neighbour, if both are short.
    fn merge(&mut self, list: &mut RunList<V>, postings: &mut Postings<M>, run: Slot) {
        let run_of = &self.runs[run];
        let (prev, next, len) = (run_of.prev(), run_of.next(), run_of.len);
        let fits = |other: &Slot| (self.runs[*other].len + len) as usize <= 3 * FEW;
        if let Some(next) = next.filter(fits) {
            self.join(list, postings, run, next);
        } else if let Some(prev) = prev.filter(fits) {
            self.join(list, postings, prev, run);
        }
    }

    /// Adds the postings of a run to the run before it.
    fn join(&mut self, list: &mut RunList<V>, postings: &mut Postings<M>, run: Slot, gone: Slot) {
        list.runs.unlink(&mut self.runs, gone);
        let Run { first, len, .. } = self.runs.remove(gone).into_record();
        let mut at = Some(first);
        for _ in 0..len {
            let Some(posting) = at else { break };
            postings[posting].set_run(run);
            at = postings[posting].next();
        }
        let run = &mut self.runs[run];
        run.len += len;
        run.chunk.forget();
    }
}

impl<V, M: Mem> Empty for Ranges<V, M> {
    const EMPTY: Self = Self { chunks: M::Array::EMPTY, whole: Memo::EMPTY };
}

impl<V, M: Mem> Empty for Runs<V, M> {
    const EMPTY: Self = Self { runs: Slab::EMPTY, is_shared: AtomicBool::new(false) };
}

impl<V> Empty for RunList<V> {
    const EMPTY: Self = Self { runs: List::EMPTY, whole: Memo::EMPTY };
}

#[cfg(test)]
#[cfg(feature = "json")]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_kept_until_it_is_forgotten() {
        let mut memo = Memo::EMPTY;
        assert_eq!((*memo.get_or(|| 1), *memo.get_or(|| 2)), (1, 1));
        memo.forget();
        assert_eq!(*memo.get_or(|| 3), 3);
    }
}
