//! A controller whose server hangs, over the loopback interface.

use crate::reconcilers::support::FOOS;
use core::time::Duration;
use listwatch::api::Api;
use listwatch::controller::{Controller, ControllerHandle, Outcome, RunError};
use listwatch::decode::MetadataOnly;
use listwatch::http::Cluster;
use listwatch::time::Instant;
use listwatch::{Informers, Key, Resource, World};
use listwatch_tests::sim::{ApiServer, Trace, serve};
use listwatch_tests::wait::wait_until;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Only so long that both reconciles are under way: the drain waits for it.
const GRACE: Duration = Duration::from_millis(50);

#[test]
fn a_drain_over_real_sockets_drops_a_request_that_hangs_and_a_reconcile_that_never_resolves() {
    for threads in [1, 4] {
        let server = ApiServer::new(FOOS, Trace::new(false));
        server.with(|inside| {
            ["hangs", "rests"].iter().for_each(|name| inside.store.put(Instant::ZERO, name, json!({})));
        });
        let informers = Informers::new(World::from(Cluster::at(&serve(&server)).unwrap()));
        let foos = informers.informer_of::<MetadataOnly>(Resource::new(FOOS));
        let (begun, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let controller = Controller::new("hanging", &informers).reconciles(&foos);
        let controller = controller.workers(8).threads(threads).drain(GRACE).on_report(|_, _| {});
        let handle = ControllerHandle::default();
        let ended = controller.keys(&handle).run(async |cx, key: Key| {
            let _running = Running::begin(&running);
            if key.name() == "hangs" {
                // From now on single requests get no answer.
                server.with(|inside| inside.hangs = true);
                let hangs = Api::<Value>::new(&Resource::new(FOOS)).get(key.name()).with_timeout(Duration::MAX);
                let call = cx.call(hangs);
                stop_with_both(&begun, &handle);
                call.await?;
            } else {
                stop_with_both(&begun, &handle);
                std::future::pending::<()>().await;
            }
            Ok(Outcome::Done)
        });
        let Err(RunError::NotDrained { dropped, blocked, .. }) = ended else { panic!("{ended:?}") };
        // On a busy machine, a thread may not get to drop its reconcile in time.
        let mut left = [dropped, blocked].concat();
        left.sort();
        assert_eq!(left, ["web/hangs", "web/rests"].map(Key::from));
        wait_until(|| running.load(Ordering::SeqCst) == 0);
    }
}

/// Ends the controller when both keys are under way.
fn stop_with_both(begun: &AtomicUsize, handle: &ControllerHandle) {
    if begun.fetch_add(1, Ordering::SeqCst) == 1 {
        handle.stop();
    }
}

/// A reconcile, until it is dropped.
struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
