use super::*;
use crate::queue::{ExponentialBackoff, WhileDelayed, WorkQueueIn};
use crate::time::Instant;
use alloc::vec::Vec;
use core::hash::Hash;
use core::time::Duration;

crate::storage::in_both_memories!(
    without_priorities_and_groups_lanes_are_a_fifo,
    groups_take_turns_and_a_new_one_joins_behind,
    a_group_that_is_added_to_for_ever_does_not_starve_another,
    higher_priorities_come_first_and_lower_ones_age,
    no_priority_starves_whatever_the_others_do,
    a_priority_that_was_empty_between_two_keys_has_not_aged,
    a_higher_priority_raises_a_ready_key_and_a_lower_one_does_not,
    a_retry_keeps_the_priority_until_the_key_is_added_with_another,
);

type Queue<M> = WorkQueueIn<u32, ExponentialBackoff, M, Lanes<u32>>;

/// The hundreds are the group.
fn grouped<M: Mem>() -> Queue<M> {
    let lanes = Lanes::default().with_groups(|key: &u32, mut group| (key / 100).hash(&mut group));
    Queue::with_discipline(ExponentialBackoff::default(), lanes, 0)
}

fn add<M: Mem>(queue: &mut Queue<M>, keys: &[u32]) {
    keys.iter().for_each(|key| assert!(queue.try_add(*key).is_ok()));
}

fn add_with<M: Mem>(queue: &mut Queue<M>, priority: Priority, keys: &[u32]) {
    keys.iter().for_each(|key| assert!(queue.try_add_with_priority(*key, priority).is_ok()));
}

fn take<M: Mem>(queue: &mut Queue<M>) -> Option<u32> {
    let job = queue.poll_job()?;
    let key = *queue.key(&job);
    queue.done(job);
    Some(key)
}

fn drain<M: Mem>(queue: &mut Queue<M>) -> Vec<u32> {
    core::iter::from_fn(|| take(queue)).collect()
}

fn without_priorities_and_groups_lanes_are_a_fifo<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add(&mut queue, &[3, 101, 2, 102, 1]);
    assert_eq!((queue.len(), drain(&mut queue)), (5, alloc::vec![3, 101, 2, 102, 1]));
}

/// Not even if it was empty because its last key was raised, and only until the next key was handed out.
fn a_priority_that_was_empty_between_two_keys_has_not_aged<M: Mem>() {
    let mut queue = Queue::<M>::with_discipline(ExponentialBackoff::default(), Lanes::default().with_aging(2), 0);
    add_with(&mut queue, Priority::Low, &[1]);
    add(&mut queue, &[10, 11, 12]);
    assert_eq!([take(&mut queue), take(&mut queue)], [Some(10), Some(11)]);
    add_with(&mut queue, Priority::High, &[1]);
    add_with(&mut queue, Priority::Low, &[2]);
    assert_eq!(drain(&mut queue), [1, 12, 2]);
}

fn groups_take_turns_and_a_new_one_joins_behind<M: Mem>() {
    let mut queue = grouped::<M>();
    add(&mut queue, &[101, 102, 103, 201, 202]);
    assert_eq!(take(&mut queue), Some(101));
    add(&mut queue, &[301]);
    assert_eq!(drain(&mut queue), [201, 102, 301, 202, 103]);
}

fn a_group_that_is_added_to_for_ever_does_not_starve_another<M: Mem>() {
    let mut queue = grouped::<M>();
    add(&mut queue, &[101, 201, 202]);
    let mut order = Vec::new();
    for busy in 102..106 {
        order.extend(take(&mut queue));
        add(&mut queue, &[busy]);
    }
    assert_eq!(order, [101, 201, 102, 202]);
}

fn higher_priorities_come_first_and_lower_ones_age<M: Mem>() {
    let mut queue = Queue::<M>::with_discipline(ExponentialBackoff::default(), Lanes::default().with_aging(3), 0);
    add_with(&mut queue, Priority::Low, &[1, 2]);
    add_with(&mut queue, Priority::Normal, &[11, 12, 13, 14, 15, 16, 17, 18]);
    add_with(&mut queue, Priority::Urgent, &[31]);
    assert_eq!(drain(&mut queue), [31, 11, 12, 1, 13, 14, 15, 2, 16, 17, 18]);
}

fn no_priority_starves_whatever_the_others_do<M: Mem>() {
    let mut queue = Queue::<M>::with_discipline(ExponentialBackoff::default(), Lanes::default().with_aging(4), 0);
    let priorities = [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent];
    (0..4).for_each(|key| add_with(&mut queue, priorities[key as usize], &[key]));
    let mut served = [0; 4];
    for _ in 0..1200 {
        let key = take(&mut queue).unwrap();
        add_with(&mut queue, priorities[key as usize], &[key]);
        served[key as usize] += 1;
    }
    assert!(served.is_sorted() && served[3] > 600, "{served:?}");
    assert!(served[0] >= 1200 / (3 * 4 + 4), "{served:?}");
}

/// controller-runtime: the priority of a merged key is the higher one, and raising it puts it behind its equals.
fn a_higher_priority_raises_a_ready_key_and_a_lower_one_does_not<M: Mem>() {
    let mut queue = Queue::<M>::default();
    add_with(&mut queue, Priority::High, &[1, 2]);
    add(&mut queue, &[3, 4]);
    add_with(&mut queue, Priority::High, &[4]);
    add_with(&mut queue, Priority::Low, &[1, 3]);
    assert_eq!((queue.len(), queue.stats().merged), (4, 3));
    assert_eq!(drain(&mut queue), [1, 2, 4, 3]);
}

fn a_retry_keeps_the_priority_until_the_key_is_added_with_another<M: Mem>() {
    let mut queue = Queue::<M>::default().with_while_delayed(WhileDelayed::Promote);
    add_with(&mut queue, Priority::Low, &[1]);
    let job = queue.poll_job().unwrap();
    queue.try_add_rate_limited(Instant::ZERO, 1).ok().unwrap();
    queue.done(job);
    add(&mut queue, &[2]);
    queue.handle_timeout(Instant::ZERO + Duration::from_secs(1));
    add(&mut queue, &[3]);
    assert_eq!(drain(&mut queue), [2, 3, 1], "the retry is as low as the first try");
    add_with(&mut queue, Priority::High, &[1]);
    add(&mut queue, &[4]);
    assert_eq!(drain(&mut queue), [1, 4]);
}

/// And lanes are gone with their keys, or there would be none left for the later ones.
#[test]
fn fixed_memory_has_a_lane_for_each_of_its_keys() {
    let lanes = Lanes::default().with_groups(|key: &u32, mut group| key.hash(&mut group));
    let limiter = ExponentialBackoff::default();
    let mut queue = WorkQueueIn::<u32, _, crate::storage::Fixed<4>, _>::with_discipline(limiter, lanes, 0);
    for first in (0..40).step_by(4) {
        add(&mut queue, &[first, first + 1, first + 2, first + 3]);
        add_with(&mut queue, Priority::High, &[first + 3, first]);
        assert_eq!(drain(&mut queue), [first + 3, first, first + 1, first + 2]);
    }
}
