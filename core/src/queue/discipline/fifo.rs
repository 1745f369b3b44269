use super::{Discipline, Records, sealed::Sealed};
use crate::queue::record::Ready;
use crate::storage::{List, Mem, Slot};
use core::hash::Hash;

/// First come, first served: client-go's default queue.
///
/// ```
/// use listwatch_core::WorkQueue;
///
/// let mut queue = WorkQueue::<&str>::default();
/// ["b", "a", "b"].into_iter().for_each(|key| _ = queue.add(key));
/// let order = std::iter::from_fn(|| {
///     let job = queue.poll_job()?;
///     let key = *queue.key(&job);
///     queue.done(job);
///     Some(key)
/// });
/// assert!(order.eq(["b", "a"]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fifo;

impl Sealed for Fifo {}

impl<K> Discipline<K> for Fifo {
    type Mark = ();
    type Ready<M: Mem> = List<Ready>;

    #[inline]
    fn mark(&self, _: &K) {}

    #[inline]
    fn len<M: Mem>(ready: &List<Ready>) -> usize {
        ready.len()
    }

    #[inline]
    fn push<M: Mem>(&self, ready: &mut List<Ready>, records: &mut Records<K, (), M>, slot: Slot)
    where
        K: Hash + Eq,
    {
        ready.push_back(records, slot);
    }

    #[inline]
    fn pop<M: Mem>(&self, ready: &mut List<Ready>, records: &mut Records<K, (), M>) -> Option<Slot>
    where
        K: Hash + Eq,
    {
        ready.pop_front(records)
    }
}
