use super::on_panic::on_panic;
use crate::storage::{Heap, Linked, Links, List, Slab, Slot};
use alloc::vec::Vec;
use core::task::Waker;

/// The wakers of sleeping tasks, the longest sleeper first.
///
/// A task that was woken stays in the set until it comes back or leaves, so the set knows how many are expected. Wakers
/// come out of every method: they are to be woken, or dropped, after the lock.
#[derive(Default)]
pub(crate) struct Wakers {
    sleepers: Slab<Sleeper, Heap>,
    asleep: List<Asleep>,
    /// At most the number of sleepers that are expected.
    expected: usize,
}

struct Sleeper {
    /// None once it was woken.
    waker: Option<Waker>,
    /// It was woken, and is to come back or leave.
    is_expected: bool,
    links: Links,
}

/// The kind of list that holds those that were not woken.
enum Asleep {}

impl Linked<Asleep> for Sleeper {
    type Slot = Slot;

    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> Option<Slot> {
        self.links.next
    }
}

impl Wakers {
    /// Lets the task that keeps `place` sleep, for the first time or again. The waker that comes out is its last one.
    #[must_use]
    pub(crate) fn register(&mut self, place: &mut Option<Slot>, waker: &Waker) -> Option<Waker> {
        let current = place.and_then(|slot| self.sleepers[slot].waker.as_ref());
        if current.is_some_and(|current| current.will_wake(waker)) {
            return None;
        }
        // Before anything changes: the waker is the executor's, and may panic.
        let waker = waker.clone();
        let slot = *place.get_or_insert_with(|| {
            let sleeper = Sleeper { waker: None, is_expected: false, links: Links::default() };
            crate::storage::never_full(self.sleepers.try_insert(sleeper))
        });
        self.expect_no_more(slot);
        let last = self.sleepers[slot].waker.replace(waker);
        if last.is_none() {
            self.asleep.push_back(&mut self.sleepers, slot);
        }
        last
    }

    /// Takes out the task that keeps `place`. No waker comes out of one that was woken.
    #[must_use]
    pub(crate) fn remove(&mut self, place: &mut Option<Slot>) -> Option<Waker> {
        let slot = place.take()?;
        self.expect_no_more(slot);
        if self.sleepers[slot].waker.is_some() {
            self.asleep.unlink(&mut self.sleepers, slot);
        }
        self.sleepers.remove(slot).waker
    }

    /// The wakers of all sleeping tasks. A task that comes back meanwhile sleeps anew.
    #[must_use]
    pub(crate) fn take_all(&mut self) -> Vec<Waker> {
        core::iter::from_fn(|| self.take_one()).map(|(_, waker)| waker).collect()
    }

    /// The next waker to call, and the place of its task.
    #[must_use]
    pub(crate) fn take_one(&mut self) -> Option<(Slot, Waker)> {
        let slot = self.asleep.pop_front(&mut self.sleepers)?;
        let sleeper = &mut self.sleepers[slot];
        let waker = sleeper.waker.take()?;
        sleeper.is_expected = true;
        self.expected += 1;
        Some((slot, waker))
    }

    /// How many tasks were woken, have not come back or left since, and will find what they were woken for.
    pub(crate) fn expected(&self) -> usize {
        self.expected
    }

    /// The task that keeps `place`, or one that has none, takes what a task was woken for. If that was another task,
    /// it is counted on no longer: it may come late, on a thread that computes.
    #[inline]
    pub(crate) fn note_served(&mut self, place: Option<Slot>) {
        if place.is_none_or(|slot| !self.sleepers[slot].is_expected) {
            self.expected = self.expected.saturating_sub(1);
        }
    }

    /// Whether no task sleeps.
    pub(crate) fn is_empty(&self) -> bool {
        self.asleep.is_empty()
    }

    /// Whether no task has a place, asleep or not.
    #[cfg(feature = "json")]
    pub(crate) fn has_no_tasks(&self) -> bool {
        self.sleepers.len() == 0
    }

    /// Counts no longer on a task that was woken. If another has its place by now, that one is not waited for either,
    /// which costs a wake-up too many and no more.
    pub(crate) fn give_up(&mut self, slot: Slot) {
        if self.sleepers.get(slot).is_some() {
            self.expect_no_more(slot);
        }
    }

    fn expect_no_more(&mut self, slot: Slot) {
        let is_expected = core::mem::take(&mut self.sleepers[slot].is_expected);
        self.expected = self.expected.saturating_sub(usize::from(is_expected));
    }
}

/// Wakes all of them, also if one of them panics.
pub(crate) fn wake_each(wakers: &mut impl Iterator<Item = Waker>) {
    while let Some(waker) = wakers.next() {
        on_panic(|| waker.wake(), || wake_each(wakers));
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
pub(crate) mod tests {
    use super::*;
    use alloc::sync::Arc;
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// A waker that counts.
    #[derive(Default)]
    pub(crate) struct Wakes(AtomicUsize);

    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    impl Wakes {
        pub(crate) fn count(&self) -> usize {
            self.0.load(Relaxed)
        }
    }

    pub(crate) fn counting() -> (Arc<Wakes>, Waker) {
        let wakes = Arc::<Wakes>::default();
        (wakes.clone(), Waker::from(wakes))
    }

    /// A waker that panics.
    pub(crate) fn panicking() -> Waker {
        struct Panics;
        impl std::task::Wake for Panics {
            fn wake(self: Arc<Self>) {
                panic!("on purpose");
            }
        }
        Waker::from(Arc::new(Panics))
    }

    #[test]
    fn the_longest_asleep_is_woken_first_and_only_once() {
        let (mut wakers, (a, b)) = (Wakers::default(), (counting(), counting()));
        let (mut at, mut bt) = (None, None);
        assert!(wakers.register(&mut at, &a.1).is_none() && wakers.register(&mut bt, &b.1).is_none());
        assert!(wakers.register(&mut at, &a.1).is_none(), "the same waker again changes nothing");
        core::iter::from_fn(|| wakers.take_one()).for_each(|(_, waker)| waker.wake());
        assert_eq!((a.0.count(), b.0.count()), (1, 1));
        let _ = wakers.register(&mut bt, &b.1);
        let _ = wakers.register(&mut at, &a.1);
        wakers.take_one().unwrap().1.wake();
        assert_eq!((a.0.count(), b.0.count()), (1, 2));
    }

    #[test]
    fn a_wake_up_is_under_way_until_its_task_comes_back_or_leaves() {
        let (mut wakers, (_, waker), (mut one, mut other)) = (Wakers::default(), counting(), (None, None));
        let _ = wakers.register(&mut one, &waker);
        let _ = wakers.register(&mut other, &waker);
        assert_eq!(wakers.expected(), 0);
        assert_eq!((wakers.take_one().is_some(), wakers.expected()), (true, 1));
        let _ = wakers.register(&mut one, &waker);
        assert_eq!(wakers.expected(), 0);
        assert_eq!((wakers.take_one().is_some(), wakers.expected()), (true, 1));
        assert!(wakers.remove(&mut other).is_none(), "it was woken");
        assert_eq!(wakers.expected(), 0);
        assert!(wakers.remove(&mut one).is_some(), "it slept");
        assert!(wakers.take_one().is_none() && wakers.remove(&mut one).is_none());
    }

    #[test]
    fn a_task_is_not_expected_for_what_another_one_took() {
        let (mut wakers, (_, waker), mut places) = (Wakers::default(), counting(), [None; 3]);
        places.iter_mut().for_each(|place| _ = wakers.register(place, &waker));
        let (late, _) = wakers.take_one().unwrap();
        wakers.note_served(None);
        assert_eq!(wakers.expected(), 0, "a task that did not sleep took it");
        let (other, _) = wakers.take_one().unwrap();
        wakers.note_served(Some(other));
        assert_eq!(wakers.expected(), 1, "it comes for its own");
        assert!(wakers.remove(&mut places[1]).is_none());
        wakers.give_up(late);
        assert_eq!(wakers.expected(), 0);
    }

    #[test]
    fn a_task_that_moved_is_woken_where_it_is() {
        let (mut wakers, (old, new), mut place) = (Wakers::default(), (counting(), counting()), None);
        let _ = wakers.register(&mut place, &old.1);
        assert!(wakers.register(&mut place, &new.1).is_some_and(|last| last.will_wake(&old.1)));
        wakers.take_one().unwrap().1.wake();
        assert_eq!(wakers.expected(), 1, "it slept in one place");
        assert_eq!((old.0.count(), new.0.count()), (0, 1));
    }
}
