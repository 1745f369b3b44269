use super::node::{Arrival, Content, Node, Unfolded};
use super::{Delta, Order, Popped};
use crate::storage::{Chained, Keyed, KnownObjects, Linked, List, Maybe, Mem, Slot, Table};
#[cfg(feature = "alloc")]
use crate::storage::{Heap, never_full};

/// A [`DeltaFifoIn`] in memory that grows.
#[cfg(feature = "alloc")]
pub type DeltaFifo<V> = DeltaFifoIn<V, Heap>;

/// A [`DeltaFifoIn`] in memory for `N` deltas.
#[cfg(feature = "fixed")]
pub type FixedDeltaFifo<V, const N: usize> = DeltaFifoIn<V, crate::storage::Fixed<N>>;

/// A queue of deltas; use it as [`DeltaFifo`] or [`FixedDeltaFifo`].
///
/// A list replaces the known state in two steps. Its items are staged, invisibly, while they are read. The end of the
/// list commits them, deletions included. A list that breaks off is discarded.
///
/// In fixed memory the capacity counts deltas, staged ones included. If an object does not fit, the `try_…` form of an
/// operation gives it back, and nothing changes.
///
/// ```
/// use listwatch_core::fifo::{Delta, Order};
/// use listwatch_core::storage::Keyed;
/// use listwatch_core::DeltaFifo;
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Pod(&'static str, u64);
///
/// impl Keyed for Pod {
///     type Key = &'static str;
///     fn key(&self) -> &&'static str {
///         &self.0
///     }
/// }
///
/// let mut fifo = DeltaFifo::new(Order::Arrival);
/// fifo.stage(Pod("a", 1));
/// fifo.stage(Pod("b", 2));
/// assert!(fifo.pop().is_none(), "a list that is being read is invisible");
/// fifo.commit_stage(&());
/// fifo.delete(Pod("b", 3), &());
///
/// let a = fifo.pop().unwrap();
/// assert_eq!((a.delta, a.initial), (Delta::Replaced(Pod("a", 1)), true));
/// assert!(!fifo.has_synced());
/// assert_eq!(fifo.pop().unwrap().delta, Delta::Replaced(Pod("b", 2)));
/// assert!(fifo.has_synced());
/// assert_eq!(fifo.pop().unwrap().delta, Delta::Deleted(Pod("b", 3)));
/// ```
#[must_use]
pub struct DeltaFifoIn<V: Keyed, M: Mem> {
    pub(super) order: Order,
    /// The newest arrival, where it waits alone: there are no nodes then.
    pub(super) alone: Maybe<Delta<V>>,
    /// The delta that is before all others, if it was folded.
    pub(super) unfolded: Maybe<Unfolded<V>>,
    pub(super) nodes: Table<Linked<Node<V, M>>, M>,
    pub(super) queued: List,
    pub(super) staged: List,
    /// How many deltas wait beside the nodes that are queued.
    pub(super) folded: usize,
    /// The next delta of the key that is being popped.
    pub(super) rest: Option<Slot>,
    pub(super) arrived: u64,
    /// Of the queued nodes.
    pub(super) bytes: usize,
    /// An item of the staged list had no readable key.
    pub(super) unreadable: bool,
    pub(super) populated: bool,
    /// How many pops complete the initial list. What coalescing withdraws came later.
    pub(super) initial: usize,
    pub(super) coalescing: bool,
    closed: bool,
}

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// An empty queue.
    pub const fn new(order: Order) -> Self {
        Self::with_seed(order, 0)
    }

    /// An empty queue whose hashes depend on `seed`, for keys that an adversary may choose. No order depends on it.
    pub const fn with_seed(order: Order, seed: u64) -> Self {
        Self {
            order,
            alone: Maybe::Nothing,
            unfolded: Maybe::Nothing,
            nodes: Table::with_seed(seed),
            queued: List::EMPTY,
            staged: List::EMPTY,
            folded: 0,
            rest: None,
            arrived: 0,
            bytes: 0,
            unreadable: false,
            populated: false,
            initial: 0,
            coalescing: false,
            closed: false,
        }
    }

    /// Queues an object that the watch reported as new.
    ///
    /// # Errors
    /// The object, where fixed memory is full.
    pub fn try_add(&mut self, object: V) -> Result<(), M::Full<V>> {
        self.try_queue(Delta::Added(object))?;
        self.populated = true;
        Ok(())
    }

    /// Queues an object that the watch reported as changed.
    ///
    /// # Errors
    /// The object, where fixed memory is full.
    pub fn try_update(&mut self, object: V) -> Result<(), M::Full<V>> {
        self.try_queue(Delta::Updated(object))?;
        self.populated = true;
        Ok(())
    }

    /// Queues an object that the watch reported as deleted, in its final state.
    ///
    /// By key, an object that is neither queued nor known is ignored, and of two deletions in a row one stays: the one
    /// that was seen rather than inferred, else the first. In arrival order every deletion is queued.
    ///
    /// # Errors
    /// The object, where fixed memory is full.
    pub fn try_delete(&mut self, object: V, known: &impl KnownObjects<V>) -> Result<(), M::Full<V>> {
        self.settle();
        match (self.order, self.newest_queued(object.key())) {
            (Order::ByKey, None) if !known.is_known(object.key()) => {}
            (Order::ByKey, Some(newest)) if self.is_deletion(newest) => {
                self.bytes -= self.nodes[newest].bytes();
                if let Content::Delta(deletion) = &mut self.nodes[newest].content {
                    deletion.merge_deletion(Delta::Deleted(object));
                }
                self.bytes += self.nodes[newest].bytes();
            }
            (Order::Arrival | Order::ByKey, _) => self.try_queue(Delta::Deleted(object))?,
        }
        self.populated = true;
        Ok(())
    }

    /// Queues each known object that has no delta waiting, as [`Delta::Sync`]. An object with a delta waiting is left
    /// out, so that a resync never puts an older state behind a newer one. One that an informer has folded is told twice.
    ///
    /// # Errors
    /// Where fixed memory has no room for all of them.
    pub fn try_resync(&mut self, known: &impl KnownObjects<V>) -> Result<(), M::Full<()>> {
        self.settle();
        self.nodes.try_room(|| {
            self.nodes.len() + known.known().filter(|object| self.newest_queued(object.key()).is_none()).count()
        })?;
        for object in known.known() {
            self.settle();
            if self.newest_queued(object.key()).is_none() {
                self.try_queue(Delta::Sync(object.clone())).map_err(|full| M::map_full(full, drop))?;
            }
        }
        Ok(())
    }

    /// Takes the oldest delta; by key, first the others of the key that is being popped, oldest first.
    ///
    /// `None` while no delta is queued. A [closed](Self::is_closed) queue still delivers its deltas; its `None` is the
    /// end. (An informer unfolds the front before.)
    pub fn pop(&mut self) -> Option<Popped<V>> {
        let unfolded = self.unfolded.take().map(|unfolded| unfolded.delta);
        let delta = match unfolded.or_else(|| self.alone.take()) {
            Some(delta) => delta,
            None => self.take(self.next()?),
        };
        let (initial, more) = (!self.has_synced(), self.rest.is_some());
        if !more {
            self.initial = self.initial.saturating_sub(1);
        }
        Some(Popped { delta, initial, more })
    }

    /// The delta that [`pop`](Self::pop) takes next. A consumer applies it in place, so that a panic does not lose it.
    pub fn front(&self) -> Option<&Delta<V>> {
        self.without_nodes().next().or_else(|| self.nodes[self.next()?].delta())
    }

    /// The deltas that wait, by arrival. A consumer can prepare for the next ones
    /// ([`Indexer::read_ahead`](crate::Indexer::read_ahead)). Those that an informer has folded are left out.
    pub fn waiting(&self) -> impl Iterator<Item = &Delta<V>> {
        self.without_nodes().chain(self.queued.iter(&self.nodes).filter_map(|slot| self.nodes[slot].delta()))
    }

    /// The order in which deltas leave.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Whether the initial state has been popped: the first list, or none where a watch event came before any list.
    /// Once true, it stays true.
    pub fn has_synced(&self) -> bool {
        self.populated && self.initial == 0
    }

    /// The newest object under `key` that is staged or else queued, whatever its delta says. A listed object that is
    /// the same can be staged as a clone of this handle, so that it is held in memory once.
    pub fn newest(&self, key: &V::Key) -> Option<&V> {
        self.newest_delta(key).map(Delta::object)
    }

    /// The delta of the [newest](Self::newest) object.
    pub(crate) fn newest_delta(&self, key: &V::Key) -> Option<&Delta<V>> {
        if let Some(alone) = self.alone.as_ref() {
            return Some(alone).filter(|delta| delta.object().key() == key);
        }
        let found = Some(self.nodes.find(key)?);
        let [staged, queued] = [self.staged(found), self.queued(found)].map(|slot| self.nodes[slot?].delta());
        staged.or(queued)
    }

    /// The number of the newest arrival. Each queued delta is one, and so is each committed list with all of its
    /// deltas. A change that is merged into a waiting delta counts with that delta.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// The arrival that the oldest waiting delta belongs to: all before it were popped. `None` while nothing waits.
    pub fn oldest(&self) -> Option<u64> {
        self.unfolded.as_ref().map(|unfolded| unfolded.arrival).or_else(|| self.oldest_folded_or_whole())
    }

    /// As [`oldest`](Self::oldest), once the next delta is popped.
    pub fn oldest_after_pop(&self) -> Option<u64> {
        if self.unfolded.as_ref().is_some() {
            return self.oldest_folded_or_whole();
        }
        let (next, front) = (self.next()?, self.queued.front());
        let oldest = if front == Some(next) { self.nodes[next].next() } else { front };
        self.arrival(oldest?)
    }

    /// The number of deltas that wait; staged ones do not count.
    pub fn len(&self) -> usize {
        self.queued.len() + self.folded + self.without_nodes().count()
    }

    /// About how many bytes the objects of the deltas that wait take ([`Keyed::bytes`]). One that several deltas share
    /// counts for each of them. Those that an informer
    /// has folded have none.
    pub fn bytes(&self) -> usize {
        self.bytes + self.without_nodes().map(|delta| delta.object().bytes()).sum::<usize>()
    }

    /// Whether no delta waits.
    pub fn is_empty(&self) -> bool {
        self.without_nodes().next().is_none() && self.queued.is_empty()
    }

    /// Whether fixed memory may have no room for another delta.
    pub fn is_full(&self) -> bool {
        self.nodes.try_room(|| self.nodes.len() + usize::from(self.alone.as_ref().is_some()) + 1).is_err()
    }

    /// Marks the end of the input; see [`pop`](Self::pop). A later delta is queued all the same, as in client-go.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes the next delta out of its node.
    #[inline(never)]
    fn take(&mut self, slot: Slot) -> Delta<V> {
        self.queued.unlink(&mut self.nodes, slot);
        let node = self.nodes.remove_unfound(slot).into_record();
        self.bytes -= node.bytes();
        self.rest = node.chain.filter(|_| self.order == Order::ByKey);
        match node.chain {
            Some(newer) if self.coalescing => self.nodes[newer].chain = None,
            Some(_) => {}
            None => self.nodes.redirect(node.hash, slot, node.staged),
        }
        self.release_if_empty();
        let Content::Delta(delta) = node.content else { unreachable!("what is queued is a delta") };
        delta
    }

    fn next(&self) -> Option<Slot> {
        self.rest.or_else(|| self.queued.front()).filter(|slot| self.nodes[*slot].delta().is_some())
    }

    /// As [`oldest`](Self::oldest), without the delta that was unfolded.
    fn oldest_folded_or_whole(&self) -> Option<u64> {
        match self.alone.as_ref() {
            None => self.arrival(self.queued.front()?),
            Some(_) => Some(self.arrived),
        }
    }

    /// The deltas that wait without a node: the one that was unfolded, and behind it the one that waits alone.
    fn without_nodes(&self) -> impl Iterator<Item = &Delta<V>> {
        self.unfolded.as_ref().map(|unfolded| &unfolded.delta).into_iter().chain(self.alone.as_ref())
    }

    pub(super) fn arrival(&self, slot: Slot) -> Option<u64> {
        Some(self.nodes[slot].arrival?.number(self.arrived))
    }

    pub(super) fn newest_queued(&self, key: &V::Key) -> Option<Slot> {
        self.queued(self.nodes.find(key))
    }

    /// The newest queued delta of a key that finds this node.
    pub(super) fn queued(&self, found: Option<Slot>) -> Option<Slot> {
        found.filter(|slot| self.nodes[*slot].is_queued())
    }

    /// The item that was staged last under a key that finds this node.
    pub(super) fn staged(&self, found: Option<Slot>) -> Option<Slot> {
        let node = &self.nodes[found?];
        if node.is_queued() { node.staged } else { found }
    }

    /// The node that the key of this one finds.
    pub(super) fn found(&self, slot: Slot) -> Option<Slot> {
        let node = &self.nodes[slot];
        if node.folded().is_some() { None } else { self.nodes.find_same(node.hash, slot) }
    }

    pub(super) fn is_deletion(&self, slot: Slot) -> bool {
        self.nodes[slot].delta().is_some_and(Delta::is_deletion)
    }

    #[inline]
    fn try_queue(&mut self, delta: Delta<V>) -> Result<(), M::Full<V>> {
        if !self.is_idle() {
            return self.try_queue_behind(delta);
        }
        self.arrived += 1;
        self.alone = Maybe::Just(delta);
        Ok(())
    }

    /// Queues a delta in a node, behind others.
    #[inline(never)]
    fn try_queue_behind(&mut self, mut delta: Delta<V>) -> Result<(), M::Full<V>> {
        self.settle();
        if self.coalescing
            && let Some(newest) = self.newest_queued(delta.object().key())
        {
            match self.coalesce(newest, delta) {
                Some(own) => delta = own,
                None => return Ok(()),
            }
        }
        let slot = self.try_insert(delta, self.arrived + 1)?;
        self.arrived += 1;
        self.queued.push_back(&mut self.nodes, slot);
        Ok(())
    }

    /// Whether nothing waits and nothing is staged, and there is room for a delta.
    fn is_idle(&self) -> bool {
        self.alone.is_nothing() && self.nodes.len() == 0 && self.nodes.has_room()
    }

    /// Puts a delta that waits alone into a node: another one comes.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some(delta) = self.alone.take() {
            self.queue_alone(delta);
        }
    }

    #[cold]
    fn queue_alone(&mut self, delta: Delta<V>) {
        let Ok(slot) = self.try_insert(delta, self.arrived) else { unreachable!("there was room when it came") };
        self.queued.push_back(&mut self.nodes, slot);
    }

    /// A node that is the newest of its key, and in no list yet.
    pub(super) fn try_insert(&mut self, delta: Delta<V>, arrival: u64) -> Result<Slot, M::Full<V>> {
        let (hash, bytes) = (self.nodes.hash(delta.object().key()), delta.object().bytes());
        let node = |delta| {
            Linked::new(Node { arrival: Some(Arrival::new(arrival)), ..Node::new(Content::Delta(delta), hash) })
        };
        let inserted = self.nodes.try_insert_over(hash, delta, |delta| delta.object().key(), node);
        let (slot, before) = inserted.map_err(|full| M::map_full(full, |node| node.into_record().into_object()))?;
        self.bytes += bytes;
        if let Some(queued) = self.queued(before) {
            self.nodes[slot].staged = self.nodes[queued].staged.take();
            self.chain(queued, slot);
        } else if before.is_some() {
            self.nodes[slot].staged = before;
        }
        Ok(slot)
    }

    /// Links the newest delta of a key and the one before it.
    pub(super) fn chain(&mut self, before: Slot, newest: Slot) {
        self.nodes[before].chain = Some(newest);
        self.nodes[newest].chain = Some(before).filter(|_| self.coalescing);
    }

    /// An initial list makes a queue as large as it will ever be.
    pub(super) fn release_if_empty(&mut self) {
        if self.nodes.len() == 0 {
            self.nodes.release();
        }
    }
}

/// Memory that grows: the operations that are never full.
#[cfg(feature = "alloc")]
impl<V: Keyed<Key: Clone> + Clone> DeltaFifoIn<V, Heap> {
    /// As [`try_add`](Self::try_add).
    pub fn add(&mut self, object: V) {
        never_full(self.try_add(object));
    }

    /// As [`try_update`](Self::try_update).
    pub fn update(&mut self, object: V) {
        never_full(self.try_update(object));
    }

    /// As [`try_delete`](Self::try_delete).
    pub fn delete(&mut self, object: V, known: &impl KnownObjects<V>) {
        never_full(self.try_delete(object, known));
    }

    /// As [`try_resync`](Self::try_resync).
    pub fn resync(&mut self, known: &impl KnownObjects<V>) {
        never_full(self.try_resync(known));
    }
}

summary!(impl[V: Keyed, M: Mem] "DeltaFifo" for DeltaFifoIn<V, M>, |it| {
    order: it.order,
    queued: it.queued.len() + it.folded,
    alone: it.alone.as_ref().is_some(),
    bytes: it.bytes,
    staged: it.staged.len(),
    populated: it.populated,
    initial: it.initial,
    coalescing: it.coalescing,
    closed: it.closed,
});
