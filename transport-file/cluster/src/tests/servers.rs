//! Several API servers, whose watch caches are behind.

use super::*;
use crate::client::ClusterClient;
use core::task::Poll;
use listwatch_core::Resource;
use listwatch_core::api::{Api, ApiResponse, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::ReadContext;

const INITIAL: &str = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

fn time(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Pods `a` and `b`, which are made at 0 and 5 s, and server 1, which is ten seconds behind.
fn late() -> (SimulatedCluster, SimulatedCluster) {
    let cluster = SimulatedCluster::new();
    cluster.lag_server(1, Lag::Time(Duration::from_secs(10)));
    for (millis, name) in [(0, "a"), (5_000, "b")] {
        assert_eq!(send_at(&cluster, millis, &format!("POST {PODS}"), &named(name)).0, 201);
    }
    let behind = cluster.at_servers(&[1]);
    (cluster, behind)
}

/// The status, the names and the version of a list.
fn listed(cluster: &SimulatedCluster, millis: u64, query: &str) -> (u16, String, String) {
    let (code, list) = send_at(cluster, millis, &format!("GET {PODS}?{query}"), &Value::Null);
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let names = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    (code, names, list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned())
}

/// Types and names that a watch tells at a time.
fn told_at(watch: &mut WatchStream, millis: u64) -> Vec<String> {
    let mut bytes = Vec::new();
    watch.poll(time(millis), &Context::from_waker(Waker::noop()), &mut bytes);
    let events = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>().map(|event| event.expect("JSON"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |object: &Value| match object["code"].as_u64() {
        Some(code) => code.to_string(),
        None => text(&object["metadata"]["name"]),
    };
    events.map(|event| format!("{} {}", text(&event["type"]), name(&event["object"]))).collect()
}

fn watch_at(cluster: &SimulatedCluster, millis: u64, query: &str) -> WatchStream {
    let target = format!("{PODS}?{query}");
    let call = Call { method: "GET", target: &target, accept: "", content_type: "", body: b"" };
    cluster.handle(time(millis), &call).watch.expect("a watch")
}

/// When the request of a client is answered, which leaves at 12 s, and how.
fn answered(mut client: ClusterClient, query: &[(&'static str, &str)]) -> (Instant, ApiResponse) {
    let pods = Api::<Value>::new(&Resource::named("v1/pods").expect("a name").in_namespace("web")).list();
    let call = pods.map_request(|mut request| {
        request.query.extend(query.iter().map(|(name, value)| (*name, (*value).to_owned())));
        request
    });
    let id = RequestId(1);
    client.open(id, call.request().expect("a request"));
    let mut now = time(12_000);
    loop {
        let mut cx = Context::from_waker(Waker::noop());
        match client.poll_response(id, ReadContext { cx: &mut cx, now, max_wait: None }) {
            Poll::Ready(Reply::Answered(answer)) => return (now, answer),
            Poll::Ready(Reply::Idle { until: Some(until) }) => now = until,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn reads_with_version_0_show_the_cache_of_a_server_and_those_without_a_version_what_is_stored() {
    let (cluster, behind) = late();
    assert_eq!(listed(&behind, 12_000, "resourceVersion=0"), (200, "a".into(), "2".into()));
    assert_eq!(listed(&cluster, 12_000, "resourceVersion=0"), (200, "ab".into(), "3".into()), "the first server");
    assert_eq!(listed(&behind, 12_000, ""), (200, "ab".into(), "3".into()));
    let get = |query: &str| send_at(&behind, 12_000, &format!("GET {PODS}/b{query}"), &Value::Null).0;
    assert_eq!((get(""), get("?resourceVersion=0"), get("?resourceVersion=3")), (200, 404, 504));
    assert_eq!(listed(&behind, 15_000, "resourceVersion=0"), (200, "ab".into(), "3".into()), "ten seconds after `b`");
}

#[test]
fn a_write_through_a_server_that_lags_is_of_the_newest_version() {
    let (cluster, behind) = late();
    let pod = |version: &str| {
        json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "b", "namespace": "web", "resourceVersion": version, "labels": { "x": "y" } } })
    };
    let put = |version| send_at(&behind, 12_000, &format!("PUT {PODS}/b"), &pod(version)).0;
    assert_eq!((put("2"), put("3")), (409, 200));
    assert_eq!(cluster.get("v1/pods", "web/b").expect("there")["metadata"]["labels"]["x"], "y");
}

#[test]
fn a_server_lags_by_a_number_of_changes() {
    let (cluster, behind) = late();
    cluster.lag_server(1, Lag::Changes(1));
    assert_eq!(listed(&behind, 60_000, "resourceVersion=0").1, "a");
    let mut watch = watch_at(&behind, 60_000, "watch=1&resourceVersion=2");
    assert_eq!(told_at(&mut watch, 60_000), [""; 0]);
    send_at(&cluster, 60_000, &format!("DELETE {PODS}/a"), &Value::Null);
    assert_eq!(told_at(&mut watch, 60_000), ["ADDED b"]);
    assert_eq!(listed(&behind, 60_000, "resourceVersion=0"), (200, "ab".into(), "3".into()));
}

#[test]
fn a_watch_without_a_version_begins_with_the_cache_and_catches_up() {
    let (_, behind) = late();
    let mut watch = watch_at(&behind, 12_000, "watch=1");
    assert_eq!(told_at(&mut watch, 14_999), ["ADDED a"]);
    assert_eq!(told_at(&mut watch, 15_000), ["ADDED b"]);
}

#[test]
fn a_watch_from_a_version_that_the_cache_lacks_is_held_until_it_has_it() {
    let (cluster, behind) = late();
    let mut watch = watch_at(&behind, 5_000, "watch=1&resourceVersion=3&allowWatchBookmarks=true&timeoutSeconds=300");
    cluster.lag_server(1, Lag::Time(Duration::from_secs(100)));
    send_at(&cluster, 12_000, &format!("DELETE {PODS}/a"), &Value::Null);
    assert_eq!(told_at(&mut watch, 104_999), [""; 0], "nor is a bookmark of it told");
    assert_eq!(told_at(&mut watch, 112_000), ["DELETED a"]);
    assert_eq!(told_at(&mut watch, 165_000), ["BOOKMARK "]);
    let mut future = watch_at(&behind, 165_000, "watch=1&resourceVersion=5");
    for name in ["a", "c"] {
        send_at(&cluster, 165_000, &format!("DELETE {PODS}/b"), &Value::Null);
        send_at(&cluster, 165_000, &format!("POST {PODS}"), &named(name));
    }
    assert_eq!(told_at(&mut future, 300_000), ["ADDED a", "ADDED c"], "not of the deletion in version 5");
}

#[test]
fn a_watch_from_a_forgotten_version_ends_on_a_server_that_lags_too() {
    let (cluster, behind) = late();
    cluster.compact();
    assert_eq!(told_at(&mut watch_at(&behind, 5_000, "watch=1&resourceVersion=2"), 5_000), ["ERROR 410"]);
}

#[test]
fn a_list_of_a_version_that_the_cache_lacks_waits_three_seconds_and_is_refused() {
    let (cluster, behind) = late();
    let asked = [("resourceVersion", "3"), ("resourceVersionMatch", "NotOlderThan")];
    let (at, answer) = answered(behind.client(), &asked);
    assert_eq!((at, answer.status), (time(15_001), 200), "the cache has it at 15 s");
    cluster.lag_server(1, Lag::Time(Duration::from_secs(60)));
    let (at, answer) = answered(behind.client(), &asked);
    assert_eq!((at, answer.status), (time(15_002), 504));
    let status: Value = serde_json::from_slice(&answer.body).expect("a status");
    assert_eq!(status["message"], "Timeout: Too large resource version: 3, current: 1");
    assert_eq!(status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert_eq!(status["details"]["retryAfterSeconds"], 1);
    let (at, answer) = answered(cluster.client(), &asked);
    assert_eq!((at, answer.status), (time(12_002), 200), "the first server does not wait");
}

#[test]
fn a_list_without_a_version_waits_for_the_cache_and_is_up_to_date() {
    let (cluster, behind) = late();
    cluster.lag_server(1, Lag::Time(Duration::from_secs(9)));
    let names = |answer: &ApiResponse| {
        let list: Value = serde_json::from_slice(&answer.body).expect("a list");
        list["items"].as_array().map_or(0, Vec::len)
    };
    let (at, answer) = answered(behind.client(), &[]);
    assert_eq!((at, names(&answer)), (time(14_001), 2), "the cache has it at 14 s");
    cluster.lag_server(1, Lag::Time(Duration::from_secs(60)));
    let (at, answer) = answered(behind.client(), &[]);
    assert_eq!((at, names(&answer)), (time(15_002), 2), "etcd answers");
    let (at, answer) = answered(behind.client(), &[("resourceVersion", "0")]);
    assert_eq!((at, names(&answer)), (time(12_002), 0), "any state does not wait");
}

#[test]
fn a_watch_list_waits_for_the_newest_version_and_ends_by_an_error_after_three_seconds() {
    for query in ["", "&resourceVersion=3"] {
        let behind = late().1;
        let mut watch = watch_at(&behind, 11_500, &format!("{INITIAL}{query}"));
        assert_eq!(told_at(&mut watch, 14_499), [""; 0]);
        assert_eq!(told_at(&mut watch, 14_500), ["ERROR 504"]);
    }
    let behind = late().1;
    let mut any = watch_at(&behind, 12_500, &format!("{INITIAL}&resourceVersion=0"));
    assert_eq!(told_at(&mut any, 12_500), ["ADDED a", "BOOKMARK "]);
    let mut watch = watch_at(&behind, 12_500, INITIAL);
    assert_eq!(told_at(&mut watch, 14_999), [""; 0]);
    assert_eq!(told_at(&mut watch, 15_000), ["ADDED a", "ADDED b", "BOOKMARK "]);
}

#[test]
fn a_server_that_lags_no_more_wakes_its_watches() {
    let (cluster, behind) = late();
    let mut watch = watch_at(&behind, 12_000, "watch=1&resourceVersion=2");
    let woken = Arc::new(Woken::default());
    watch.poll(time(12_000), &Context::from_waker(&Waker::from(Arc::clone(&woken))), &mut Vec::new());
    cluster.lag_server(1, None);
    assert!(woken.0.load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!(told_at(&mut watch, 12_000), ["ADDED b"]);
}

#[test]
fn a_client_reaches_the_next_of_its_servers_after_each_break() {
    let (cluster, _) = late();
    let both = cluster.at_servers(&[0, 1]);
    let names = || listed(&both, 12_000, "resourceVersion=0").1;
    let first = names();
    cluster.disconnect();
    let second = names();
    cluster.disconnect();
    assert_eq!([first, second, names()], ["ab", "a", "ab"]);
}
