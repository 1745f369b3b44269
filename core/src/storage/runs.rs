use super::chunks::{CHUNK, Chunk, Memo, SharedChunks};
use super::sealed::{self, InRun};
use super::{Linked, Links, List, Mem, Slab, Slot};
use core::iter::successors;
use core::ops::{Index, IndexMut};
use core::sync::atomic::AtomicBool;
#[cfg(feature = "json")]
use core::sync::atomic::Ordering;

/// A run of fewer items is merged with a neighbour, if both together have at most three times as many.
const FEW: usize = CHUNK / 4;

/// Linked lists, cut into runs that readers share as chunks.
///
/// A new item joins the last run. Runs that have become short are merged. So a list has as many runs as its length
/// needs, within a small factor, and no operation touches more than two runs.
#[derive(Debug)]
pub struct Runs<V, M: Mem> {
    runs: Slab<Run<V>, M>,
    /// A reader has made a chunk.
    is_shared: AtomicBool,
}

/// The runs of one list.
#[derive(Debug)]
pub struct RunList<V> {
    runs: List<OfList>,
    whole: Memo<SharedChunks<V>>,
}

#[derive(Debug)]
struct Run<V> {
    first: Slot,
    len: u32,
    links: Links,
    chunk: Memo<Chunk<V>>,
}

enum OfList {}

impl<V, M: Mem> Runs<V, M> {
    #[cfg(feature = "json")]
    /// The items of a list. `read` reads a number of items, from one of them on.
    pub(crate) fn chunks(&self, list: &RunList<V>, read: impl Fn(Slot, usize) -> Chunk<V>) -> SharedChunks<V> {
        self.is_shared.store(true, Ordering::Relaxed);
        let chunk = |run: &Run<V>| Chunk::clone(run.chunk.get_or(|| read(run.first, run.len as usize)));
        let whole = || SharedChunks::new(self.of(list).map(|slot| chunk(&self.runs[slot])).collect());
        SharedChunks::clone(list.whole.get_or(whole))
    }

    /// The number of runs, of all lists.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    fn of(&self, list: &RunList<V>) -> impl Iterator<Item = Slot> {
        successors(list.runs.front(), |run| self.runs[*run].next())
    }

    /// Merges a run with its neighbour, if both are short.
    fn merge<S>(&mut self, list: &mut RunList<V>, items: &mut S, run: Slot)
    where
        S: IndexMut<Slot, Output: InRun<Option<Slot>>>,
    {
        let (Links { prev, next }, len) = (self.runs[run].links, self.runs[run].len);
        let fits = |other: &Slot| (self.runs[*other].len + len) as usize <= 3 * FEW;
        if let Some(next) = next.filter(fits) {
            self.join_runs(list, items, run, next);
        } else if let Some(prev) = prev.filter(fits) {
            self.join_runs(list, items, prev, run);
        }
    }

    /// Adds the items of a run to the run before it.
    fn join_runs<S>(&mut self, list: &mut RunList<V>, items: &mut S, run: Slot, gone: Slot)
    where
        S: IndexMut<Slot, Output: InRun<Option<Slot>>>,
    {
        list.runs.unlink(&mut self.runs, gone);
        let Run { first, len, .. } = self.runs.remove(gone);
        let mut at = Some(first);
        for _ in 0..len {
            let Some(item) = at else { break };
            *items[item].run_mut() = Some(run);
            at = items[item].next_item();
        }
        let run = &mut self.runs[run];
        run.len += len;
        run.chunk.forget();
    }
}

impl<V, M: Mem> sealed::Runs for Runs<V, M> {
    type Run = Option<Slot>;
    type List = RunList<V>;

    fn push<S>(&mut self, list: &mut RunList<V>, items: &mut S, item: Slot)
    where
        S: IndexMut<Slot, Output: InRun<Option<Slot>>>,
    {
        let run = list.runs.back().filter(|last| (self.runs[*last].len as usize) < CHUNK).unwrap_or_else(|| {
            let run = Run { first: item, len: 0, links: Links::default(), chunk: Memo::EMPTY };
            let Ok(run) = self.runs.try_insert(run) else { unreachable!("as many runs as items") };
            list.runs.push_back(&mut self.runs, run);
            run
        });
        self.runs[run].len += 1;
        *items[item].run_mut() = Some(run);
        self.changed(list, Some(run));
    }

    fn unlinked<S>(&mut self, list: &mut RunList<V>, items: &mut S, run: Option<Slot>, item: Slot, next: Option<Slot>)
    where
        S: IndexMut<Slot, Output: InRun<Option<Slot>>>,
    {
        self.changed(list, run);
        let Some(slot) = run else { return };
        let run = &mut self.runs[slot];
        run.len -= 1;
        match next {
            _ if run.len == 0 => {
                list.runs.unlink(&mut self.runs, slot);
                self.runs.remove(slot);
                return;
            }
            Some(next) if run.first == item => run.first = next,
            _ => {}
        }
        if (run.len as usize) < FEW {
            self.merge(list, items, slot);
        }
    }

    fn is_shared(&mut self) -> bool {
        *self.is_shared.get_mut()
    }

    #[inline]
    fn changed(&mut self, list: &mut RunList<V>, run: Option<Slot>) {
        list.whole.forget();
        if let Some(run) = run {
            self.runs[run].chunk.forget();
        }
    }

    fn clear(&mut self) {
        self.runs.clear();
    }

    fn release(&mut self) {
        self.runs.release();
    }

    fn check<S>(&self, list: &RunList<V>, items: &S, first: Option<Slot>)
    where
        S: Index<Slot, Output: InRun<Option<Slot>>>,
    {
        let mut at = first;
        for run in self.of(list) {
            let Run { first, len, .. } = self.runs[run];
            assert!((1..=CHUNK).contains(&(len as usize)), "a run of {len}");
            assert_eq!(at, Some(first), "a run begins behind the last one");
            for _ in 0..len {
                let item = at.expect("a run is as long as it says");
                assert_eq!(items[item].run(), Some(run), "an item of the run");
                at = items[item].next_item();
            }
        }
        assert_eq!(at, None, "every item is in a run");
    }
}

impl<V> Linked<OfList> for Run<V> {
    type Slot = Slot;

    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> Option<Slot> {
        self.links.next
    }
}

impl<V, M: Mem> sealed::Empty for Runs<V, M> {
    const EMPTY: Self = Self { runs: Slab::EMPTY, is_shared: AtomicBool::new(false) };
}

impl<V> sealed::Empty for RunList<V> {
    const EMPTY: Self = Self { runs: List::EMPTY, whole: Memo::EMPTY };
}
