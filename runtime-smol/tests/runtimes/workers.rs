//! Workers as one future: what its output says, and what dropping it ends.

use crate::runtimes::bare::block_on;
use core::pin::pin;
use core::task::{Context, Waker};
use core::time::Duration;
use listwatch::SharedWorkQueue;
use listwatch::time::Instant;
use listwatch::{Clock, Executor, Outcome, Workers, run};
use std::sync::Arc;

type Queue = Arc<SharedWorkQueue<u32>>;

fn queue() -> Queue {
    Arc::new(SharedWorkQueue::default())
}

#[test]
fn workers_that_were_never_polled_take_no_key() {
    let queue = queue();
    queue.add(7);
    drop(Workers::run(&queue, &Clock::real(), 2, |_| async { Outcome::Done }));
    queue.shut_down();
    assert_eq!(queue.len(), 1);
}

#[test]
fn workers_whose_future_is_dropped_drop_their_reconciles_and_give_the_keys_back() {
    let (queue, held) = (queue(), Arc::new(()));
    let holds = Arc::clone(&held);
    queue.add(7);
    {
        let workers = Workers::run(&queue, &Clock::real(), 2, move |_| {
            let held = Arc::clone(&holds);
            async move {
                core::future::pending::<()>().await;
                drop(held);
                Outcome::Done
            }
        });
        let mut workers = pin!(workers);
        assert!(workers.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        queue.shut_down();
        assert!(!queue.is_drained(), "a reconcile has the key");
    }
    assert_eq!(Arc::strong_count(&held), 1);
    assert!(queue.is_drained());
}

#[test]
fn a_drain_ends_the_future_at_its_deadline_and_names_the_keys_whose_reconcile_was_dropped() {
    let (clock, queue) = (Clock::simulated(), queue());
    let workers = Workers::run(&queue, &clock, 2, |key| async move {
        if key == 7 {
            core::future::pending::<()>().await;
        }
        Outcome::Done
    });
    queue.add(7);
    queue.add(8);
    queue.shut_down_with_drain(clock.now(), Duration::from_secs(10));
    let ended = run(&clock, &Executor::new(), workers);
    assert_eq!((ended.dropped, ended.blocked), (vec![7], vec![]));
    assert_eq!(clock.now(), Instant::ZERO + Duration::from_secs(10));
}

#[test]
fn workers_share_a_queue_with_those_of_another_future() {
    let queue = queue();
    let workers = || Workers::run(&queue, &Clock::real(), 1, |_| async { Outcome::Done });
    (0..100).for_each(|key| queue.add(key));
    queue.shut_down();
    let (one, other) = block_on(smol::future::zip(workers(), workers()));
    assert!(one.dropped.is_empty() && other.dropped.is_empty() && queue.is_drained());
    assert_eq!(queue.stats().adds, 100);
}
