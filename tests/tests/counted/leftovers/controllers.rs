//! Controllers that are started, reconcile and write, and are stopped or dropped.

use crate::leftovers::counts::leaves_nothing;
use crate::leftovers::site::{PODS, WIDGETS, over_sockets, server, simulated};
use core::time::Duration;
use listwatch::api::Api;
use listwatch::controller::{Controller, Outcome, Running};
use listwatch::decode::MetadataOnly;
use listwatch::{Clock, Executor, InformerHandle, Informers, Key, Resource, World, run};
use listwatch_core::Instant;
use listwatch_tests::wait::{PATIENCE, wait_until};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn start_and_stop_in_simulated_time() {
    leaves_nothing("controllers in simulated time", |number| {
        let (clock, server, executor) = (Clock::simulated(), server(), Executor::new());
        let ((told, tell), held) = (channel(), Arc::new(()));
        let controller = controller(simulated(&server, &clock), &held, told);
        let handle = controller.handle();
        let controller = executor.spawn(controller.future());
        run(&clock, &executor, async {
            let mut waited = 0;
            while waited < 4 {
                clock.sleep(Duration::from_millis(1)).await;
                waited += tell.try_iter().count();
            }
            // One half of them is stopped, the other half dropped.
            if number % 2 == 0 {
                handle.stop();
                assert!(controller.await.is_err(), "one reconcile never resolves");
            }
        });
        drop(executor);
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(format!("{clock:?}").contains("sleepers: 0"), "{clock:?}");
    });
}

pub(crate) fn start_and_stop_over_sockets() {
    let server = server();
    let cluster = over_sockets(&server);
    leaves_nothing("controllers over sockets", |number| {
        let ((told, tell), held) = (channel(), Arc::new(()));
        let started = controller(World::from(cluster.clone()), &held, told).start().unwrap();
        (0..4).for_each(|_| tell.recv_timeout(PATIENCE).unwrap());
        if number % 2 == 0 {
            started.handle().stop();
            assert!(started.join().is_err(), "one reconcile never resolves");
        } else {
            drop(started);
        }
        // A drop waits for the threads, but not for ever.
        wait_until(|| Arc::strong_count(&held) == 1);
        // So that the server keeps no waker of a watch that is over.
        server.with(|inside| inside.restart(Instant::ZERO, false));
    });
}

/// A controller that has a key in each state there is: done after a write, delayed, failed, and with a reconcile that never
/// resolves. It tells of each, and holds `held`.
fn controller(world: World, held: &Arc<()>, told: Sender<()>) -> Running<'static> {
    let informers = Informers::new(world);
    let widgets: InformerHandle<MetadataOnly> = informers.informer_of(Resource::new(WIDGETS)).with_kind("Widget");
    let pods: InformerHandle<MetadataOnly> = informers.informer_of(Resource::new(PODS));
    let controller = Controller::new("leftovers", &informers).reconciles(&widgets).owns(&pods);
    let controller =
        controller.workers(4).threads(2).drain(Duration::ZERO).deadline(HOUR).every(HOUR).on_report(|_, _| {});
    let held = Arc::clone(held);
    controller.calls(async move |cx, key: Key| {
        let (_held, told) = (Arc::clone(&held), told.clone());
        match key.name() {
            "a" => {
                let pod = json!({ "metadata": { "name": key.name() } });
                let create = Api::<Value>::new(&Resource::new(PODS)).create(&pod);
                let created = cx.write(&pods, create).await;
                _ = told.send(());
                assert!(created.is_ok() || created.is_err_and(|error| error.is_already_exists()));
                Ok(Outcome::Done)
            }
            "b" => {
                _ = told.send(());
                Ok(Outcome::RequeueAfter(HOUR))
            }
            "c" => {
                _ = told.send(());
                Err("on purpose".parse::<u64>().unwrap_err().into())
            }
            _ => {
                _ = told.send(());
                std::future::pending().await
            }
        }
    })
}
