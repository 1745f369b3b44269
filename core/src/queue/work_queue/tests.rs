use super::*;
use crate::queue::{Added, ExponentialBackoff, TokenBucket};
use crate::storage::{Fixed, Full, Heap};
use alloc::vec::Vec;
use core::time::Duration;

crate::storage::in_both_memories!(
    a_key_added_many_times_is_handed_out_once,
    a_key_is_never_with_two_workers,
    a_key_added_while_it_is_worked_on_goes_behind_the_others,
    of_two_delays_the_earlier_end_counts,
    delays_end_in_order_of_time_and_then_of_arming,
    a_direct_add_does_not_end_a_delay,
    a_delay_of_zero_adds_at_once,
    the_longest_delay_does_not_overflow,
    a_time_that_goes_back_is_clamped,
    failures_are_counted_until_they_are_forgotten,
    an_addition_that_changes_nothing_takes_no_token,
    the_longer_of_back_off_and_what_a_server_asks_for_counts,
    after_shut_down_only_what_is_ready_or_deferred_comes_out,
    a_queue_is_drained_when_its_last_worker_is_done,
    a_drain_waits_for_what_is_ready_and_running_and_tells_what_was_dropped,
    a_drain_ends_at_its_deadline_and_drops_what_is_ready,
    a_shut_down_during_a_drain_does_not_take_the_deadline_away,
    a_second_drain_does_not_move_the_deadline_out,
    promoting_ends_the_delay,
    keeping_a_key_waiting_concerns_back_off_alone,
    a_key_that_fails_too_often_is_parked_until_it_changes,
    five_retries_are_five_and_none_is_none,
    a_change_during_the_last_failure_keeps_a_key_from_being_parked,
    forgetting_a_parked_key_releases_it,
    parking_ends_the_delay,
    a_key_is_dropped_when_its_worker_is_done,
    a_key_takes_memory_only_while_something_is_known_of_it,
    the_counters_are_those_of_client_go,
    a_job_of_another_queue_is_ignored,
);

type Queue<M> = WorkQueueIn<u32, ExponentialBackoff, M>;

fn add<M: Mem>(queue: &mut Queue<M>, key: u32) -> Added {
    queue.try_add(key).ok().unwrap()
}

fn add_all<M: Mem>(queue: &mut Queue<M>, keys: &[u32]) {
    for key in keys {
        add(queue, *key);
    }
}

fn add_after<M: Mem>(queue: &mut Queue<M>, now: u64, key: u32, millis: u64) -> Added {
    queue.try_add_after(at(now), key, Duration::from_millis(millis)).ok().unwrap()
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Takes all that is ready, and is done with it.
fn drain<M: Mem>(queue: &mut Queue<M>) -> Vec<u32> {
    let mut jobs = Vec::new();
    let mut keys = Vec::new();
    while let Some(job) = queue.poll_job() {
        keys.push(*queue.key(&job));
        jobs.push(job);
    }
    jobs.into_iter().for_each(|job| queue.done(job));
    keys
}

/// W1, W2.
fn a_key_added_many_times_is_handed_out_once<M: Mem>() {
    let mut queue = Queue::<M>::default();
    assert_eq!(
        [1, 2, 1, 1].map(|key| add(&mut queue, key)),
        [Added::Queued, Added::Queued, Added::Merged, Added::Merged]
    );
    assert_eq!(queue.len(), 2);
    assert_eq!(drain(&mut queue), [1, 2]);
}

/// W4.
fn a_key_is_never_with_two_workers<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add(&mut queue, 1);
    let job = queue.poll_job().unwrap();
    assert_eq!([1, 1].map(|key| add(&mut queue, key)), [Added::Deferred, Added::Merged]);
    assert!(queue.poll_job().is_none() && queue.is_empty());
    queue.done(job);
    assert_eq!(drain(&mut queue), [1]);
}

/// W4: pushed to the tail.
fn a_key_added_while_it_is_worked_on_goes_behind_the_others<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add(&mut queue, 1);
    let job = queue.poll_job().unwrap();
    add_all(&mut queue, &[1, 2, 3]);
    queue.done(job);
    assert_eq!(drain(&mut queue), [2, 3, 1]);
}

/// W8.
fn of_two_delays_the_earlier_end_counts<M: Mem>() {
    let mut queue = Queue::<M>::default();
    assert_eq!(add_after(&mut queue, 0, 1, 20), Added::Delayed);
    assert_eq!(add_after(&mut queue, 0, 1, 30), Added::Merged);
    assert_eq!(add_after(&mut queue, 5, 1, 10), Added::Delayed);
    assert_eq!(queue.poll_timeout(), Some(at(15)));
    queue.handle_timeout(at(14));
    assert!(queue.is_empty());
    queue.handle_timeout(at(15));
    assert_eq!(drain(&mut queue), [1]);
    queue.handle_timeout(at(100));
    assert!(queue.is_empty() && queue.poll_timeout().is_none());
}

fn delays_end_in_order_of_time_and_then_of_arming<M: Mem>() {
    let mut queue = Queue::<M>::default();
    for (key, millis) in [(1, 30), (2, 10), (3, 20), (4, 10), (5, 50)] {
        add_after(&mut queue, 0, key, millis);
    }
    queue.handle_timeout(at(40));
    assert_eq!(drain(&mut queue), [2, 4, 3, 1]);
    assert_eq!(queue.poll_timeout(), Some(at(50)));
}

/// W9.
fn a_direct_add_does_not_end_a_delay<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add_after(&mut queue, 0, 1, 10);
    assert_eq!(add(&mut queue, 1), Added::Queued);
    assert_eq!(drain(&mut queue), [1]);
    queue.handle_timeout(at(10));
    assert_eq!(drain(&mut queue), [1]);
}

/// W8.
fn a_delay_of_zero_adds_at_once<M: Mem>() {
    let mut queue = Queue::<M>::default();
    assert_eq!(add_after(&mut queue, 0, 1, 0), Added::Queued);
    assert_eq!(queue.poll_timeout(), None);
}

fn the_longest_delay_does_not_overflow<M: Mem>() {
    let mut queue = Queue::<M>::default();
    assert_eq!(queue.try_add_after(at(1), 1, Duration::MAX).ok(), Some(Added::Delayed));
    assert_eq!(queue.poll_timeout(), Some(Instant::from_nanos(u64::MAX)));
    queue.shut_down();
    assert!(queue.is_drained() && queue.poll_timeout().is_none());
}

fn a_time_that_goes_back_is_clamped<M: Mem>() {
    let mut queue = Queue::<M>::default();
    queue.handle_timeout(at(100));
    add_after(&mut queue, 50, 1, 10);
    assert_eq!(queue.poll_timeout(), Some(at(110)));
    queue.handle_timeout(at(110));
    queue.handle_timeout(at(0));
    assert_eq!(drain(&mut queue), [1]);
}

/// W12, and W9: forgetting does not end a delay.
fn failures_are_counted_until_they_are_forgotten<M: Mem>() {
    let mut queue = Queue::<M>::default();
    let delays = [5, 10, 20, 40].map(Duration::from_millis);
    assert_eq!(core::array::from_fn(|_| queue.try_when(at(0), 1).ok().unwrap()), delays);
    assert_eq!((queue.num_requeues(&1), queue.num_requeues(&2)), (4, 0));
    assert_eq!(queue.try_add_rate_limited(at(0), 1).ok(), Some(Added::Delayed));
    queue.forget(&1);
    assert_eq!((queue.num_requeues(&1), queue.poll_timeout()), (0, Some(at(80))));
    assert_eq!(queue.try_when(at(0), 1).ok(), Some(Duration::from_millis(5)));
}

/// Not W14: client-go's bucket loses a token for each of them.
fn an_addition_that_changes_nothing_takes_no_token<M: Mem>() {
    let mut queue = WorkQueueIn::<u32, TokenBucket, M>::new(TokenBucket::per_second(1, 1));
    let mut retry = |key| queue.try_add_rate_limited(at(0), key).ok().unwrap();
    assert_eq!(
        [1, 2, 2, 2, 3].map(&mut retry),
        [Added::Queued, Added::Delayed, Added::Merged, Added::Merged, Added::Delayed]
    );
    assert_eq!(queue.poll_timeout(), Some(at(1000)));
    queue.handle_timeout(at(1000));
    assert_eq!(queue.poll_timeout(), Some(at(2000)), "the third token, though five were asked for");
    queue.shut_down();
    assert_eq!(queue.try_add_rate_limited(at(1000), 4).ok(), Some(Added::Closed));
    assert_eq!(queue.try_when(at(1000), 5).ok(), Some(Duration::from_secs(2)));
}

/// W6, W10.
fn after_shut_down_only_what_is_ready_or_deferred_comes_out<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add(&mut queue, 1);
    let job = queue.poll_job().unwrap();
    add_all(&mut queue, &[1, 2]);
    add_after(&mut queue, 0, 3, 10);
    queue.shut_down();
    assert_eq!(add(&mut queue, 4), Added::Closed);
    assert_eq!(add_after(&mut queue, 0, 4, 10), Added::Closed);
    assert_eq!(queue.try_add_rate_limited(at(0), 4).ok(), Some(Added::Closed));
    assert_eq!((queue.num_requeues(&4), queue.poll_timeout()), (1, None));
    queue.done(job);
    queue.handle_timeout(at(1000));
    assert_eq!(drain(&mut queue), [2, 1]);
}

/// W7, without what client-go does not wait for.
fn a_queue_is_drained_when_its_last_worker_is_done<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add_all(&mut queue, &[1, 2]);
    let one = queue.poll_job().unwrap();
    assert!(!queue.is_shutting_down());
    queue.shut_down();
    assert!(queue.is_shutting_down() && !queue.is_drained());
    queue.done(one);
    assert!(!queue.is_drained(), "a key is still ready");
    let two = queue.poll_job().unwrap();
    assert!(!queue.is_drained(), "a worker still has a key");
    queue.done(two);
    assert!(queue.is_drained());
}

/// Not W7: client-go does not wait for keys that nobody has taken yet.
fn a_drain_waits_for_what_is_ready_and_running_and_tells_what_was_dropped<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add_all(&mut queue, &[1, 2]);
    let one = queue.poll_job().unwrap();
    add(&mut queue, 1);
    add_after(&mut queue, 0, 3, 10);
    assert_eq!(queue.drained(), None);
    queue.shut_down_with_drain(at(5), Duration::from_millis(100));
    assert_eq!((queue.drained(), queue.poll_timeout()), (None, Some(at(105))));
    assert_eq!([4, 1].map(|key| add(&mut queue, key)), [Added::Closed, Added::Closed]);
    queue.done(one);
    queue.handle_timeout(at(50));
    let jobs = [queue.poll_job().unwrap(), queue.poll_job().unwrap()];
    assert_eq!(jobs.each_ref().map(|job| *queue.key(job)), [2, 1]);
    assert_eq!(queue.drained(), None, "workers have keys");
    jobs.into_iter().for_each(|job| queue.done(job));
    assert_eq!(queue.drained(), Some(Drained { delayed: 1, ready: 0, running: 0, refused: 2 }));
    assert_eq!(queue.poll_timeout(), None, "nothing is left to wait for");
}

fn a_drain_ends_at_its_deadline_and_drops_what_is_ready<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add_all(&mut queue, &[1, 2, 3]);
    let job = queue.poll_job().unwrap();
    add(&mut queue, 1);
    queue.shut_down_with_drain(at(0), Duration::from_millis(100));
    queue.handle_timeout(at(99));
    assert_eq!((queue.len(), queue.drained()), (2, None));
    queue.handle_timeout(at(100));
    assert_eq!(queue.drained(), Some(Drained { delayed: 0, ready: 3, running: 1, refused: 0 }));
    assert!(queue.poll_job().is_none() && queue.poll_timeout().is_none());
    assert_eq!(queue.stats().depth, 0);
    queue.done(job);
    assert!(queue.poll_job().is_none() && queue.is_drained(), "the deferred key was dropped too");
    assert_eq!((queue.drained().unwrap().running, queue.records.len()), (0, 0));
    queue.shut_down_with_drain(at(200), Duration::from_millis(100));
    assert_eq!(queue.poll_timeout(), None, "it was over already");
}

/// Not W6, where a shut-down releases the caller that waits for a drain.
fn a_shut_down_during_a_drain_does_not_take_the_deadline_away<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add_all(&mut queue, &[1]);
    queue.shut_down_with_drain(at(0), Duration::from_millis(100));
    queue.shut_down();
    assert_eq!(queue.poll_timeout(), Some(at(100)));
    queue.handle_timeout(at(100));
    assert_eq!((queue.len(), queue.drained().map(|left| left.ready)), (0, Some(1)));
}

fn a_second_drain_does_not_move_the_deadline_out<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add_all(&mut queue, &[1]);
    queue.shut_down_with_drain(at(0), Duration::from_millis(100));
    queue.shut_down_with_drain(at(50), Duration::from_millis(100));
    assert_eq!(queue.poll_timeout(), Some(at(100)));
    queue.shut_down_with_drain(at(50), Duration::from_millis(10));
    assert_eq!(queue.poll_timeout(), Some(at(60)), "an earlier deadline counts");
}

/// Not W9.
fn promoting_ends_the_delay<M: Mem>() {
    let mut queue = Queue::<M>::default().with_while_delayed(WhileDelayed::Promote);
    add_after(&mut queue, 0, 1, 10);
    assert_eq!((add(&mut queue, 1), queue.poll_timeout()), (Added::Queued, None));
    let job = queue.poll_job().unwrap();
    queue.try_add_rate_limited(at(0), 1).ok().unwrap();
    assert_eq!((add_after(&mut queue, 0, 1, 0), queue.poll_timeout()), (Added::Deferred, None));
    queue.done(job);
    queue.handle_timeout(at(100));
    assert_eq!(drain(&mut queue), [1]);
    assert_eq!(queue.num_requeues(&1), 1, "only the delay is forgotten");
}

/// Not W9.
fn keeping_a_key_waiting_concerns_back_off_alone<M: Mem>() {
    let mut queue = Queue::<M>::default().with_while_delayed(WhileDelayed::KeepWaiting);
    queue.try_add_rate_limited(at(0), 1).ok().unwrap();
    assert_eq!([add(&mut queue, 1), add_after(&mut queue, 1, 1, 0)], [Added::Merged, Added::Merged]);
    assert_eq!((queue.len(), queue.poll_timeout()), (0, Some(at(5))));
    assert_eq!(add_after(&mut queue, 1, 1, 1), Added::Delayed, "an earlier delay counts as ever");
    assert_eq!(add(&mut queue, 1), Added::Queued, "and is no back-off");
    queue.handle_timeout(at(5));
    assert_eq!((drain(&mut queue), queue.stats().merged), (alloc::vec![1], 3));
    assert_eq!(add(&mut queue, 1), Added::Queued, "its back-off is over");
}

fn a_key_that_fails_too_often_is_parked_until_it_changes<M: Mem>() {
    let mut queue = Queue::<M>::default().with_max_retries(1);
    let retry = |queue: &mut Queue<M>| queue.try_add_rate_limited(at(0), 1).ok().unwrap();
    add(&mut queue, 1);
    for (now, added) in [(1000, Added::Delayed), (2000, Added::Parked)] {
        queue.handle_timeout(at(now));
        let job = queue.poll_job().unwrap();
        assert_eq!(retry(&mut queue), added);
        queue.done(job);
    }
    assert_eq!((queue.poll_timeout(), queue.len(), queue.num_requeues(&1)), (None, 0, 2));
    assert!(queue.parked().eq([&1]) && queue.stats().parked == 1);
    assert_eq!(retry(&mut queue), Added::Parked);
    assert_eq!(add_after(&mut queue, 2000, 1, 10), Added::Delayed);
    assert!(queue.parked().eq([&1]), "it has not changed yet");
    queue.handle_timeout(at(2010));
    assert_eq!((queue.parked().count(), queue.num_requeues(&1), queue.stats().parked), (0, 0, 0));
    assert_eq!(drain(&mut queue), [1]);
    assert_eq!(retry(&mut queue), Added::Delayed);
}

fn the_longer_of_back_off_and_what_a_server_asks_for_counts<M: Mem>() {
    let mut queue = Queue::<M>::default().with_max_retries(2);
    add(&mut queue, 1);
    for (now, least, due) in [(0, 2, Some(at(5))), (5, 3000, Some(at(3005))), (3005, 9000, None)] {
        let job = queue.poll_job().unwrap();
        let added = queue.try_add_rate_limited_after(at(now), 1, Duration::from_millis(least)).ok();
        assert_eq!(added == Some(Added::Parked), due.is_none(), "it counts as a failure");
        queue.done(job);
        assert_eq!(queue.poll_timeout(), due);
        due.into_iter().for_each(|due| queue.handle_timeout(due));
    }
}

fn five_retries_are_five_and_none_is_none<M: Mem>() {
    for retries in [5, 0] {
        let mut queue = Queue::<M>::default().with_max_retries(retries);
        add(&mut queue, 1);
        let tries = (0..10).map_while(|second| {
            queue.handle_timeout(at(1000 * second));
            let job = queue.poll_job()?;
            let added = queue.try_add_rate_limited(at(1000 * second), 1).ok();
            queue.done(job);
            added
        });
        let tries: Vec<Added> = tries.collect();
        assert_eq!(tries.len(), 1 + retries as usize, "the first try and its retries: {tries:?}");
        assert_eq!((tries.last(), queue.num_requeues(&1)), (Some(&Added::Parked), retries + 1));
    }
}

fn a_change_during_the_last_failure_keeps_a_key_from_being_parked<M: Mem>() {
    for change_first in [true, false] {
        let mut queue = Queue::<M>::default().with_max_retries(0);
        add(&mut queue, 1);
        let job = queue.poll_job().unwrap();
        if change_first {
            assert_eq!(add(&mut queue, 1), Added::Deferred);
            assert_eq!(queue.try_add_rate_limited(at(0), 1).ok(), Some(Added::Merged));
        } else {
            assert_eq!(queue.try_add_rate_limited(at(0), 1).ok(), Some(Added::Parked));
            assert_eq!(add(&mut queue, 1), Added::Deferred);
        }
        assert_eq!((queue.parked().count(), queue.stats().parked, queue.num_requeues(&1)), (0, 0, 0));
        queue.done(job);
        assert_eq!(drain(&mut queue), [1]);
    }
}

fn forgetting_a_parked_key_releases_it<M: Mem>() {
    let mut queue = Queue::<M>::default().with_max_retries(0);
    for key in [1, 2] {
        queue.try_add_rate_limited(at(0), key).ok().unwrap();
    }
    queue.forget(&1);
    assert!(queue.parked().eq([&2]) && queue.records.len() == 1 && queue.is_empty());
    add(&mut queue, 2);
    let job = queue.poll_job().unwrap();
    queue.try_add_rate_limited(at(0), 2).ok().unwrap();
    queue.forget(&2);
    queue.done(job);
    assert!(queue.parked().count() == 0 && queue.records.len() == 0);
}

fn parking_ends_the_delay<M: Mem>() {
    let mut queue = Queue::<M>::default().with_max_retries(0);
    add_after(&mut queue, 0, 1, 10);
    queue.try_add_rate_limited(at(0), 1).ok().unwrap();
    assert_eq!((queue.poll_timeout(), queue.parked().count()), (None, 1));
    add_after(&mut queue, 0, 1, 10);
    queue.try_add_rate_limited(at(0), 1).ok().unwrap();
    assert_eq!((queue.poll_timeout(), queue.stats().parked), (None, 1), "also of one that was parked");
}

/// W17.
fn a_key_is_dropped_when_its_worker_is_done<M: Mem>() {
    let key = alloc::sync::Arc::new(7);
    let mut queue = WorkQueueIn::<_, ExponentialBackoff, M>::default();
    for _ in 0..3 {
        assert!(queue.try_add(key.clone()).is_ok() && queue.try_add(key.clone()).is_ok());
        let job = queue.poll_job().unwrap();
        assert_eq!(alloc::sync::Arc::strong_count(&key), 2);
        queue.done(job);
        assert_eq!(alloc::sync::Arc::strong_count(&key), 1);
    }
}

fn a_key_takes_memory_only_while_something_is_known_of_it<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add(&mut queue, 1);
    drain(&mut queue);
    assert_eq!(queue.records.len(), 0);
    queue.try_when(at(0), 1).ok().unwrap();
    queue.forget(&1);
    assert_eq!(queue.records.len(), 0);
    add_after(&mut queue, 0, 1, 10);
    queue.shut_down();
    assert_eq!(queue.records.len(), 0);
}

/// W16.
fn the_counters_are_those_of_client_go<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add_all(&mut queue, &[1, 2, 2]);
    let job = queue.poll_job().unwrap();
    add(&mut queue, 1);
    add_after(&mut queue, 0, 3, 0);
    add_after(&mut queue, 0, 4, 10);
    add_after(&mut queue, 0, 4, 20);
    assert_eq!(queue.stats(), QueueStats { depth: 3, adds: 4, merged: 2, retries: 3, held: 0, parked: 0, panics: 0 });
    assert_eq!(queue.len(), 2);
    queue.done(job);
    queue.handle_timeout(at(10));
    assert_eq!(queue.stats(), QueueStats { depth: 4, adds: 5, merged: 2, retries: 3, held: 0, parked: 0, panics: 0 });
}

/// W16, after client-go's `TestMetrics`: additions meanwhile count from the first of them.
#[test]
fn times_run_from_the_first_addition_to_the_job_and_to_its_end() {
    let mut queue = Queue::<Heap>::default().with_metrics();
    let millis = Duration::from_millis;
    add(&mut queue, 1);
    queue.handle_timeout(at(50));
    add_all(&mut queue, &[1, 2]);
    queue.handle_timeout(at(100));
    let (one, two) = (queue.poll_job().unwrap(), queue.poll_job().unwrap());
    queue.handle_timeout(at(125));
    add(&mut queue, 1);
    queue.handle_timeout(at(150));
    add(&mut queue, 1);
    let metrics = queue.metrics(at(175)).unwrap();
    assert_eq!((metrics.latency.count, metrics.latency.total), (2, millis(100 + 50)));
    assert_eq!((metrics.unfinished, metrics.longest_running), (millis(75 + 75), millis(75)));
    queue.done(one);
    queue.handle_timeout(at(200));
    let one = queue.poll_job().unwrap();
    let metrics = queue.metrics(at(225)).unwrap();
    assert_eq!((metrics.latency.count, metrics.latency.total), (3, millis(150 + 75)), "from the first while it ran");
    assert_eq!((metrics.work.count, metrics.work.total), (1, millis(50)));
    assert_eq!((metrics.unfinished, metrics.longest_running), (millis(25 + 125), millis(125)));
    [one, two].into_iter().for_each(|job| queue.done(job));
    assert_eq!(queue.metrics(at(300)).unwrap().unfinished, Duration::ZERO);
    assert_eq!(Queue::<Heap>::default().metrics(at(0)), None);
}

#[test]
fn what_was_there_before_the_stopwatch_counts_from_its_next_step() {
    let mut queue = Queue::<Heap>::default();
    add_all(&mut queue, &[1, 2]);
    let one = queue.poll_job().unwrap();
    queue.handle_timeout(at(100));
    let mut queue = queue.with_metrics();
    assert_eq!(queue.metrics(at(100)).unwrap().unfinished, Duration::ZERO);
    queue.done(one);
    assert_eq!(drain(&mut queue), [2]);
    let metrics = queue.metrics(at(100)).unwrap();
    assert_eq!((metrics.latency.total, metrics.work.total), (Duration::ZERO, Duration::ZERO));
}

/// Not W5: client-go would queue the key a second time. That a job is done twice does not compile.
fn a_job_of_another_queue_is_ignored<M: Mem>() {
    let (mut one, mut other) = (Queue::<M>::default(), Queue::<M>::default());
    add(&mut one, 1);
    drain(&mut one);
    add_all(&mut one, &[1, 2]);
    let (of_the_same_slot, of_another) = (one.poll_job().unwrap(), one.poll_job().unwrap());
    add(&mut other, 7);
    let job = other.poll_job().unwrap();
    other.done(of_the_same_slot);
    other.done(of_another);
    assert_eq!(*other.key(&job), 7);
    assert_eq!(add(&mut other, 7), Added::Deferred);
}

#[test]
fn a_full_queue_gives_back_new_keys_and_takes_known_ones() {
    let mut queue = Queue::<Fixed<3>>::default();
    queue.try_add(1).unwrap();
    queue.try_when(at(0), 2).unwrap();
    queue.try_add_after(at(0), 3, Duration::from_secs(1)).unwrap();
    assert_eq!(queue.try_add(4), Err(Full(4)));
    assert_eq!(queue.try_add_after(at(0), 4, Duration::from_secs(1)), Err(Full(4)));
    assert_eq!(queue.try_add_rate_limited(at(0), 4), Err(Full(4)));
    assert_eq!(queue.try_when(at(0), 4), Err(Full(4)));
    assert_eq!(queue.stats().retries, 1);
    assert_eq!([1, 2, 3].map(|key| queue.try_add(key)), [Ok(Added::Merged), Ok(Added::Queued), Ok(Added::Queued)]);
    queue.forget(&2);
    assert_eq!(drain(&mut queue), [1, 2, 3]);
    assert_eq!([4, 5].map(|key| queue.try_add(key)), [Ok(Added::Queued), Ok(Added::Queued)]);
    assert_eq!(queue.try_add(6), Err(Full(6)), "the delayed key still takes its place");
}

#[test]
#[should_panic(expected = "a job stays with the queue that it came from")]
fn the_key_of_another_queues_job_is_misuse() {
    let (mut one, other) = (Queue::<Heap>::default(), Queue::<Heap>::default());
    one.add(1);
    let job = one.poll_job().unwrap();
    let _ = other.key(&job);
}
