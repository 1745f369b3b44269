//! Informers that are started and stopped.

use crate::leftovers::counts::leaves_nothing;
use crate::leftovers::site::{PODS, WIDGETS, half_silent, over_sockets, server, simulated};
use listwatch::decode::MetadataOnly;
use listwatch::{Clock, Executor, Informers, Resource, World, run};
use listwatch_core::Instant;
use listwatch_tests::wait::PATIENCE;
use std::thread;

pub(crate) fn start_and_stop_in_simulated_time() {
    leaves_nothing("informers in simulated time", |_| {
        let (clock, server) = (Clock::simulated(), server());
        start_and_stop(&clock, simulated(&server, &clock));
        assert!(format!("{clock:?}").contains("sleepers: 0"), "{clock:?}");
    });
}

pub(crate) fn start_and_stop_over_sockets() {
    let server = server();
    let cluster = over_sockets(&server);
    leaves_nothing("informers over sockets", |_| {
        start_and_stop(&Clock::real(), World::from(cluster.clone()));
        // So that the server keeps no waker of a watch that is over.
        server.with(|inside| inside.restart(Instant::ZERO, false));
    });
}

/// Two threads run the informers of one handle. Some are dropped while a request has no answer yet, or was not made.
pub(crate) fn start_and_stop_in_two_threads() {
    let informers = Informers::new(half_silent());
    let running = [(); 2].map(|()| {
        let running = informers.run();
        thread::spawn(move || smol::block_on(running))
    });
    leaves_nothing("informers in two threads", |number| {
        let hanging = informers.informer_of::<MetadataOnly>(Resource::new(PODS));
        let widgets = informers.informer_of::<MetadataOnly>(Resource::new(WIDGETS));
        drop(informers.informer_of::<MetadataOnly>(Resource::new(WIDGETS)));
        if number.is_multiple_of(3) {
            smol::block_on(widgets.synced()).unwrap();
            assert_eq!(widgets.len(), 1);
        }
        drop((hanging, widgets));
    });
    assert!(informers.status().is_empty());
    drop(informers);
    running.into_iter().for_each(|running| running.join().unwrap());
}

fn start_and_stop(clock: &Clock, world: World) {
    let (executor, informers) = (Executor::new(), Informers::new(world));
    let running = executor.spawn(informers.run());
    run(clock, &executor, async {
        let widgets = informers.informer_of::<MetadataOnly>(Resource::new(WIDGETS));
        let pods = informers.informer_of::<MetadataOnly>(Resource::new(PODS));
        widgets.synced().within(PATIENCE).await.unwrap();
        pods.synced().within(PATIENCE).await.unwrap();
        assert_eq!((widgets.len(), pods.len()), (4, 0));
        drop((widgets, pods));
        assert!(informers.status().is_empty());
        drop(informers);
        running.await;
    });
    assert!(executor.is_empty());
}
