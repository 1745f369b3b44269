use super::*;
use crate::controller::{Ended, KeyState, Lifecycle};
use crate::queue::{Finished, WorkQueue};
use crate::sync::wakers::tests::{Wakes, counting};
use crate::sync::{Due, StdLock};
use alloc::sync::Arc;
use core::cell::Cell;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::task::{Context, Poll, Waker};

type Machine = Reconciler<u32, &'static str, &'static str, Flawed>;
type Controller = SharedReconciler<u32, StdLock, &'static str, &'static str, Flawed>;
type Next<'a> = NextReconcile<'a, u32, StdLock, &'static str, &'static str, Flawed>;
type Guard<'a> = ReconcileGuard<'a, u32, StdLock, &'static str, &'static str, Flawed>;

std::thread_local! {
    static LIMITERS_PANIC: Cell<bool> = const { Cell::new(false) };
}

/// A limiter that panics while this is set.
#[derive(Default)]
struct Flawed(ExponentialBackoff);

impl RateLimiter for Flawed {
    fn delay(&mut self, now: Instant, failures: u32) -> Duration {
        assert!(!LIMITERS_PANIC.get(), "on purpose");
        self.0.delay(now, failures)
    }
}

/// A controller that runs, and its clock in milliseconds.
fn running() -> (Controller, Arc<AtomicU64>) {
    let (clock, millis) = clock();
    let controller = Controller::new(Machine::default(), clock);
    controller.update(|it, now| it.start(now, None));
    (controller, millis)
}

fn clock() -> (impl Fn() -> Instant + Send + Sync + 'static, Arc<AtomicU64>) {
    let millis = Arc::new(AtomicU64::new(0));
    let clock = millis.clone();
    (move || at(clock.load(Relaxed)), millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn add(controller: &Controller, key: u32) -> Added {
    controller.add(key, Priority::Normal, "changed")
}

/// A worker that waits for its next key, and is polled by hand.
struct Worker<'a> {
    next: Next<'a>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

impl<'a> Worker<'a> {
    fn new(next: Next<'a>) -> Self {
        let (wakes, waker) = counting();
        Self { next, wakes, waker }
    }

    fn poll(&mut self) -> Poll<Option<Guard<'a>>> {
        Pin::new(&mut self.next).poll(&mut Context::from_waker(&self.waker))
    }

    fn take(&mut self) -> Guard<'a> {
        let Poll::Ready(Some(guard)) = self.poll() else { unreachable!("a key is ready") };
        guard
    }
}

fn take(controller: &Controller) -> Guard<'_> {
    Worker::new(controller.next()).take()
}

fn poll_due(controller: &Controller, now: u64) -> Due {
    controller.timeouts().poll_due(&mut Context::from_waker(Waker::noop()), at(now))
}

#[test]
fn a_worker_sleeps_until_the_controller_runs_and_a_key_is_ready() {
    let (clock, _) = clock();
    let controller = Controller::new(Machine::default(), clock);
    let source = controller.update(|it, _| it.add_source());
    let mut worker = Worker::new(controller.next());
    assert!(worker.poll().is_pending());
    add(&controller, 1);
    controller.update(|it, now| it.start(now, Some(Duration::from_millis(9))));
    assert_eq!(
        (worker.wakes.count(), controller.read(|it| it.unsynced_sources().collect::<Vec<_>>())),
        (0, [source].into())
    );
    controller.update(|it, now| it.source_synced(now, source));
    assert_eq!((worker.wakes.count(), controller.lifecycle()), (1, Lifecycle::Running));
    assert_eq!(*worker.take().key(), 1);
}

#[test]
fn a_source_that_is_removed_is_not_waited_for() {
    let (clock, _) = clock();
    let controller = Controller::new(Machine::default(), clock);
    let source = controller.update(|it, _| it.add_source());
    controller.update(|it, now| it.start(now, None));
    assert_eq!(controller.lifecycle(), Lifecycle::Starting);
    controller.update(|it, now| it.remove_source(now, source));
    assert_eq!(controller.lifecycle(), Lifecycle::Running);
}

#[test]
fn a_start_that_takes_too_long_ends_all_workers() {
    let (clock, _) = clock();
    let controller = Controller::new(Machine::default(), clock);
    let _source = controller.update(|it, _| it.add_source());
    let mut workers = [(); 2].map(|()| Worker::new(controller.next()));
    assert!(workers.iter_mut().all(|worker| worker.poll().is_pending()));
    controller.update(|it, now| it.start(now, Some(Duration::from_millis(9))));
    assert_eq!(poll_due(&controller, 8), Due::At(at(9)));
    assert_eq!(poll_due(&controller, 9), Due::Closed);
    for worker in &mut workers {
        assert_eq!(worker.wakes.count(), 1, "each one wakes the next");
        assert!(matches!(worker.poll(), Poll::Ready(None)));
    }
    assert_eq!(controller.lifecycle(), Lifecycle::NotSynced);
}

#[test]
fn a_reconcile_is_told_its_causes_and_its_deadline() {
    let (clock, millis) = clock();
    let controller = Controller::new(Machine::default().with_time_limit(Duration::from_millis(30)), clock);
    controller.update(|it, now| it.start(now, None));
    millis.store(5, Relaxed);
    (0..17).for_each(|_| _ = add(&controller, 1));
    millis.store(8, Relaxed);
    let guard = take(&controller);
    assert_eq!((guard.causes().len(), guard.causes()[0], guard.dropped_causes()), (16, ("changed", at(5)), 1));
    assert_eq!(guard.deadline(), Some(at(38)));
    assert_eq!(controller.report()[0].state, KeyState::Running { since: at(8), deadline: Some(at(38)) });
    assert_eq!(guard.finish(Outcome::Done, []), Ended::Finished(Finished::Done));
    assert_eq!((controller.report().len(), controller.read(|it| it.stats()).adds), (0, 1));
}

#[test]
fn a_key_whose_writes_were_seen_wakes_a_worker_if_it_changed() {
    let (controller, _) = running();
    add(&controller, 1);
    let Ended::Held { hold, until } = take(&controller).finish(Outcome::Done, ["a"]) else { unreachable!() };
    assert_eq!(until, Instant::ZERO + Duration::from_secs(30));
    let mut worker = Worker::new(controller.next());
    assert!(worker.poll().is_pending());
    add(&controller, 1);
    assert_eq!((worker.wakes.count(), controller.read(|it| it.is_held(hold))), (0, true));
    assert!(!controller.update(|it, now| it.fulfil(now, hold, 0)));
    assert_eq!((worker.wakes.count(), controller.read(|it| it.is_held(hold))), (1, false));
    assert_eq!(worker.take().late_writes(), [""; 0]);
}

#[test]
fn the_end_of_a_hold_wakes_a_worker_who_is_told_the_late_writes() {
    let (controller, millis) = running();
    add(&controller, 1);
    let Ended::Held { until, .. } = take(&controller).finish(Outcome::Done, ["a"]) else { unreachable!() };
    let mut worker = Worker::new(controller.next());
    assert!(worker.poll().is_pending());
    assert_eq!(poll_due(&controller, 1), Due::At(until));
    millis.store(30_000, Relaxed);
    assert_eq!(poll_due(&controller, 30_000), Due::Idle);
    assert_eq!(worker.wakes.count(), 1);
    assert_eq!(worker.take().late_writes(), ["a"]);
}

#[test]
fn a_guard_that_is_dropped_counts_as_failed() {
    let (controller, _) = running();
    add(&controller, 1);
    drop(take(&controller));
    let report = &controller.report()[0];
    assert_eq!((report.state, report.failures), (KeyState::BackingOff { until: at(5) }, 1));
    assert_eq!(poll_due(&controller, 5), Due::Idle);
    assert_eq!(take(&controller).causes(), [("changed", at(0))]);
}

#[test]
fn a_drain_wakes_everyone_and_is_over_with_the_last_reconcile() {
    let (controller, _) = running();
    add(&controller, 1);
    let busy = take(&controller);
    let mut worker = Worker::new(controller.next());
    let (wakes, waker) = counting();
    let (mut timeouts, mut cx) = (controller.timeouts(), Context::from_waker(&waker));
    assert!(worker.poll().is_pending() && timeouts.poll_due(&mut cx, at(0)) == Due::Idle);
    controller.drain(Duration::from_millis(50));
    assert_eq!((worker.wakes.count(), wakes.count()), (1, 1));
    assert!(matches!(worker.poll(), Poll::Ready(None)));
    assert_eq!(timeouts.poll_due(&mut cx, at(1)), Due::At(at(50)));
    busy.finish(Outcome::Done, ["a write that is not awaited"]);
    assert_eq!((wakes.count(), controller.lifecycle()), (2, Lifecycle::Stopped));
    assert_eq!((timeouts.poll_due(&mut cx, at(1)), add(&controller, 2)), (Due::Closed, Added::Closed));
    assert_eq!(controller.report(), []);
}

#[test]
fn the_task_that_follows_the_timeouts_hears_of_the_start() {
    let (clock, _) = clock();
    let controller = Controller::new(Machine::default().with_period(Duration::from_millis(20)), clock);
    let (wakes, waker) = counting();
    let (mut timeouts, mut cx) = (controller.timeouts(), Context::from_waker(&waker));
    assert_eq!(timeouts.poll_due(&mut cx, at(0)), Due::Idle);
    controller.update(|it, now| it.start(now, None));
    assert_eq!(wakes.count(), 1);
    assert_eq!(timeouts.poll_due(&mut cx, at(0)), Due::At(at(20)));
    assert!(!controller.update(|it, _| it.poll_period()));
    assert_eq!(timeouts.poll_due(&mut cx, at(20)), Due::At(at(40)));
    assert!(controller.update(|it, _| it.poll_period()) && !controller.update(|it, _| it.poll_period()));
}

#[test]
fn parked_keys_are_listed_and_the_metrics_have_the_clocks_times() {
    let (clock, millis) = clock();
    let queue = WorkQueue::default().with_max_retries(0).with_metrics();
    let controller = Controller::new(Machine::new(queue, 0), clock);
    controller.update(|it, now| it.start(now, None));
    add(&controller, 1);
    millis.store(3, Relaxed);
    let guard = take(&controller);
    millis.store(7, Relaxed);
    assert_eq!(guard.finish(Outcome::Retry, []), Ended::Finished(Finished::GaveUp));
    assert_eq!(
        (controller.read(|it| it.parked().cloned().collect::<Vec<_>>()), controller.report()[0].state),
        (alloc::vec![1], KeyState::Parked)
    );
    let metrics = controller.read(|it| it.metrics(at(7))).unwrap();
    assert_eq!((metrics.latency.total, metrics.work.total), (Duration::from_millis(3), Duration::from_millis(4)));
}

#[test]
fn a_controller_in_which_the_programs_code_panicked_has_failed_and_says_so() {
    let (controller, _) = running();
    (1..=2).for_each(|key| _ = add(&controller, key));
    let (guard, other) = (take(&controller), take(&controller));
    let (mut worker, (wakes, waker)) = (Worker::new(controller.next()), counting());
    let (mut timeouts, mut cx) = (controller.timeouts(), Context::from_waker(&waker));
    assert!(worker.poll().is_pending() && timeouts.poll_due(&mut cx, at(0)) == Due::Idle);
    LIMITERS_PANIC.set(true);
    let finish = core::panic::AssertUnwindSafe(|| guard.finish(Outcome::Retry, ["a"]));
    assert!(std::panic::catch_unwind(finish).is_err());
    LIMITERS_PANIC.set(false);
    assert_eq!((controller.lifecycle(), worker.wakes.count(), wakes.count()), (Lifecycle::Failed, 1, 1));
    assert!(matches!(worker.poll(), Poll::Ready(None)));
    assert_eq!((timeouts.poll_due(&mut cx, at(0)), add(&controller, 1)), (Due::Closed, Added::Closed));
    assert_eq!(other.finish(Outcome::Done, ["a"]), Ended::Finished(Finished::Ignored));
    assert_eq!(
        (controller.report(), controller.read(|it| it.parked().cloned().collect::<Vec<_>>())),
        ([].into(), [].into())
    );
    controller.drain(Duration::from_millis(50));
    assert_eq!(controller.lifecycle(), Lifecycle::Failed);
}

/// The first sleeper's thread computes: it was woken, and does not come.
#[test]
fn a_ready_key_waits_for_no_worker_that_does_not_come() {
    let reconciler = Reconciler::<&str, (), ()>::default();
    let shared = SharedReconciler::<_, StdLock, _, _>::new(reconciler, || Instant::ZERO);
    shared.update(|it, now| it.start(now, None));
    let ((first, busy), (second, idle)) = (counting(), counting());
    let (mut one, mut other) = (shared.next(), shared.next());
    assert!(Pin::new(&mut one).poll(&mut Context::from_waker(&busy)).is_pending());
    assert!(Pin::new(&mut other).poll(&mut Context::from_waker(&idle)).is_pending());
    shared.add("a", Priority::Normal, ());
    assert_eq!((first.count(), second.count()), (1, 1));
    let next = Pin::new(&mut other).poll(&mut Context::from_waker(&idle));
    assert!(matches!(next, Poll::Ready(Some(_))));
}

/// A program that promises it of the shared reconciler alone spawns what waits for it.
#[test]
fn what_waits_is_send_wherever_the_reconciler_is() {
    fn is_send<T: Send>(_: &T) {}
    fn spawned<K, Lk: Lock, C: Send, W: Send, L: RateLimiter>(controller: &SharedReconciler<K, Lk, C, W, L>)
    where
        K: Hash + Eq + Clone + Send,
        SharedReconciler<K, Lk, C, W, L>: Send + Sync,
    {
        is_send(&controller.next());
        is_send(&controller.timeouts());
    }
    spawned(&running().0);
}
