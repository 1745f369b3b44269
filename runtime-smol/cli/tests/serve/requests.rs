//! Single requests, and the arguments.

use crate::command::{bundled, command, listwatch};
use crate::serve::serving::Serving;
use crate::zipped::{breaking_off, gzip};
use listwatch_tests::scratch::{Scratch, gunzip};
use serde_json::{Value, json};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[test]
fn a_list_has_pages_versions_and_forms() {
    let server = Serving::capture("pods-rollout", "--at 0s");
    let list = server.get("/api/v1/pods").body;
    assert_eq!((list["metadata"]["resourceVersion"].as_str(), names(&list).len()), (Some("724"), 60));
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("PodList"), &json!("v1")));
    let first = server.get("/api/v1/pods?limit=50").body;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = server.get(&format!("/api/v1/pods?limit=50&continue={token}")).body;
    assert_eq!([names(&first), names(&second)].concat(), names(&list));
    let metadata = server.send("GET", "/api/v1/pods", METADATA, None).body;
    assert_eq!(
        (&metadata["kind"], metadata["items"][0]["spec"].is_null()),
        (&json!("PartialObjectMetadataList"), true)
    );
    let table = server.send("GET", "/api/v1/pods?includeObject=Object&limit=1", TABLE, None).body;
    assert_eq!((&table["kind"], table["rows"][0]["object"]["kind"].as_str()), (&json!("Table"), Some("Pod")));
    assert!(table["metadata"]["continue"].is_string());
    let one = server.get(&format!("/api/v1/namespaces/team-0/pods/{}", names(&list)[0])).body;
    assert_eq!(one["kind"], "Pod");
}

#[test]
fn a_version_before_the_recording_or_before_its_gap_has_expired_and_one_after_goes_on() {
    let of = |server: &Serving| server.get("/api/v1/configmaps?limit=1").body["metadata"]["resourceVersion"].clone();
    let (at_end, server) =
        (Serving::capture("gap", "--at end"), Serving::capture("gap", "--unattended --speed 1000000"));
    while of(&server) != of(&at_end) {
        std::thread::yield_now();
    }
    let watch_of = |server: &Serving, version: u64| {
        let target = format!("/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion={version}");
        let answer =
            server.raw(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes());
        let events = answer.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let shown = |event: Value| {
            let version = event["object"]["metadata"]["resourceVersion"].as_str().unwrap_or("-").to_owned();
            format!("{} {version}", event["type"].as_str().unwrap())
        };
        events.filter(Value::is_object).map(shown).collect::<Vec<_>>()
    };
    let watch = |version| watch_of(&server, version);
    assert_eq!(watch(5_541), ["ERROR -"], "before the first list");
    let before = watch(5_587);
    assert_eq!(before, ["DELETED 5588", "ADDED 5589", "ERROR -"], "before the gap");
    assert_eq!(watch(5_709).first().map(String::as_str), Some("ADDED 5710"), "after the gap");
    assert_eq!(watch_of(&at_end, 5_709), ["ERROR -"], "before the moment at which the cluster begins");
}

#[test]
fn a_moment_is_a_time_a_date_or_the_end() {
    let version = |options: &str| {
        let server = Serving::capture("pods-rollout", options);
        server.get("/api/v1/pods?limit=1").body["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    };
    assert_eq!(version("--at 0s"), "724");
    assert_eq!(version("--at end"), "2447");
    let at_twelve = version("--at 12s");
    // The capture has no date: its first objects have, and they are not newer than the beginning.
    for date in ["2026-11-20T10:42:06Z", "2026-11-20T10:42:06", "10:42:06"] {
        assert_eq!(version(&format!("--at {date}")), at_twelve, "{date}");
    }
    let outside = listwatch(&format!("serve {} --at 41s", bundled("pods-rollout.jsonl.gz").display()));
    assert!(outside.error(2).contains("--at is outside of the recording, which lasts 40.14 s, from "), "{outside:?}");
}

#[test]
fn a_request_for_another_server_or_of_a_page_is_refused() {
    let server = Serving::capture("gap", "--at end");
    let ask =
        |headers: &str| server.exchange(&format!("GET /api HTTP/1.1\r\n{headers}Connection: close\r\n\r\n")).status;
    assert_eq!(ask("Host: localhost\r\n"), 200);
    assert_eq!(ask("Host: example.com\r\n"), 403, "DNS rebinding");
    assert_eq!(ask("Host: localhost\r\nOrigin: http://example.com\r\n"), 403);
    assert_eq!(ask(&format!("Host: localhost\r\nX: {}\r\n", "x".repeat(70_000))), 431);
    let large = format!(
        "POST /api/v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n{}",
        "x".repeat(4_000_000)
    );
    assert!(server.raw(large.as_bytes()).starts_with("HTTP/1.1 413"));
}

#[test]
fn a_file_that_was_cut_is_served_up_to_there_and_says_so() {
    let whole = gunzip(&bundled("gap.jsonl.gz"));
    let lines: Vec<&str> = whole.lines().collect();
    let cut = Scratch::new(format!("{}\n{}", lines[..60].join("\n"), &lines[60][..20]));
    let mut server = Serving::file(&cut, "--at end");
    assert_eq!(server.get("/api/v1/configmaps").status, 200);
    let complaint = server.complaint();
    assert!(complaint.contains(":61: the line breaks off") && complaint.ends_with("served up to there"), "{complaint}");
}

#[test]
fn a_saved_list_is_of_the_newest_date_in_it_or_a_later_one_that_is_asked_for() {
    let pod = json!({ "kind": "Pod", "apiVersion": "v1", "metadata": { "name": "a", "namespace": "d", "resourceVersion": "5" },
        "status": { "containerStatuses": [{ "lastState": { "terminated": { "finishedAt": "2020-11-22T01:55:00Z" } } }] } });
    let node = json!({ "kind": "Node", "apiVersion": "v1", "metadata": { "name": "n", "resourceVersion": "6",
        "creationTimestamp": "2020-10-01T00:00:00Z" } });
    for items in [json!([pod, node]), json!([node, pod])] {
        let list = Scratch::new(json!({ "kind": "List", "apiVersion": "v1", "items": items }).to_string());
        let greeting = |options: &str| Serving::file(&list, options).greeting[1].clone();
        assert!(greeting("").contains("(2020-11-22T01:55:00Z)"), "{}", greeting(""));
        for moment in ["2020-11-22T02:00", "02:00"] {
            assert!(greeting(&format!("--at {moment}")).contains("(2020-11-22T02:00:00Z)"), "{moment}");
        }
        let early = listwatch(&format!("serve {} --at 2020-11-22T01:54:00Z", list.as_ref().display()));
        assert!(early.error(2).contains("--at is outside of the recording"), "{early:?}");
    }
}

#[test]
fn metadata_is_served_as_the_resource_that_is_named() {
    let log = Scratch::new(
        r#"{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"5"}}}"#,
    );
    let unnamed = listwatch(&format!("serve {}", log.as_ref().display()));
    assert!(unnamed.error(1).ends_with("; or give --resource NAME, such as v1/pods"), "{unnamed:?}");
    let server = Serving::file(&log, "--resource po");
    assert!(server.greeting[0].ends_with(": v1/pods"), "{}", server.greeting[0]);
    assert_eq!(server.get("/api/v1/pods").status, 406);
}

#[test]
fn a_moment_behind_a_cut_is_refused_with_the_fault() {
    let whole = gunzip(&bundled("gap.jsonl.gz"));
    let lines: Vec<&str> = whole.lines().take(61).collect();
    let garbled = format!("{}\n{}", lines[..60].join("\n"), &lines[60][..20]);
    let zipped = breaking_off(lines.join("\n") + "\n");
    for (bytes, fault) in
        [(garbled.into_bytes(), ":61: the line breaks off"), (zipped, ": the gzip data breaks off at byte ")]
    {
        let cut = Scratch::new(bytes);
        let run = listwatch(&format!("serve {} --at 10h", cut.as_ref().display()));
        let fault = format!(", where it is cut: {}{fault}", cut.as_ref().display());
        assert!(run.error(2).contains(&fault), "{run:?}");
    }
}

#[test]
fn zipped_data_cut_behind_a_whole_line_is_served_and_reported() {
    let whole = gunzip(&bundled("gap.jsonl.gz"));
    let lines: Vec<&str> = whole.lines().take(60).collect();
    let cut = Scratch::new(breaking_off(lines.join("\n") + "\n"));
    let mut server = Serving::file(&cut, "--at end");
    assert_eq!(server.get("/api/v1/configmaps").status, 200);
    let complaint = server.complaint();
    assert!(
        complaint.contains("the gzip data breaks off at byte ") && complaint.ends_with("served up to there"),
        "{complaint}"
    );
    let nothing = Scratch::new(breaking_off(format!("{}\n", lines[0])));
    let run = listwatch(&format!("serve {}", nothing.as_ref().display()));
    let error = run.error(1);
    assert!(error.contains("neither a whole list nor a watch before the gzip data breaks off at byte "), "{error}");
}

/// The reading may take long, and nobody has asked the server anything.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_the_reading_of_a_recording_at_once() {
    // Many blank lines in few bytes, which take long to read.
    let blank = gzip(vec![b'\n'; 1 << 20]).repeat(500);
    let file = Scratch::new([gzip(gunzip(&bundled("gap.jsonl.gz"))), blank].concat());
    let mut command = command(["serve", "--port", "0", "--at", "end"]);
    command.arg(file.as_ref()).stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let path = file.as_ref().canonicalize().unwrap();
    let files = format!("/proc/{}/fd", child.id());
    let is_reading = || {
        let mut open = std::fs::read_dir(&files).unwrap().filter_map(|file| file.ok()?.path().read_link().ok());
        open.any(|open| open == path)
    };
    while !is_reading() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended");
    }
    assert!(std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let signal = std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap());
    assert_eq!(signal, Some(15), "it ended by itself");
}

/// The port is taken, so that no server starts.
#[test]
fn an_unattended_time_that_stands_still_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let serve = format!("serve {} --at 0s --unattended --port {port}", bundled("gap.jsonl.gz").display());
    assert!(listwatch(&serve).error(2).ends_with("; give --speed too, or leave out --unattended"));
    let passes = listwatch(&format!("{serve} --speed 1"));
    assert!(passes.error(1).contains(" is in use; "), "{passes:?}");
}

#[test]
fn head_is_answered_as_get_and_options_by_405() {
    let server = Serving::capture("gap", "--at end");
    let ask = |method: &str, target: &str| {
        let request = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = server.raw(request.as_bytes()).to_ascii_lowercase();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    };
    for target in ["/healthz", "/api", "/api/v1/configmaps"] {
        let length = |head: &str| head.lines().find(|line| line.starts_with("content-length: ")).map(str::to_owned);
        let ((whole, _), (head, body)) = (ask("GET", target), ask("HEAD", target));
        assert!(head.starts_with("http/1.1 200"), "{head}");
        assert_eq!((length(&head), &*body), (length(&whole), ""), "{target}");
        assert!(length(&head).is_some(), "{head}");
    }
    let (head, body) = ask("HEAD", "/api/v1/configmaps?watch=1");
    assert!(head.starts_with("http/1.1 200") && body.is_empty(), "{head}");
    for method in ["OPTIONS", "TRACE"] {
        let (head, body) = ask(method, "/api/v1/configmaps");
        assert!(head.starts_with("http/1.1 405") && head.contains("allow: get, head"), "{head}");
        assert!(body.contains("methodnotallowed"), "{body}");
    }
}

#[test]
fn a_request_with_two_hosts_is_a_bad_request() {
    let server = Serving::capture("gap", "--at end");
    for hosts in [["localhost", "example.com"], ["example.com", "localhost"], ["localhost", "localhost"]] {
        let [one, other] = hosts;
        let request = format!("GET /api HTTP/1.1\r\nHost: {one}\r\nHost: {other}\r\nConnection: close\r\n\r\n");
        assert_eq!(server.exchange(&request).status, 400, "{hosts:?}");
    }
}

#[test]
fn a_malformed_body_is_a_bad_request() {
    let server = Serving::capture("gap", "--at end");
    let chunked = "POST /api HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    let answer = server.exchange(chunked);
    assert_eq!((answer.status, answer.body), (400, json!("the body of the request is malformed\n")));
}

#[test]
fn metadata_that_was_recorded_alone_is_served_alone() {
    let recorded = gunzip(&bundled("gap.jsonl.gz"))
        .replace("\"Accept\":\"application/json\"", &format!("\"Accept\":{METADATA:?}"));
    let recorded = recorded.replace("\"Accept\": \"application/json\"", &format!("\"Accept\":{METADATA:?}"));
    let server = Serving::file(Scratch::new(recorded), "--at end");
    let refused = server.get("/api/v1/configmaps");
    assert_eq!(refused.status, 406);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.starts_with("the recording has the metadata of v1/configmaps alone"), "{message}");
    assert_eq!(server.send("GET", "/api/v1/configmaps", METADATA, None).status, 200);
    assert_eq!(server.send("GET", "/api/v1/configmaps", TABLE, None).status, 200);
}

#[test]
fn a_saved_list_and_a_watch_log_are_clusters_too() {
    let pod = |name: &str, version: u64| {
        json!({ "kind": "Pod", "apiVersion": "v1",
            "metadata": { "name": name, "namespace": "web", "resourceVersion": version.to_string() } })
    };
    let saved = json!({ "kind": "List", "apiVersion": "v1", "items": [pod("a", 7)] });
    let list = Scratch::new(saved.to_string());
    assert_eq!(names(&Serving::file(&list, "").get("/api/v1/pods").body), ["a"]);
    let event = |kind: &str, object: Value| json!({ "type": kind, "object": object }).to_string();
    let log = [event("ADDED", pod("a", 7)), event("ADDED", pod("b", 8)), event("DELETED", pod("a", 9))].join("\n");
    let log = Scratch::new(log);
    assert_eq!(names(&Serving::file(&log, "--at 0s").get("/api/v1/pods").body), ["a", "b"]);
    assert_eq!(names(&Serving::file(&log, "--at end").get("/api/v1/pods").body), ["b"]);
}

#[test]
fn a_port_that_is_taken_is_one_clear_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let run = listwatch(&format!("serve {} --port {port}", bundled("gap.jsonl.gz").display()));
    assert_eq!(run.error(1), format!("127.0.0.1:{port} is in use; give another --port, or 0 for any that is free"));
}

#[test]
fn the_greeting_names_the_moment_that_is_asked_for() {
    let server = Serving::capture("pods-rollout", "--at 1500ms");
    assert!(server.greeting[1].starts_with("at 1.5 s ("), "{:?}", server.greeting);
    assert_eq!(server.end_by("-INT"), Some(0));
}

#[test]
fn the_greeting_says_what_is_served_and_how_it_is_read() {
    let server = Serving::capture("pods-rollout", "--speed 10");
    let [what, when, blank, line] = &server.greeting[..] else { panic!("{:?}", server.greeting) };
    assert!(what.ends_with(&format!("pods-rollout.jsonl.gz at {}: v1/pods", server.url)), "{what}");
    assert!(when.ends_with("time passes while a client watches, 10 times as fast, up to 40.14 s"), "{when}");
    assert_eq!((blank.as_str(), line.as_str()), ("", &*format!("  kubectl -s {} get pods -A --watch", server.url)));
    assert_eq!(server.end_by("-INT"), Some(0));
}
