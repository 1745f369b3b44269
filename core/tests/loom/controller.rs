//! A reconciler: its sources, its workers, and the task that follows its timeouts.

use crate::{LoomLock, check};
use core::future::poll_fn;
use core::task::Poll;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::controller::{Ended, Lifecycle, Reconciler, SharedReconciler};
use listwatch_core::queue::{Outcome, Priority};
use listwatch_core::sync::Due;
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

type Controller = SharedReconciler<u32, LoomLock, (), ()>;

/// Runs `test` in every interleaving, each time with a controller that is yet to be started. Its time stands still.
fn explore(test: impl Fn(Arc<Controller>) + Sync + Send + 'static) {
    check(move || test(Arc::new(Controller::new(Reconciler::default(), || Instant::ZERO))));
}

/// A thread that has the controller.
fn spawn<T: 'static>(controller: &Arc<Controller>, work: impl FnOnce(&Controller) -> T + 'static) -> JoinHandle<T> {
    let controller = Arc::clone(controller);
    thread::spawn(move || work(&controller))
}

/// Reconciles one key.
fn reconcile_one(controller: &Controller) -> Option<u32> {
    let reconcile = block_on(controller.next())?;
    let key = *reconcile.key();
    reconcile.finish(Outcome::Done, []);
    Some(key)
}

#[test]
fn the_start_of_a_controller_wakes_its_workers() {
    explore(|controller| {
        let source = controller.update(|it, _| it.add_source());
        let worker = spawn(&controller, reconcile_one);
        let other = spawn(&controller, move |controller| controller.update(|it, now| it.source_synced(now, source)));
        controller.add(7, Priority::Normal, ());
        controller.update(|it, now| it.start(now, None));
        other.join().unwrap();
        assert_eq!(worker.join().unwrap(), Some(7));
    });
}

/// The key changes and its writes are seen, in whatever order: a worker is woken for it in the end.
#[test]
fn no_wake_up_is_lost_where_a_held_key_changes_while_its_writes_are_seen() {
    explore(|controller| {
        controller.update(|it, now| it.start(now, None));
        controller.add(7, Priority::Normal, ());
        let reconcile = block_on(controller.next()).unwrap();
        let Ended::Held { hold, .. } = reconcile.finish(Outcome::Done, [(), ()]) else { unreachable!() };
        let worker = spawn(&controller, reconcile_one);
        let store = spawn(&controller, move |controller| _ = controller.update(|it, now| it.fulfil(now, hold, 1)));
        controller.add(7, Priority::Normal, ());
        controller.update(|it, now| it.fulfil(now, hold, 0));
        store.join().unwrap();
        assert_eq!(worker.join().unwrap(), Some(7));
    });
}

#[test]
fn a_drain_ends_the_workers_and_is_over_with_the_last_reconcile() {
    explore(|controller| {
        controller.update(|it, now| it.start(now, None));
        controller.add(7, Priority::Normal, ());
        let worker = spawn(&controller, |controller| usize::from(reconcile_one(controller).is_some()));
        let timer = spawn(&controller, |controller| {
            let mut timeouts = controller.timeouts();
            block_on(poll_fn(|cx| match timeouts.poll_due(cx, Instant::ZERO) {
                Due::Closed => Poll::Ready(()),
                Due::At(_) | Due::Idle => Poll::Pending,
            }));
        });
        controller.drain(Duration::from_secs(1));
        let reconciled = worker.join().unwrap();
        timer.join().unwrap();
        assert_eq!((controller.lifecycle(), controller.report().len()), (Lifecycle::Stopped, 1 - reconciled));
    });
}
