//! Against a function.

use crate::controller::{Controller, WIDGETS, is_settled};
use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest};
use listwatch::time::Instant;
use listwatch::{Client, Clock};
use listwatch_tests::sim::{ApiServer, Feed, Trace};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_function_that_panics_now_and_then_fails_one_call_and_the_key_is_retried() {
    let clock = Clock::simulated();
    let server = ApiServer::new(WIDGETS, Trace::new(false));
    server.with(|inside| inside.store.put(Instant::ZERO, "a", json!({ "wanted": 1 })));
    let (asked, answers) = (AtomicU32::new(0), server.clone());
    let client = Client::new(
        ApiFn::new(move |request: &ApiRequest| {
            assert!(asked.fetch_add(1, Ordering::Relaxed) != 1, "the second call panics");
            Ok(answers.with(|inside| inside.store.handle(Instant::ZERO, request)))
        }),
        clock.clone(),
    );
    let entries = Controller::new(&clock, client).run(Feed::new(&server), clock.sleep(Duration::from_secs(60)));
    let said: Vec<_> = entries.iter().map(|(_, _, said)| *said).collect();
    assert_eq!(said[..2], ["panicked", "done"]);
    assert!(server.with(|inside| inside.store.objects().all(|(_, widget)| is_settled(widget))));
}
