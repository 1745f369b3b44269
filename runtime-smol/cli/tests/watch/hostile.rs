//! Servers, kubeconfigs and arguments that do harm.

use crate::command::{Run, command, reported, run};
use crate::inert::{HOSTILE, UNTOLD, assert_none, trouble};
use crate::watch::errors::kubeconfig;
use crate::watch::following::{EVENTS, Following};
use crate::watch::server::{Answer, Server};
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;

fn ended(arguments: &[&str]) -> Run {
    run(command(arguments.iter().chain(&["--for", "2m"])))
}

/// As a flow scalar of YAML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A status as an API server words it.
fn status(code: u16, reason: &str) -> Value {
    json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": HOSTILE })
}

#[test]
fn an_argument_of_watch_never_reaches_the_terminal_raw() {
    let nowhere = Server::nowhere();
    let whole = kubeconfig(&format!("server: '{nowhere}'"), "");
    let whole = whole.as_ref().to_str().unwrap();
    let (url, path) = (format!("http://{HOSTILE}"), format!("/none/{HOSTILE}"));
    let unknown = Server::of(|_| Answer::json(200, r#"{"kind":"APIGroupDiscoveryList","items":[]}"#));
    let named = format!("v1/{HOSTILE}");
    let cases: [&[&str]; 5] = [
        &["watch", "v1/pods", "--kubeconfig", &path],
        &["watch", "v1/pods", "--kubeconfig", whole, "--context", HOSTILE],
        &["watch", &named, "--server", &nowhere],
        &["watch", HOSTILE, "--server", &unknown.url],
        &["record", "v1/pods", "--server", &nowhere, "-o", &path],
    ];
    assert_none(cases.iter().filter_map(|arguments| trouble(&ended(arguments), &format!("{arguments:?}"))));
    assert_none(trouble(&ended(&["watch", "v1/pods", "--server", &url]), UNTOLD));
}

#[test]
fn text_of_a_kubeconfig_never_reaches_the_terminal_raw() {
    let (good, bad) = (format!("server: '{}'", Server::nowhere()), quoted(HOSTILE));
    let file = quoted(&format!("/none/{HOSTILE}"));
    let cases = [
        (format!("server: {}", quoted(&format!("http://{HOSTILE}"))), String::new()),
        (format!("server: {bad}"), String::new()),
        (format!("{good}, proxy-url: {bad}"), String::new()),
        (format!("{good}, certificate-authority: {file}").replace("http:", "https:"), String::new()),
        (good.clone(), format!("tokenFile: {file}")),
        (
            good.clone(),
            format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: {file}, interactiveMode: Never}}"),
        ),
        (good.clone(), format!("exec: {{apiVersion: {bad}, command: x}}")),
        (good, format!("{bad}: [")),
    ];
    let runs = cases.iter().map(|(cluster, user)| {
        let config = kubeconfig(cluster, user);
        (
            cluster,
            user,
            ended(&["watch", "v1/pods", "--credentials-over-http", "--kubeconfig", config.as_ref().to_str().unwrap()]),
        )
    });
    // Of some entries, and of what is no YAML, nothing is quoted: it may be a secret.
    assert_none(runs.filter_map(|(cluster, user, run)| trouble(&run, &format!("{UNTOLD} {cluster} {user}"))));
}

/// A server of which one answer is hostile, and how it is asked.
fn answers() -> Vec<(&'static str, &'static str, Server)> {
    let refused = || Answer::json(403, status(403, HOSTILE).to_string());
    let page = || Answer::Whole(403, "text/html", HOSTILE.into());
    let headers = || Answer::Whole(200, "a\u{1b}[2J\u{9b}31m\u{202e}", "x".into());
    let discovered = || {
        let kind = json!({ "resource": HOSTILE, "singularResource": HOSTILE, "responseKind": { "kind": HOSTILE },
            "scope": "Namespaced", "verbs": ["create"] });
        let group = json!({ "metadata": { "name": "" }, "versions": [{ "version": "v1", "resources": [kind] }] });
        let list = json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [group] });
        Answer::json(200, list.to_string())
    };
    vec![
        ("a reason and a message", "v1/pods", Server::of(move |_| refused())),
        ("untold page", "v1/pods", Server::of(move |_| page())),
        ("what a discovery is refused with", "pods", Server::of(move |_| refused())),
        ("a kind", HOSTILE, Server::of(move |_| discovered())),
        ("untold header", "v1/pods", Server::of(move |_| headers())),
    ]
}

#[test]
fn text_of_a_server_never_reaches_the_terminal_raw() {
    let runs = answers().into_iter().map(|(field, resource, server)| {
        let mut following = Following::start(["watch", resource, "--no-watch-list", "--server", &server.url]);
        following.read_complaint();
        (field, following.end_if_it_goes_on_by("-INT"))
    });
    assert_none(runs.filter_map(|(field, run)| trouble(&run, field)));
}

/// A server that lists these items, and then tells these events.
fn telling(items: &[Value], events: Vec<String>) -> Server {
    let list = json!({ "kind": "PodList", "metadata": { "resourceVersion": "9" }, "items": items }).to_string();
    Server::of(move |path| match path.contains("watch=") {
        true => {
            let events = events.concat();
            Answer::Stream(Box::new(move |mut connection| {
                let chunk = format!("{:x}\r\n{events}\r\n", events.len());
                let _gone = connection.write_all(chunk.as_bytes());
                let _until_it_goes_away = std::io::Read::read(&mut connection, &mut [0]);
            }))
        }
        false => Answer::json(200, list.clone()),
    })
}

#[test]
fn objects_of_a_server_never_reach_the_terminal_raw() {
    let object = json!({ "metadata": { "name": HOSTILE, "namespace": HOSTILE, "resourceVersion": HOSTILE } });
    let added = json!({ "type": "ADDED", "object": { "metadata": { "name": "last", "resourceVersion": "10" } } });
    let bad = json!({ "type": "ADDED", "object": { "metadata": { "name": HOSTILE, "labels": 7 } } });
    let server = telling(&[object], vec![format!("{bad}\n"), format!("{added}\n")]);
    for (options, lines) in [("--print events", 3), (EVENTS, 2)] {
        let arguments = format!("watch v1/pods --no-watch-list --server {} {options}", server.url);
        let mut following = Following::start(arguments.split(' '));
        following.read_lines(lines);
        assert_none(trouble(&following.end_by("-INT"), options));
    }
    let file = Scratch::path(HOSTILE);
    let options = ["record", "v1/pods", "--no-watch-list", "--print", "store", "--server", &server.url, "-o"];
    let mut arguments: Vec<OsString> = options.map(OsString::from).into();
    arguments.push(file.as_ref().into());
    let mut following = Following::start(arguments);
    following.read_complaint();
    assert_none(trouble(&following.end_by("-INT"), "record"));
}

#[test]
fn ten_undecodable_events_are_told_and_the_others_counted() {
    let bad = |number: usize| json!({ "type": "ADDED", "object": { "metadata": { "name": format!("bad-{number}"), "labels": 7 } } });
    let good = json!({ "type": "ADDED", "object": { "metadata": { "name": "good", "resourceVersion": "10" } } });
    let events = (0..1_000).map(bad).chain([good]).map(|event| format!("{event}\n")).collect();
    let server = telling(&[], events);
    let mut following =
        Following::start(format!("watch v1/pods --no-watch-list --server {} {EVENTS}", server.url).split(' '));
    following.read_lines(1);
    let run = following.end_by("-INT");
    assert_eq!((run.status, run.stderr.lines().count()), (Some(0), 11), "{}", run.stderr.len());
    let first = "v1/pods: not in the cache, or as it was before: bad-0: `metadata.labels` does not fit: invalid type: \
                 integer `7`, expected a map of strings; 1 object so far";
    assert_eq!(reported(run.stderr.lines().next().unwrap()), first);
    let last = run.stderr.lines().last().unwrap();
    assert_eq!(last, "listwatch: v1/pods: 990 more objects could not be decoded");
}

#[test]
fn a_message_of_a_megabyte_is_cut() {
    let server = Server::of(|_| {
        let long = "x".repeat(1 << 20);
        Answer::json(403, json!({ "kind": "Status", "code": 403, "reason": long, "message": long }).to_string())
    });
    for name in ["v1/pods", "pods"] {
        let run = ended(&["watch", name, "--server", &server.url]);
        assert!(run.status == Some(1) && run.stderr.len() < 5_000, "{} bytes", run.stderr.len());
        assert!(run.stderr.contains('…') && run.error(1).contains("--keep-trying"), "{}", run.stderr);
    }
}
