//! What each path answers.

use crate::endpoint::client::{asked, get};
use crate::endpoint::program::{map, program};
use core::time::Duration;
use listwatch::testing::Fault;
use listwatch_tests::wait::wait_until;
use serde_json::Value;

#[test]
fn a_program_is_ready_when_its_stores_have_synced_and_says_which_has_not() {
    program(
        |builder| builder,
        |scene| async move {
            for request in ["WATCH /api/v1/configmaps", "LIST /api/v1/configmaps"] {
                (0..3).for_each(|_| scene.cluster.fail_next(request, Fault::Refused(503)).unwrap());
            }
            scene.pass(Duration::from_millis(200)).await;
            let early = get(scene.address, "/readyz");
            assert_eq!(early.status, 503);
            assert!(early.body.starts_with("not ready\nconfigmaps: "), "{}", early.body);
            assert!(early.body.contains("503"), "it says why: {}", early.body);
            assert_eq!(get(scene.address, "/healthz").body, "healthy\n");
            scene.pass(Duration::from_secs(120)).await;
            // An answer is kept for a second of real time.
            wait_until(|| get(scene.address, "/readyz").status == 200);
            assert_eq!(get(scene.address, "/readyz").body, "ready\n");
        },
    );
}

#[test]
fn the_state_of_streams_queues_keys_and_elections_is_json_and_a_page() {
    program(
        |builder| builder,
        |scene| async move {
            let names = ["good", "slow", "parked", "panics", "bad<script>"];
            names.iter().for_each(|name| drop(scene.cluster.create(map(name))));
            (0..150).for_each(|number| drop(scene.cluster.create(map(&format!("bad-{number}")))));
            scene.pass(Duration::from_secs(8)).await;
            let debug = get(scene.address, "/debug/listwatch?format=json");
            let value: Value = serde_json::from_str(&debug.body).unwrap();
            assert_eq!(value["ready"], true);
            assert_eq!(value["informers"][0]["name"], "configmaps");
            assert_eq!(value["informers"][0]["state"], "synced");
            let controller = &value["controllers"][0];
            assert_eq!(controller["name"], "maps<1>");
            assert_eq!(controller["lifecycle"], "running");
            assert_eq!(controller["sources"][0]["synced"], true);
            assert_eq!(controller["election"]["leads"], true);
            assert_eq!(controller["election"]["leader"], "pod-1");
            assert!(controller["reconciles"]["panics"].as_u64() > Some(2), "{controller}");
            let keys = &controller["keys"];
            let running = &keys["running"];
            assert_eq!((&running["count"], &running["keys"][0]["key"]), (&1.into(), &"web/slow".into()));
            let known: u64 = keys.as_object().unwrap().values().filter_map(|group| group["count"].as_u64()).sum();
            assert_eq!(known, 153, "all but the good one: {keys}");
            assert_eq!(keys["backingOff"]["keys"].as_array().unwrap().len(), 100, "the first hundred");
            assert!(keys["backingOff"]["keys"][0]["inSeconds"].as_f64() > Some(0.0));

            let page = asked(scene.address, "/debug/listwatch", "Accept: text/html\r\n");
            assert!(page.head.contains("content-type: text/html; charset=utf-8"), "{}", page.head);
            assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
            assert!(page.body.contains("maps&lt;1&gt;") && !page.body.contains("<script"), "{}", page.body);
            assert!(page.body.contains("<td>web/slow</td>"), "{}", page.body);
            for text in [&debug.body, &page.body, &get(scene.address, "/metrics").body] {
                for secret in ["the object's body", "a message of a panic", "an error of a reconcile"] {
                    assert!(!text.contains(secret), "{secret}: {text}");
                }
            }
        },
    );
}

#[test]
fn a_key_that_is_tried_no_more_is_named() {
    program(
        |builder| builder,
        |scene| async move {
            scene.cluster.create(map("parked")).unwrap();
            scene.pass(Duration::from_secs(3600)).await;
            let value: Value = serde_json::from_str(&get(scene.address, "/debug/listwatch?format=json").body).unwrap();
            let parked = &value["controllers"][0]["keys"]["parked"];
            assert_eq!((parked["count"].as_u64(), parked["keys"][0]["key"].as_str()), (Some(1), Some("web/parked")));
        },
    );
}

#[test]
fn metrics_have_the_form_that_a_scraper_accepts() {
    program(
        |builder| builder,
        |scene| async move {
            scene.cluster.create(map("good")).unwrap();
            scene.pass(Duration::from_secs(10)).await;
            let classic = get(scene.address, "/metrics");
            assert!(
                classic.head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"),
                "{}",
                classic.head
            );
            assert!(classic.body.contains("# TYPE controller_runtime_reconcile_total counter\n"), "{}", classic.body);
            assert!(!classic.body.contains("# EOF"));
            let accept = "Accept: application/openmetrics-text;version=1.0.0;q=0.6,text/plain;q=0.3\r\n";
            let open = asked(scene.address, "/metrics", accept);
            assert!(open.head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{}", open.head);
            assert!(open.body.ends_with("# EOF\n"));
            let series = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
            assert_eq!(series(&classic.body), series(&open.body));
        },
    );
}

#[test]
fn other_paths_are_not_found_and_name_those_that_are() {
    program(
        |builder| builder,
        |scene| async move {
            scene.pass(Duration::from_secs(10)).await;
            let missing = get(scene.address, "/debug/pprof/");
            assert_eq!(missing.status, 404);
            assert!(missing.body.contains("/debug/listwatch\n"));
            assert_eq!(get(scene.address, "/").status, 200);
        },
    );
}
