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
    wake_each(wakers.take_all());
    assert_eq!((a.0.count(), b.0.count(), wakers.is_empty()), (1, 1, true));
    let _ = wakers.register(&mut bt, &b.1);
    let _ = wakers.register(&mut at, &a.1);
    assert!(wakers.take_all().iter().zip([&b.1, &a.1]).all(|(one, other)| one.will_wake(other)));
    assert!(wakers.remove(&mut at).is_none(), "it was woken");
    let _ = wakers.register(&mut bt, &b.1);
    assert!(wakers.remove(&mut bt).is_some(), "it slept");
    assert!(wakers.take_all().is_empty() && wakers.remove(&mut bt).is_none());
}

#[test]
fn a_task_that_moved_is_woken_where_it_is() {
    let (mut wakers, (old, new), mut place) = (Wakers::default(), (counting(), counting()), None);
    let _ = wakers.register(&mut place, &old.1);
    assert!(wakers.register(&mut place, &new.1).is_some_and(|last| last.will_wake(&old.1)));
    wake_each(wakers.take_all());
    assert_eq!((old.0.count(), new.0.count()), (0, 1));
}

#[test]
fn a_waker_that_panics_leaves_no_other_task_asleep() {
    let (wakes, sound) = counting();
    let wake = || wake_each([panicking(), sound].into());
    assert!(std::panic::catch_unwind(core::panic::AssertUnwindSafe(wake)).is_err());
    assert_eq!(wakes.count(), 1);
}
