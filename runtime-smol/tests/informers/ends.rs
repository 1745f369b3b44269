//! What is left after an end: nothing.

use crate::informers::support::{Answers, Counts, SOON, no_client, resource, widgets, with_informers, world};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch::decode::{MetadataOnly, Raw};
use listwatch::informer::Subscription;
use listwatch::request::{Request, RequestId};
use listwatch::transport::{Incoming, ListerWatcher, ReadContext};
use listwatch::{Clock, Executor, Informers, World, run};
use listwatch_tests::silent::Silent;
use listwatch_tests::wait::wait_until;
use serde_json::json;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn the_last_drop_closes_a_request_that_hangs_although_nobody_polls_any_more() {
    let clock = Clock::simulated();
    let counts = Counts::default();
    let counted = counts.clone();
    let silent = World::from_parts(clock.clone(), no_client(&clock), move |_| Box::new(counted.count(Silent)));
    let informers = Informers::new(silent);
    let widgets = informers.informer_of::<Raw>(resource());
    with_informers(&informers, clock.sleep(Duration::from_secs(1)));
    assert_eq!(counts.open(), 1, "a dropped `run` leaves the connection to the next one");
    drop(widgets);
    assert_eq!(counts.open(), 0);
}

/// Waits in its first poll until it may go on.
struct Blocks {
    transport: Answers,
    polled: Sender<()>,
    goes_on: Receiver<()>,
}

impl ListerWatcher for Blocks {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.transport.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        // Both ends are gone after the first time.
        let _ = self.polled.send(());
        let _ = self.goes_on.recv();
        self.transport.poll_read(context, buf)
    }

    fn abort(&mut self, id: RequestId) {
        self.transport.abort(id);
    }
}

/// The thread that polls it has it until the poll returns. Nobody else gets it meanwhile.
#[test]
fn whoever_asks_again_while_the_last_poll_of_a_dropped_informer_runs_gets_a_new_one() {
    let clock = Clock::real();
    let ((polled, was_polled), (go, goes_on)) = (channel(), channel());
    let counts = Counts::default();
    let (counted, first) = (counts.clone(), Mutex::new(Some((polled, goes_on))));
    let transports = move |_: &_| -> Box<dyn ListerWatcher + Send> {
        let transport = Answers::list(&["a"]);
        match first.lock().unwrap().take() {
            Some((polled, goes_on)) => Box::new(counted.count(Blocks { transport, polled, goes_on })),
            None => Box::new(counted.count(transport)),
        }
    };
    let informers = Informers::new(World::from_parts(clock.clone(), no_client(&clock), transports));
    let dying = informers.informer_of::<Raw>(resource());
    let blocked = thread::spawn({
        let running = informers.run();
        move || smol::block_on(running)
    });
    was_polled.recv().unwrap();
    let store = dying.store().clone();
    drop(dying);
    let again = informers.informer_of::<Raw>(resource());
    assert_eq!((counts.open(), informers.status().len()), (1, 1), "the one that is polled");
    let second = informers.run();
    smol::block_on(smol::future::or(async { again.synced().await.unwrap() }, second));
    assert_eq!((counts.made(), again.len(), store.len()), (2, 1, 0));
    drop((go, was_polled));
    wait_until(|| counts.open() <= 1);
    drop((again, informers));
    blocked.join().unwrap();
    assert_eq!(counts.open(), 0);
}

#[test]
fn the_run_is_over_when_all_informers_and_handles_are_dropped_and_not_before() {
    let clock = Clock::simulated();
    let (world, _server, counts) = widgets(&clock);
    let informers = Informers::new(world);
    let mut running = pin!(informers.run());
    let mut cx = Context::from_waker(Waker::noop());
    let widgets = informers.informer_of::<Raw>(resource());
    assert!(running.as_mut().poll(&mut cx).is_pending());
    drop(informers);
    assert!(running.as_mut().poll(&mut cx).is_pending());
    assert_eq!(counts.open(), 1, "a handle is left");
    drop(widgets);
    assert!(running.as_mut().poll(&mut cx).is_ready());
    assert_eq!(counts.open(), 0);
}

#[test]
fn dropping_everything_in_any_order_leaves_neither_a_connection_nor_the_world() {
    for order in 0..6 {
        let clock = Clock::simulated();
        let (counts, probe) = (Counts::default(), Arc::new(()));
        let (counted, held) = (counts.clone(), Arc::clone(&probe));
        let world = World::from_parts(clock.clone(), no_client(&clock), move |_| {
            let _of_the_world = &held;
            Box::new(counted.count(Silent))
        });
        let informers = Informers::new(world);
        let handles = (informers.informer_of::<Raw>(resource()), informers.informer_of::<MetadataOnly>(resource()));
        let (executor, running) = (Executor::new(), informers.run());
        let running = executor.spawn(running);
        run(&clock, &executor, clock.sleep(SOON));
        assert_eq!(counts.open(), 2);
        let mut parts: Vec<Option<Box<dyn std::any::Any>>> =
            vec![Some(Box::new(informers)), Some(Box::new(handles)), Some(Box::new((running, executor)))];
        for place in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][order] {
            drop(parts[place].take());
        }
        assert_eq!((counts.open(), Arc::strong_count(&probe)), (0, 1), "order {order}");
    }
}

#[test]
fn a_callback_that_drops_the_last_handle_of_its_own_stream_stops_it() {
    let clock = Clock::simulated();
    let held = Arc::new(Mutex::new(None));
    let dropped = Arc::clone(&held);
    let informers = Informers::with_error_handler(world(&clock, |_| Answers::denied("web")), move |_, _| {
        let last = dropped.lock().unwrap().take();
        drop(last);
    });
    *held.lock().unwrap() = Some(informers.informer_of::<Raw>(resource()));
    with_informers(&informers, clock.sleep(SOON));
    assert!(held.lock().unwrap().is_none() && informers.status().is_empty());
}

#[test]
fn under_simulated_time_each_run_is_the_same() {
    let run = |seed: u64| {
        let clock = Clock::simulated();
        let (world, server, _) = widgets(&clock);
        let informers = Informers::new(world);
        with_informers(&informers, async {
            let mut handles = Vec::new();
            for step in 0..40 {
                let selected = resource().with_label_selector(&format!("step={}", step * seed % 7));
                let handle = informers.informer_of::<Raw>(selected);
                clock.sleep(Duration::from_millis(step * seed % 13)).await;
                server.with(|inside| inside.store.put(clock.now(), "a", json!({ "wanted": step })));
                handles.push(handle);
                if step % 3 == 0 {
                    drop(handles.remove(0));
                }
            }
            clock.sleep(Duration::from_secs(3600)).await;
            assert!(handles.iter().all(|handle| handle.len() == 2));
        });
        server.with(|inside| inside.trace.hash())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(5), "what is compared tells runs apart");
}

#[test]
fn a_subscriber_that_holds_a_stream_back_does_not_hold_back_its_end() {
    let clock = Clock::simulated();
    let (world, server, counts) = widgets(&clock);
    let informers = Informers::new(world);
    let widgets = informers.informer_of::<Raw>(resource());
    let waiting = widgets.subscribe(Subscription::new().wait());
    with_informers(&informers, async {
        widgets.synced().within(SOON).await.unwrap();
        // More than the log has room for.
        for number in 0..3_000 {
            server.with(|inside| inside.store.put(clock.now(), "a", json!({ "wanted": number })));
        }
        clock.sleep(SOON).await;
        assert!(waiting.backlog() > 1_000 && waiting.backlog() < 3_000, "{waiting:?}");
        drop(widgets);
        assert_eq!(counts.open(), 1, "the subscriber is a user");
        drop(waiting);
        assert_eq!(counts.open(), 0);
    });
}
