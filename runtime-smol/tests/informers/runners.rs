//! Several tasks that run the same informers, of which one does not go on.

use crate::informers::support::{Answers, world};
use core::task::{Context, Waker};
use listwatch::controller::{Controller, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::{Clock, Informers, Resource};
use listwatch_tests::wait::PATIENCE;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::Wake;
use std::thread;

fn informers() -> Informers {
    Informers::new(world(&Clock::real(), |_| Answers::list(&["a"])))
}

fn resource(name: &str) -> Resource {
    Resource::new(&format!("/apis/example.com/v1/namespaces/web/{name}"))
}

/// Several, because a wake-up that one runner swallows is the last one.
const OTHERS: [&str; 4] = ["gadgets", "gizmos", "doodads", "trinkets"];

#[track_caller]
fn assert_others_sync(informers: &Informers) {
    for name in OTHERS {
        let handle = informers.informer_of::<MetadataOnly>(resource(name));
        smol::block_on(handle.synced().within(PATIENCE)).unwrap();
        assert_eq!(handle.len(), 1);
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn a_run_that_is_not_polled_holds_up_no_other_run() {
    let informers = informers();
    let mut idle = pin!(informers.run());
    assert!(idle.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let (mut running, woken) = (pin!(informers.run()), Arc::new(Woken(AtomicBool::new(true))));
    let waker = Waker::from(Arc::clone(&woken));
    let mut poll_while_woken = || {
        while woken.0.swap(false, Relaxed) {
            assert!(running.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
    };
    for name in OTHERS {
        poll_while_woken();
        let handle = informers.informer_of::<MetadataOnly>(resource(name));
        poll_while_woken();
        assert!(handle.has_synced(), "{}", handle.streams()[0]);
    }
}

#[test]
fn the_busy_branch_of_a_select_holds_up_no_other_thread() {
    let informers = informers();
    let ((busy, is_busy), (go, goes_on)) = (channel(), channel::<()>());
    let selected = informers.run();
    let selecting = thread::spawn(move || {
        let branch = async move {
            smol::future::yield_now().await;
            busy.send(()).unwrap();
            // Until the test is over.
            let _ = goes_on.recv();
        };
        smol::block_on(smol::future::or(selected, branch));
    });
    is_busy.recv().unwrap();
    let running = informers.run();
    thread::spawn(move || smol::block_on(running));
    assert_others_sync(&informers);
    drop(go);
    selecting.join().unwrap();
}

/// Tells that it was called, and blocks until the test is over.
fn blocks(called: Sender<()>, until: Receiver<()>) -> impl Fn() + Send + Sync + 'static {
    let ends = Mutex::new((called, until));
    move || {
        let (called, until) = &*ends.lock().unwrap();
        let _ = called.send(());
        let _ = until.recv();
    }
}

#[test]
fn a_mapper_that_blocks_its_thread_holds_up_no_other_thread() {
    let informers = informers();
    let ((called, was_called), (go, goes_on)) = (channel(), channel());
    let widgets = informers.informer_of::<MetadataOnly>(resource("widgets"));
    let block = Arc::new(blocks(called, goes_on));
    let blocked = Controller::new("blocked", &informers)
        .reconciles(&widgets)
        .maps(&widgets, move |_, _| block())
        .calls(async |_, _| Ok(Outcome::Done))
        .start()
        .unwrap();
    was_called.recv().unwrap();
    let running = informers.run();
    thread::spawn(move || smol::block_on(running));
    assert_others_sync(&informers);
    drop(go);
    blocked.handle().stop();
    blocked.join().unwrap();
}
