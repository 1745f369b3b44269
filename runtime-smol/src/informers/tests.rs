use super::registry::InformerKey;
use super::*;
use crate::api::{ApiFn, ApiRequest, ApiResponse};
use crate::{Executor, run};
use core::any::TypeId;
use core::time::Duration;
use listwatch_core::decode::Raw;
use listwatch_tests::sim::{ApiServer, Feed, Trace};
use std::sync::Mutex;

fn no_client(clock: &Clock) -> Client {
    Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(404, *b"{}"))), clock.clone())
}

/// Informers on a server without pods.
fn informers_of_pods(clock: &Clock) -> Informers {
    let server = ApiServer::new("/api/v1/pods", Trace::new(false));
    Informers::new(World::from_parts(clock.clone(), no_client(clock), move |_| Box::new(Feed::new(&server))))
}

#[test]
fn a_thousand_starts_and_stops_leave_no_task_no_entry_and_no_sleeper() {
    let clock = Clock::simulated();
    let (informers, executor) = (informers_of_pods(&clock), Executor::new());
    let _running = executor.spawn(informers.run());
    run(&clock, &executor, async {
        for round in 0..1_000_u64 {
            let pods = informers.informer_in::<Raw>(Resource::new("/api/v1/pods"), ["a", "b"]);
            // Some before the first poll, some while they list, and some while they watch.
            clock.sleep(Duration::from_millis(round % 7)).await;
            drop(pods);
        }
        clock.sleep(Duration::from_secs(1)).await;
    });
    assert!(informers.0.tasks.is_empty());
    assert!(informers.status().is_empty());
    assert!(format!("{clock:?}").contains("sleepers: 0"), "{clock:?}");
}

#[test]
fn a_stream_that_waits_after_a_panic_is_over_with_the_stop_and_not_with_the_wait() {
    let clock = Clock::simulated();
    let informers = Informers::new(World::from_parts(clock.clone(), no_client(&clock), |_| panic!("no transport")));
    let executor = Executor::new();
    let _running = executor.spawn(informers.run());
    run(&clock, &executor, async {
        let pods = informers.informer_of::<Raw>(Resource::new("/api/v1/pods"));
        clock.sleep(Duration::from_millis(500)).await;
        assert_eq!(pods.streams()[0].panics, 1);
        drop(pods);
        clock.sleep(Duration::from_millis(1)).await;
        assert!(informers.0.tasks.is_empty());
    });
}

#[test]
fn the_end_of_an_informer_does_not_forget_its_successor() {
    let clock = Clock::simulated();
    let registry = Registry::new(World::from_parts(clock.clone(), no_client(&clock), |_| panic!("no transport")), None);
    let (streams, config) = (vec![Resource::new("/api/v1/pods")], InformerConfig::default());
    let key = InformerKey { streams, projection: TypeId::of::<()>(), saved_to: None, config };
    let ask = || registry.informer(&key, || ((), Arc::new([]) as Arc<[_]>));
    // Its last handle is gone, and it has not been forgotten yet.
    drop(ask());
    let successor = ask();
    registry.forget(&key);
    assert!(Arc::ptr_eq(&ask(), &successor));
}

#[test]
fn a_saved_caches_callback_may_end_its_informer_or_panic() {
    let clock = Clock::simulated();
    let (informers, executor) = (informers_of_pods(&clock), Executor::new());
    let _running = executor.spawn(informers.run());
    run(&clock, &executor, async {
        let pods = || Resource::new("/api/v1/pods");
        // Without the name of a server, a problem is told, and no file is touched.
        let handle: Arc<Mutex<Option<InformerHandle<Raw>>>> = Arc::default();
        let last = Arc::clone(&handle);
        let save = SaveTo::new("ends").on_problem(move |_| drop(last.lock().unwrap().take()));
        *handle.lock().unwrap() = Some(informers.informer_saved_to(pods(), save));
        clock.sleep(Duration::from_secs(1)).await;
        assert!(handle.lock().unwrap().is_none() && informers.0.tasks.is_empty());

        let save = SaveTo::new("panics").on_problem(|problem| panic!("{problem}"));
        let [panics, other] = [informers.informer_saved_to::<Raw>(pods(), save), informers.informer_of::<Raw>(pods())];
        clock.sleep(Duration::from_secs(60)).await;
        assert!(panics.has_synced() && other.has_synced());
    });
    // A lock of it was left in the folder of the program.
    assert!(!std::path::Path::new("panics.lock").exists());
}
