//! Recordings, requests and clients that mean harm.

use crate::command::command;
use crate::serve::child::Program;
use crate::serve::serving::Serving;
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// A recording of lists, each with the milliseconds since it began, its path, its media type and its items.
fn lists(lists: &[(u64, &str, &str, Value)]) -> Scratch {
    let mut lines = vec![json!({ "capture": 1, "started": "2026-11-22T10:00:00Z" })];
    for (id, (t, path, accept, items)) in (1_u64..).zip(lists) {
        let list = json!({ "kind": "PodList", "apiVersion": "v1", "metadata": { "resourceVersion": (8 + id).to_string() },
            "items": items });
        let request = json!({ "method": "GET", "path": path, "headers": { "accept": accept } });
        lines.extend([
            json!({ "t": t, "id": id, "request": request }),
            json!({ "t": t, "id": id, "response": { "status": 200, "headers": { "content-type": "application/json" } } }),
            json!({ "t": t, "id": id, "data": list.to_string() }),
            json!({ "t": t, "id": id, "end": "eof" }),
        ]);
    }
    Scratch::new(lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}

fn pod(status: Value) -> Value {
    let metadata = json!({ "name": "a", "namespace": "web", "resourceVersion": "5" });
    json!({ "kind": "Pod", "apiVersion": "v1", "metadata": metadata, "status": status })
}

fn pods() -> Scratch {
    lists(&[(1, "/api/v1/pods", "application/json", json!([pod(json!({}))]))])
}

#[test]
fn an_escaped_letter_in_a_path_makes_no_recording_writable() {
    let server = Serving::file(pods(), "--at end");
    for path in ["/%61pi/v1/namespaces/web/pods/a", "/api/v1/namespaces/web/pod%73/a", "//api/v1/pods", "/healthz"] {
        assert_eq!(server.send("DELETE", path, "application/json", None).status, 403, "{path}");
    }
    assert_eq!(server.get("/%61pi/v1/namespaces/web/pods/a").status, 200);
}

#[test]
fn an_escaped_path_is_refused_with_what_the_recording_has() {
    let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let server = Serving::file(lists(&[(1, "/api/v1/pods", metadata, json!([pod(json!({}))]))]), "--at end");
    for (path, status) in [("/%61pi/v1/pods", 406), ("/api/v1/%6eodes", 404), ("/api/v1/namespaces/x/status/y", 404)] {
        let refused = server.get(path);
        assert_eq!(refused.status, status, "{path}");
        let message = refused.body["message"].as_str().unwrap();
        assert!(message.starts_with("the recording has "), "{path}: {message}");
    }
}

#[test]
fn an_escaped_letter_in_a_path_lets_no_binary_body_through() {
    let server = Serving::file(pods(), "--at end --writable");
    let request = format!(
        "POST /%61pi/v1/namespaces/web/pods HTTP/1.1\r\nHost: {}\r\nContent-Type: application/vnd.kubernetes.protobuf\r\n\
         Content-Length: 3\r\nConnection: close\r\n\r\nk8s",
        server.address()
    );
    let refused = server.exchange(&request);
    assert!(refused.body["message"].as_str().unwrap().starts_with("this server takes JSON"), "{}", refused.body);
}

/// Divided by the speed, the wait is longer than a `Duration` can be.
#[test]
fn a_wait_that_no_duration_holds_does_not_end_the_server() {
    let list = |t, items| (t, "/api/v1/pods", "application/json", items);
    let file = lists(&[list(1, json!([pod(json!({}))])), list(u64::MAX, json!([]))]);
    let server = Serving::file(file, "--unattended --speed 0.001");
    assert_eq!(server.get("/api/v1/pods").status, 200);
    assert_eq!(server.end_by("-INT"), Some(0));
}

/// The line is to be pasted into a shell.
#[test]
fn only_a_plain_plural_gets_a_line_for_kubectl() {
    for plural in ["pods\u{1b}]0;x\u{7}", "pods;rm", "-h", "Pods"] {
        let file = lists(&[(1, &format!("/apis/x.io/v1/{plural}"), "application/json", json!([]))]);
        let mut command = command(["serve", "--port", "0", "--at", "end"]);
        command.arg(AsRef::<std::path::Path>::as_ref(&file));
        let mut program = Program::start(command);
        program.wait_for_lines(2);
        let (_, lines, _) = program.end_by("-INT");
        let printed = lines.concat();
        assert!(!printed.contains("kubectl") && !printed.contains('\u{1b}'), "{plural:?}: {printed:?}");
    }
}

#[test]
fn the_sum_of_the_restarts_of_a_pod_saturates() {
    let containers = [(); 3].map(|()| json!({ "name": "c", "restartCount": u64::MAX }));
    let status = json!({ "phase": "Running", "containerStatuses": containers });
    let server = Serving::file(lists(&[(1, "/api/v1/pods", "application/json", json!([pod(status)]))]), "--at end");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table = server.send("GET", "/api/v1/pods", table, None).body;
    assert_eq!(table["rows"][0]["cells"][3], json!(u64::MAX.to_string()), "{table}");
}

/// Sends a request, then nothing more, and reads to the end.
fn half_closed(server: &Serving, target: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(crate::serve::child::PATIENCE)).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_half_closed_connection_gets_its_answer() {
    let server = Serving::file(pods(), "--at end");
    let list = half_closed(&server, "/api/v1/pods");
    assert!(list.starts_with("HTTP/1.1 200") && list.contains("PodList"), "{list:?}");
}

/// A watch that nobody reads lets the time of the recording pass.
#[test]
fn a_watch_ends_when_its_client_sends_no_more() {
    let server = Serving::file(pods(), "--at end");
    let watch = half_closed(&server, "/api/v1/pods?watch=1");
    assert!(watch.starts_with("HTTP/1.1 200") && watch.contains("\"ADDED\""), "{watch:?}");
}

#[test]
fn the_greeting_names_twenty_resources_and_counts_the_others() {
    let paths: Vec<String> = (0..25).map(|group| format!("/apis/g{group:02}.io/v1/pods")).collect();
    let resources: Vec<_> = paths.iter().map(|path| (1, path.as_str(), "application/json", json!([]))).collect();
    let server = Serving::file(lists(&resources), "--at end");
    let named = &server.greeting[0];
    assert!(named.ends_with("g18.io/v1/pods, g19.io/v1/pods and 5 more"), "{named}");
    for group in [0, 19, 24] {
        assert_eq!(server.get(&paths[group]).status, 200, "{group}");
    }
}
