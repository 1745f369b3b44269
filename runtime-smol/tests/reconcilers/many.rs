//! A hundred thousand keys.

use crate::reconcilers::support::{FOOS, Stage};
use core::time::Duration;
use listwatch::controller::{ControllerHandle, Outcome};
use listwatch::time::Instant;
use listwatch::{Clock, Key};
use listwatch_tests::sim::Troubles;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

const KEYS: usize = 100_000;
const WORKERS: usize = 8;
/// What ends a test in which a key is missing. No test waits for it.
const HANGS: Duration = Duration::from_secs(300);

/// Once for the first list; and once more for all that is added meanwhile.
#[test]
fn each_of_a_hundred_thousand_keys_is_reconciled_as_often_as_promised_on_one_thread_and_on_four() {
    for threads in [1, 4] {
        let (stage, handle) = (Stage::with(Clock::real(), Troubles::NONE), ControllerHandle::default());
        stage.server.with(|inside| {
            (0..KEYS).for_each(|n| inside.store.put(Instant::ZERO, &format!("{FOOS}/foo-{n}"), json!({})));
        });
        let times: Vec<AtomicU8> = (0..KEYS).map(|_| AtomicU8::new(0)).collect();
        let (all, busy, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let (ended, ends) = channel::<()>();
        let (watchdog, hangs) = (handle.clone(), Arc::new(AtomicBool::new(false)));
        let hung = hangs.clone();
        thread::spawn(move || {
            if ends.recv_timeout(HANGS) == Err(RecvTimeoutError::Timeout) {
                hung.store(true, Ordering::SeqCst);
                watchdog.stop();
            }
        });
        let controller = stage.controller().workers(WORKERS).threads(threads).keys(&handle);
        let result = controller.run(async |_cx, key: Key| {
            most.fetch_max(1 + busy.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            // The first wait for each other: the machine may run one thread long before the next.
            while most.load(Ordering::SeqCst) < WORKERS && !hangs.load(Ordering::SeqCst) {
                smol::future::yield_now().await;
            }
            let number: usize = key.name()["foo-".len()..].parse()?;
            if times[number].fetch_add(1, Ordering::SeqCst) == 0 {
                (0..3).for_each(|_| assert!(handle.add(key.clone())));
                // The others of this thread go on meanwhile.
                smol::future::yield_now().await;
            }
            busy.fetch_sub(1, Ordering::SeqCst);
            if all.fetch_add(1, Ordering::SeqCst) + 1 == 2 * KEYS {
                handle.stop();
            }
            Ok(Outcome::Done)
        });
        drop(ended);
        assert_eq!(result, Ok(()));
        let others = times.iter().filter(|times| times.load(Ordering::SeqCst) != 2).count();
        assert_eq!((others, all.load(Ordering::SeqCst)), (0, 2 * KEYS), "{threads} threads");
        assert_eq!(most.load(Ordering::SeqCst), WORKERS);
    }
}
