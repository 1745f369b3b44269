//! What user code that panics, or comes back, does to a value behind each lock.

use super::{CellLock, Lock, Shared, SharedWorkQueue};
use crate::queue::{ExponentialBackoff, Lanes, WorkQueue};
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
    a_queue_whose_group_function_panicked_has_failed_and_its_lock_is_open,
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
    assert!(inside.iter().all(|told| told.starts_with("deadlock: a function that runs under a lock")), "{inside:?}");
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

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(|| _ = call())).is_err()
}

fn a_queue_whose_group_function_panicked_has_failed_and_its_lock_is_open<L: Lock>() {
    let groups = Lanes::default().with_groups(|_, _| panic!("on purpose"));
    let queue = WorkQueue::with_discipline(ExponentialBackoff::default(), groups, 0);
    let queue = SharedWorkQueue::<u32, L, _, _>::new(queue);
    assert!(panics(|| queue.add(7)));
    queue.add(7);
    assert_eq!((queue.len(), queue.has_failed()), (0, true));
}

fn a_panic_while_reading_leaves_the_value_open<L: Lock>() {
    let number = Shared::<u32, L>::new(1);
    assert!(panics(|| number.read(|_| panic!("on purpose"))));
    number.with(|number| *number += 1);
    assert_eq!(number.read(|number| *number), 2);
}
