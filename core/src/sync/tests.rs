//! What user code that panics, or comes back, does to a value behind each lock.

use super::{CellLock, Lock, Shared, SharedWorkQueue};
use crate::cache::Indexer;
use crate::queue::{ExponentialBackoff, Lanes, WorkQueue};
use crate::storage::Keyed;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls a test with each lock.
macro_rules! behind_every_lock {
    ($($name:ident),+ $(,)?) => {
        $(
            mod $name {
                #[test]
                fn cell() {
                    super::$name::<super::CellLock>();
                }

                #[cfg(feature = "std")]
                #[test]
                fn std() {
                    super::$name::<crate::sync::StdLock>();
                }

                #[cfg(feature = "critical-section")]
                #[test]
                fn critical_section() {
                    super::$name::<crate::sync::CriticalSectionLock>();
                }

                #[cfg(feature = "spin")]
                #[test]
                fn spin() {
                    super::$name::<crate::sync::SpinLock>();
                }
            }
        )+
    };
}

behind_every_lock!(
    an_index_function_that_panics_leaves_the_cache_open_and_exact,
    a_group_function_that_panics_leaves_the_queue_open_and_no_key_stuck,
    a_panic_while_reading_leaves_the_value_open,
);

/// Every way to come back but a read inside of a read, behind the locks that can tell.
fn who_comes_back<L: Lock>() {
    let number = Shared::<u32, L>::new(1);
    let told = |call: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("it would wait for itself");
        panic.downcast_ref::<&str>().copied().unwrap_or_default()
    };
    let inside = [
        told(&|| number.with(|_| number.read(|_| ()))),
        told(&|| number.with(|_| number.with(|_| ()))),
        told(&|| number.read(|_| number.with(|_| ()))),
    ];
    assert!(inside.iter().all(|told| told.starts_with("a closure came back to the lock")), "{inside:?}");
    number.with(|number| *number += 1);
    assert_eq!(number.read(|number| *number), 2, "and it is open again");
}

#[test]
fn a_closure_that_comes_back_to_its_lock_panics_and_does_not_wait_for_ever() {
    who_comes_back::<CellLock>();
    #[cfg(feature = "std")]
    who_comes_back::<crate::sync::StdLock>();
    #[cfg(feature = "critical-section")]
    who_comes_back::<crate::sync::CriticalSectionLock>();
}

#[cfg(feature = "std")]
#[test]
fn an_index_function_that_reads_its_own_cache_is_told_so() {
    use crate::sync::StdLock;
    use alloc::sync::Arc;
    let cache = Arc::<Shared<Indexer<Pod>, StdLock>>::default();
    let inner = Arc::downgrade(&cache);
    cache.with(|pods| {
        pods.add_index(move |pod: &Pod, emit: &mut dyn FnMut(&str)| {
            let known = inner.upgrade().is_some_and(|cache| cache.read(|pods| pods.object(&pod.0).is_some()));
            emit(if known { "known" } else { "new" });
        })
    });
    assert!(panics(|| cache.with(|cache| cache.insert(Pod(1, "n1")))));
    cache.read(|cache| assert!(cache.is_empty()));
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(|| _ = call())).is_err()
}

#[derive(Debug, PartialEq)]
struct Pod(u32, &'static str);

impl Keyed for Pod {
    type Key = u32;

    fn key(&self) -> &u32 {
        &self.0
    }
}

fn an_index_function_that_panics_leaves_the_cache_open_and_exact<L: Lock>() {
    let cache = Shared::<Indexer<Pod>, L>::default();
    let by_node = cache.with(|cache| {
        cache.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| {
            emit(pod.1);
            assert_ne!(pod.1, "flawed", "on purpose");
        })
    });
    cache.with(|cache| cache.insert(Pod(1, "n1")));
    assert!(panics(|| cache.with(|cache| cache.insert(Pod(2, "flawed")))));
    cache.read(|cache| {
        cache.check();
        assert_eq!((cache.len(), cache.index_values(by_node).collect::<Vec<_>>()), (1, ["n1"].to_vec()));
    });
}

fn a_group_function_that_panics_leaves_the_queue_open_and_no_key_stuck<L: Lock>() {
    std::thread_local!(static FLAWED: AtomicBool = const { AtomicBool::new(true) });
    let groups =
        Lanes::default().with_groups(|_, _| assert!(!FLAWED.with(|flawed| flawed.load(Relaxed)), "on purpose"));
    let queue = WorkQueue::with_discipline(ExponentialBackoff::default(), groups, 0);
    let queue = SharedWorkQueue::<u32, L, _, _>::new(queue);
    assert!(panics(|| queue.add(7)));
    FLAWED.with(|flawed| flawed.store(false, Relaxed));
    queue.add(7);
    assert_eq!(queue.len(), 1);
}

fn a_panic_while_reading_leaves_the_value_open<L: Lock>() {
    let number = Shared::<u32, L>::new(1);
    assert!(panics(|| number.read(|_| panic!("on purpose"))));
    number.with(|number| *number += 1);
    assert_eq!(number.read(|number| *number), 2);
}
