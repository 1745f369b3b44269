use super::*;
use crate::api::{ApiFn, ApiRequest, ApiResponse};
use crate::{Executor, run};
use core::time::Duration;
use listwatch_core::decode::Raw;
use listwatch_tests::sim::{ApiServer, Feed, Trace};

#[test]
fn a_thousand_starts_and_stops_leave_no_task_no_entry_and_no_sleeper() {
    let clock = Clock::simulated();
    let server = ApiServer::new("/api/v1/pods", Trace::new(false));
    let client = Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(404, *b"{}"))), clock.clone());
    let world = World::from_parts(clock.clone(), client, move |_| Box::new(Feed::new(&server)));
    let (informers, executor) = (Informers::new(world), Executor::new());
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
    assert!(informers.0.executor.is_empty(), "{:?}", informers.0.executor);
    assert!(informers.status().is_empty());
    assert!(format!("{clock:?}").contains("sleepers: 0"), "{clock:?}");
}
