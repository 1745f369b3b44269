use super::*;
use crate::queue::ExponentialBackoff;
use crate::storage::{Fixed, Heap};
use core::cell::Cell;

crate::storage::in_both_memories!(
    done_forgets_the_failures_and_a_retry_counts_one,
    a_retry_waits_for_the_longer_of_back_off_and_what_a_server_asks_for,
    a_requeue_forgets_the_failures_and_waits,
    a_panic_is_counted_and_retried,
    a_key_that_was_added_meanwhile_is_queued_whatever_the_outcome,
    an_earlier_delay_of_the_key_goes_on,
    after_the_last_retry_the_queue_gives_the_key_up,
    a_change_meanwhile_keeps_the_queue_from_giving_up,
    done_takes_back_that_a_key_was_given_up,
    a_queue_that_is_shutting_down_refuses_retries,
    after_a_drain_nothing_comes_out_again,
    a_queue_in_its_drain_hands_out_what_was_added_before,
    a_job_of_another_queue_is_not_finished,
    a_time_that_goes_back_does_not_shorten_a_retry,
    a_transient_failure_backs_off_and_does_not_count_towards_parking,
    a_terminal_failure_parks_at_once_unless_the_key_changed_meanwhile,
    a_retry_that_is_due_while_its_key_is_held_waits_for_the_job,
    a_drain_waits_for_held_jobs,
    a_job_is_held_and_its_outcome_applied_once,
);

type Queue<M> = WorkQueueIn<u32, ExponentialBackoff, M>;

/// All but a terminal failure, which is no retry.
const OUTCOMES: [Outcome; 6] = [
    Outcome::Done,
    Outcome::Retry,
    Outcome::RetryAfter(Duration::from_millis(20)),
    Outcome::RequeueAfter(Duration::from_millis(20)),
    Outcome::Panicked,
    Outcome::Transient(Duration::from_millis(20)),
];

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Hands out the key, which was never seen before.
fn take<L: RateLimiter, M: Mem>(queue: &mut WorkQueueIn<u32, L, M>, key: u32) -> Job {
    assert!(queue.try_add(key).ok() == Some(Added::Queued));
    queue.poll_job().unwrap()
}

/// What is known of key 1 when a worker took it, it was added meanwhile where `is_dirty`, and the work came to
/// `outcome`.
fn finish<M: Mem>(queue: &mut Queue<M>, is_dirty: bool, outcome: Outcome) -> Finished {
    let job = take(queue, 1);
    if is_dirty {
        assert!(queue.try_add(1).ok() == Some(Added::Deferred));
    }
    queue.finish(at(0), job, outcome)
}

fn done_forgets_the_failures_and_a_retry_counts_one<M: Mem>() {
    let mut queue = Queue::<M>::default();
    for (now, outcome, finished, failures) in [
        (0, Outcome::Retry, Finished::RetryAt(at(5)), 1),
        (5, Outcome::Retry, Finished::RetryAt(at(15)), 2),
        (15, Outcome::Done, Finished::Done, 0),
    ] {
        let _ = queue.try_add(1);
        let job = queue.poll_job().unwrap();
        assert_eq!((queue.finish(at(now), job, outcome), queue.num_requeues(&1)), (finished, failures));
        finished_at(&mut queue, finished);
    }
    assert_eq!(queue.records.len(), 0, "nothing is left of the key");
}

/// Lets the time come that the queue has told.
fn finished_at<M: Mem>(queue: &mut Queue<M>, finished: Finished) {
    if let Finished::RetryAt(due) = finished {
        assert_eq!((queue.len(), queue.poll_timeout()), (0, Some(due)));
        queue.handle_timeout(due);
        assert_eq!(queue.len(), 1);
    }
}

fn a_retry_waits_for_the_longer_of_back_off_and_what_a_server_asks_for<M: Mem>() {
    let mut queue = Queue::<M>::default();
    for (least, due) in [(2, 5), (3000, 3005)] {
        let _ = queue.try_add(1);
        let (job, now) = (queue.poll_job().unwrap(), queue.now);
        let finished = queue.finish(now, job, Outcome::RetryAfter(Duration::from_millis(least)));
        assert_eq!(finished, Finished::RetryAt(at(due)));
        finished_at(&mut queue, finished);
    }
    assert_eq!(queue.num_requeues(&1), 2, "each is a failure");
}

fn a_requeue_forgets_the_failures_and_waits<M: Mem>() {
    for (delay, finished) in [(0, Finished::Queued), (7, Finished::RetryAt(at(7)))] {
        let mut queue = Queue::<M>::default();
        assert!(queue.try_when(at(0), 1).is_ok());
        let finished_with = finish(&mut queue, false, Outcome::RequeueAfter(Duration::from_millis(delay)));
        assert_eq!((finished_with, queue.num_requeues(&1)), (finished, 0));
        finished_at(&mut queue, finished);
    }
}

fn a_panic_is_counted_and_retried<M: Mem>() {
    let mut queue = Queue::<M>::default();
    assert_eq!(finish(&mut queue, false, Outcome::Panicked), Finished::RetryAt(at(5)));
    assert_eq!((queue.stats().panics, queue.stats().retries, queue.num_requeues(&1)), (1, 1, 1));
}

fn a_key_that_was_added_meanwhile_is_queued_whatever_the_outcome<M: Mem>() {
    for outcome in OUTCOMES {
        let mut queue = Queue::<M>::default();
        assert_eq!(finish(&mut queue, true, outcome), Finished::Queued, "{outcome:?}");
        assert_eq!((queue.len(), queue.poll_timeout().is_some()), (1, outcome != Outcome::Done), "{outcome:?}");
    }
}

fn an_earlier_delay_of_the_key_goes_on<M: Mem>() {
    let mut queue = Queue::<M>::default();
    let job = take(&mut queue, 1);
    assert!(queue.try_add_after(at(0), 1, Duration::from_millis(3)).is_ok());
    assert_eq!(queue.finish(at(0), job, Outcome::Done), Finished::RetryAt(at(3)));
    queue.handle_timeout(at(3));
    let job = queue.poll_job().unwrap();
    assert!(queue.try_add_after(at(3), 1, Duration::from_millis(1)).is_ok());
    assert_eq!(queue.finish(at(3), job, Outcome::Retry), Finished::RetryAt(at(4)), "the earlier end counts");
}

fn after_the_last_retry_the_queue_gives_the_key_up<M: Mem>() {
    for outcome in [Outcome::Retry, Outcome::RetryAfter(Duration::from_secs(9)), Outcome::Panicked] {
        let mut queue = Queue::<M>::default().with_max_retries(0);
        assert_eq!(finish(&mut queue, false, outcome), Finished::GaveUp, "{outcome:?}");
        assert!(queue.parked().eq([&1]) && queue.poll_timeout().is_none());
    }
}

fn a_change_meanwhile_keeps_the_queue_from_giving_up<M: Mem>() {
    let mut queue = Queue::<M>::default().with_max_retries(0);
    assert_eq!(finish(&mut queue, true, Outcome::Retry), Finished::Queued);
    assert_eq!((queue.parked().count(), queue.num_requeues(&1)), (0, 0));
}

fn done_takes_back_that_a_key_was_given_up<M: Mem>() {
    let mut queue = Queue::<M>::default().with_max_retries(0);
    let job = take(&mut queue, 1);
    assert!(queue.try_add_rate_limited(at(0), 1).ok() == Some(Added::Parked));
    assert_eq!(queue.finish(at(0), job, Outcome::Done), Finished::Done);
    assert_eq!((queue.stats().parked, queue.records.len()), (0, 0));
}

fn a_queue_that_is_shutting_down_refuses_retries<M: Mem>() {
    for outcome in OUTCOMES {
        let mut queue = Queue::<M>::default();
        let job = take(&mut queue, 1);
        queue.shut_down();
        let expected = if outcome == Outcome::Done { Finished::Done } else { Finished::Closed };
        assert_eq!(queue.finish(at(0), job, outcome), expected, "{outcome:?}");
        assert_eq!(queue.drained().unwrap().refused, u64::from(outcome != Outcome::Done), "{outcome:?}");
    }
}

fn a_queue_in_its_drain_hands_out_what_was_added_before<M: Mem>() {
    for outcome in OUTCOMES {
        let mut queue = Queue::<M>::default();
        let job = take(&mut queue, 1);
        assert!(queue.try_add(1).is_ok());
        queue.shut_down_with_drain(at(0), Duration::from_secs(1));
        assert_eq!(queue.finish(at(0), job, outcome), Finished::Queued, "{outcome:?}");
        let job = queue.poll_job().unwrap();
        queue.finish(at(0), job, Outcome::Done);
        assert!(queue.is_drained());
    }
}

fn after_a_drain_nothing_comes_out_again<M: Mem>() {
    for outcome in OUTCOMES {
        let mut queue = Queue::<M>::default();
        let job = take(&mut queue, 1);
        assert!(queue.try_add(1).is_ok());
        queue.shut_down_with_drain(at(0), Duration::ZERO);
        queue.handle_timeout(at(0));
        let expected = if outcome == Outcome::Done { Finished::Done } else { Finished::Closed };
        assert_eq!(queue.finish(at(0), job, outcome), expected, "{outcome:?}");
        assert!(queue.is_drained() && queue.poll_timeout().is_none());
    }
}

fn a_job_of_another_queue_is_not_finished<M: Mem>() {
    let (mut one, mut other) = (Queue::<M>::default(), Queue::<M>::default());
    let job = take(&mut one, 1);
    one.done(job);
    let job = take(&mut one, 1);
    let own = take(&mut other, 7);
    assert_eq!(other.finish(at(9), job, Outcome::Panicked), Finished::Ignored);
    assert_eq!((*other.key(&own), other.stats().panics, other.now), (7, 0, at(0)));
}

fn a_time_that_goes_back_does_not_shorten_a_retry<M: Mem>() {
    let mut queue = Queue::<M>::default();
    queue.handle_timeout(at(100));
    assert_eq!(finish(&mut queue, false, Outcome::Retry), Finished::RetryAt(at(105)));
}

#[test]
fn the_work_ends_when_it_is_finished() {
    let mut queue = Queue::<Heap>::default().with_metrics();
    let job = take(&mut queue, 1);
    queue.finish(at(30), job, Outcome::Done);
    let work = queue.metrics(at(90)).unwrap().work;
    assert_eq!((work.count, work.total), (1, Duration::from_millis(30)));
}

/// A key that cannot be hashed, compared or cloned while this is set.
#[derive(Debug, Eq)]
struct Fragile;

std::thread_local!(static BREAKS: Cell<bool> = const { Cell::new(false) });

impl Hash for Fragile {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {
        assert!(!BREAKS.get(), "hashed");
    }
}

impl PartialEq for Fragile {
    fn eq(&self, _: &Self) -> bool {
        assert!(!BREAKS.get(), "compared");
        true
    }
}

#[test]
fn no_outcome_hashes_or_compares_the_key() {
    for outcome in OUTCOMES {
        let mut queue = WorkQueueIn::<Fragile, ExponentialBackoff, Fixed<1>>::default();
        queue.try_add(Fragile).unwrap();
        let job = queue.poll_job().unwrap();
        BREAKS.set(true);
        queue.finish(at(0), job, outcome);
        queue.handle_timeout(at(20));
        BREAKS.set(false);
        assert_eq!(queue.len(), usize::from(outcome != Outcome::Done), "{outcome:?}");
    }
}

#[test]
fn a_full_queue_takes_every_outcome() {
    for outcome in OUTCOMES {
        let mut queue = Queue::<Fixed<2>>::default();
        let (one, two) = (take(&mut queue, 1), take(&mut queue, 2));
        assert!(queue.try_add(3).is_err());
        let finished = [one, two].map(|job| queue.finish(at(0), job, outcome));
        assert_eq!(finished[0], finished[1], "{outcome:?}");
        assert_eq!(queue.try_add(3).is_ok(), outcome == Outcome::Done, "{outcome:?}");
    }
}

fn a_transient_failure_backs_off_and_does_not_count_towards_parking<M: Mem>() {
    let mut queue = Queue::<M>::default().with_max_retries(1);
    let transient = Outcome::Transient(Duration::from_millis(7));
    let mut now = 0;
    for (outcome, delay) in [(transient, 7), (Outcome::Retry, 10), (transient, 20), (transient, 40)] {
        let job = take_due(&mut queue, now);
        assert_eq!(queue.finish(at(now), job, outcome), Finished::RetryAt(at(now + delay)));
        now += delay;
    }
    assert_eq!(queue.num_requeues(&1), 4);
    let job = take_due(&mut queue, now);
    assert_eq!(queue.finish(at(now), job, Outcome::Retry), Finished::GaveUp, "the second that counts");
    let job = take(&mut queue, 1);
    assert_eq!(queue.finish(at(now), job, Outcome::Retry), Finished::RetryAt(at(now + 5)), "all are forgotten");
}

/// Key 1, for the first time or when its delay is over.
fn take_due<M: Mem>(queue: &mut Queue<M>, now: u64) -> Job {
    queue.handle_timeout(at(now));
    if now == 0 { take(queue, 1) } else { queue.poll_job().unwrap() }
}

fn a_terminal_failure_parks_at_once_unless_the_key_changed_meanwhile<M: Mem>() {
    let mut queue = Queue::<M>::default();
    assert_eq!(finish(&mut queue, false, Outcome::Terminal), Finished::GaveUp);
    assert!(queue.parked().eq([&1]) && queue.poll_timeout().is_none());
    assert_eq!(finish(&mut queue, true, Outcome::Terminal), Finished::Queued);
    assert_eq!((queue.parked().count(), queue.len(), queue.stats().merged), (0, 1, 0));
}

#[test]
fn a_held_key_is_with_no_worker_and_its_work_is_over() {
    let mut queue = Queue::<Heap>::default().with_metrics();
    let job = take(&mut queue, 1);
    queue.hold(at(10), &job, Outcome::Done);
    let metrics = queue.metrics(at(500)).unwrap();
    assert_eq!((metrics.unfinished, metrics.longest_running), (Duration::ZERO, Duration::ZERO));
    assert_eq!((metrics.work.count, metrics.work.total), (1, Duration::from_millis(10)));
    assert_eq!((queue.stats().held, queue.poll_job().is_none()), (1, true));
    assert_eq!((queue.try_add(1).ok(), queue.stats().depth), (Some(Added::Deferred), 1));
    queue.handle_timeout(at(500));
    queue.done(job);
    assert_eq!((queue.len(), queue.stats().held), (1, 0));
    assert_eq!(queue.metrics(at(500)).unwrap().work.count, 1, "the work is counted once");
}

fn a_retry_that_is_due_while_its_key_is_held_waits_for_the_job<M: Mem>() {
    let mut queue = Queue::<M>::default();
    let job = take(&mut queue, 1);
    queue.hold(at(0), &job, Outcome::Retry);
    assert_eq!(queue.poll_timeout(), Some(at(5)));
    queue.handle_timeout(at(5));
    assert_eq!((queue.len(), queue.stats().depth), (0, 1));
    queue.done(job);
    assert_eq!(queue.len(), 1);
}

fn a_drain_waits_for_held_jobs<M: Mem>() {
    let mut queue = Queue::<M>::default();
    let job = take(&mut queue, 1);
    queue.hold(at(0), &job, Outcome::Done);
    queue.shut_down_with_drain(at(0), Duration::from_millis(9));
    assert!(!queue.is_drained() && queue.drained().is_none());
    queue.done(job);
    assert_eq!(queue.drained(), Some(Default::default()));
}

fn a_job_is_held_and_its_outcome_applied_once<M: Mem>() {
    let mut queue = Queue::<M>::default();
    let job = take(&mut queue, 1);
    queue.hold(at(0), &job, Outcome::Retry);
    queue.hold(at(0), &job, Outcome::Retry);
    assert_eq!((queue.num_requeues(&1), queue.stats().held), (1, 1));
    assert_eq!(queue.finish(at(0), job, Outcome::Done), Finished::RetryAt(at(5)));
    assert_eq!((queue.num_requeues(&1), queue.stats().held), (1, 0));
}
