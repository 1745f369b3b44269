//! How streams share threads with other tasks.

use crate::informers::support::{SOON, resource, widgets, with_informers};
use core::task::{Context, Waker};
use listwatch::decode::MetadataOnly;
use listwatch::informer::Subscription;
use listwatch::time::Instant;
use listwatch::{Clock, Executor, Informers, run};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A few turns of a stream, of 64 events each.
const TURNS: usize = 8 * 64;

#[test]
fn a_subscriber_has_its_turn_after_a_few_turns_of_its_stream() {
    let clock = Clock::simulated();
    let (world, server, _) = widgets(&clock);
    server.with(|inside| (0..5_000).for_each(|n| inside.store.put(Instant::ZERO, &format!("w-{n}"), json!({}))));
    let (informers, executor) = (Informers::new(world), Executor::new());
    let handle = informers.informer_of::<MetadataOnly>(resource());
    let most = Arc::new(AtomicUsize::new(0));
    executor.spawn(informers.run()).detach();
    let (mut told, noted) = (handle.subscribe(Subscription::new()), Arc::clone(&most));
    let follow = async move {
        loop {
            noted.fetch_max(told.backlog(), Ordering::Relaxed);
            told.next().await;
        }
    };
    executor.spawn(follow).detach();
    run(&clock, &executor, clock.sleep(SOON));
    let most = most.load(Ordering::Relaxed);
    assert!(handle.len() > 5_000 && most > 0 && most <= TURNS, "{most} events waited");
}

/// Two places run the streams, and one of them rests.
#[test]
fn a_place_that_is_not_polled_holds_up_no_stream() {
    let clock = Clock::simulated();
    let (world, server, _) = widgets(&clock);
    let informers = Informers::new(world);
    let handle = informers.informer_of::<MetadataOnly>(resource());
    let mut resting = Box::pin(informers.run());
    assert!(resting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    with_informers(&informers, async {
        clock.sleep(SOON).await;
        assert!(resting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        server.with(|inside| inside.store.put(clock.now(), "late", json!({})));
        clock.sleep(SOON).await;
    });
    assert_eq!(handle.len(), 3);
}
