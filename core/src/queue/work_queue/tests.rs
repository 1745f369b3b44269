use super::*;
use crate::queue::{ExponentialBackoff, TokenBucket};
use crate::storage::{Fixed, Full, Heap};
use alloc::vec::Vec;

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
    after_shut_down_only_what_is_ready_or_deferred_comes_out,
    a_queue_is_drained_when_its_last_worker_is_done,
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

/// W2.
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
    assert_eq!(queue.stats(), QueueStats { depth: 3, adds: 4, merged: 2, retries: 3 });
    assert_eq!(queue.len(), 2);
    queue.done(job);
    queue.handle_timeout(at(10));
    assert_eq!(queue.stats(), QueueStats { depth: 4, adds: 5, merged: 2, retries: 3 });
}

fn a_job_of_another_queue_is_ignored<M: Mem>() {
    let (mut one, mut other) = (Queue::<M>::default(), Queue::<M>::default());
    add_all(&mut one, &[1, 2]);
    let (_, foreign) = (one.poll_job().unwrap(), one.poll_job().unwrap());
    add(&mut other, 7);
    let job = other.poll_job().unwrap();
    other.done(foreign);
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
