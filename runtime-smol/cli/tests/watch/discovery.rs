//! Resources by the names that kubectl knows.

use crate::command::{Run, listwatch, reported};
use crate::notifications::Notifications;
use crate::watch::following::{EVENTS, Following, until_it_complains};
use crate::watch::server::{Answer, Server, refusal};
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// The time after which a wait has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A version of a group, and of each of its resources plural, singular, short name, whether it is namespaced and watched.
type Group = (&'static str, &'static str, &'static [(&'static str, &'static str, &'static str, bool, bool)]);

const CORE: &[Group] = &[(
    "",
    "v1",
    &[
        ("pods", "pod", "po", true, true),
        ("nodes", "node", "no", false, true),
        ("bindings", "binding", "", true, false),
    ],
)];

const NAMED: &[Group] = &[
    ("apps", "v1", &[("deployments", "deployment", "deploy", true, true)]),
    ("cert-manager.io", "v1", &[("certificates", "certificate", "cert", true, true)]),
    ("other.io", "v1", &[("certificates", "certificate", "cert", true, true)]),
];

fn resource(&(plural, singular, short, namespaced, watched): &(&str, &str, &str, bool, bool)) -> Value {
    let verbs: &[&str] = if watched { &["get", "list", "watch"] } else { &["create"] };
    json!({
        "resource": plural,
        "singularResource": singular,
        "responseKind": { "kind": singular },
        "shortNames": [short],
        "scope": if namespaced { "Namespaced" } else { "Cluster" },
        "verbs": verbs,
    })
}

/// The aggregated form, all in one answer.
fn groups(groups: &[Group]) -> Answer {
    let group = |(name, version, resources): &Group| {
        let resources: Vec<Value> = resources.iter().map(resource).collect();
        json!({ "metadata": { "name": name }, "versions": [{ "version": version, "resources": resources }] })
    };
    let items: Vec<Value> = groups.iter().map(group).collect();
    let list = json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items });
    Answer::json(200, list.to_string())
}

/// A server that has one object of each resource, named after the path of its collection.
fn server() -> Server {
    Server::of(answer)
}

pub(crate) fn answer(path: &str) -> Answer {
    match path.split_once('?').unwrap_or((path, "")) {
        ("/api", _) => groups(CORE),
        ("/apis", _) => groups(NAMED),
        (_, query) if query.contains("watch=") => Answer::Silence,
        (path, _) => {
            let name = path.trim_start_matches('/').replace('/', ".");
            let item = json!({ "metadata": { "name": name, "resourceVersion": "1" } });
            let list =
                json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "1" }, "items": [item] });
            Answer::json(200, list.to_string())
        }
    }
}

fn watch(server: &Server, resource: &str) -> Run {
    listwatch(&format!("watch {resource} --server {} --for 2m", server.url))
}

#[test]
fn a_name_that_kubectl_knows_finds_its_resource() {
    let server = server();
    for (resource, path) in [
        ("pods", "api.v1.pods"),
        ("po -n web", "api.v1.namespaces.web.pods"),
        ("Node", "api.v1.nodes"),
        ("deploy", "apis.apps.v1.deployments"),
        ("deployments.apps", "apis.apps.v1.deployments"),
        ("deployments.v1.apps", "apis.apps.v1.deployments"),
        ("certificates", "apis.cert-manager.io.v1.certificates"),
        ("certificates.other.io", "apis.other.io.v1.certificates"),
    ] {
        let arguments = format!("watch {resource} --no-watch-list {EVENTS} --server {}", server.url);
        let mut following = Following::start(arguments.split_whitespace());
        following.read_lines(1);
        let told = Notifications::read(&following.end_by("-INT").output());
        assert_eq!(told.by_key.keys().collect::<Vec<_>>(), [path], "{resource}");
    }
}

#[test]
fn the_namespace_of_the_context_is_watched_where_there_are_namespaces() {
    let server = server();
    let config = Scratch::new(format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c, namespace: web}}}}]\n\
         clusters: [{{name: c, cluster: {{server: '{}'}}}}]\n",
        server.url
    ));
    for (resource, path) in [
        ("pods", "api.v1.namespaces.web.pods"),
        ("v1/pods", "api.v1.namespaces.web.pods"),
        ("pods -n other", "api.v1.namespaces.other.pods"),
        ("v1/pods -A", "api.v1.pods"),
        ("nodes", "api.v1.nodes"),
        ("v1/nodes", "api.v1.nodes"),
    ] {
        let arguments = format!("watch {resource} --no-watch-list {EVENTS} --kubeconfig {}", config.as_ref().display());
        let mut following = Following::start(arguments.split_whitespace());
        following.read_lines(1);
        let told = Notifications::read(&following.end_by("-INT").output());
        assert_eq!(told.by_key.keys().collect::<Vec<_>>(), [path], "{resource}");
    }
}

#[test]
fn who_may_not_read_all_namespaces_is_told_how_to_read_one() {
    let server = Server::of(|_| refusal(403, "Forbidden", "pods is forbidden: at the cluster scope"));
    let error =
        |options: &str| listwatch(&format!("watch v1/pods {options} --server {}", server.url)).error(1).to_owned();
    assert!(error("").contains("; if it has namespaces, -n NAMESPACE follows one; "), "{}", error(""));
    assert!(!error("-n web").contains("NAMESPACE"), "{}", error("-n web"));
}

#[test]
fn a_name_with_its_version_needs_no_discovery() {
    let server = Server::of_pods(1);
    let arguments = format!("watch v1/pods --no-watch-list {EVENTS} --server {}", server.url);
    let mut following = Following::start(arguments.split_whitespace());
    following.read_lines(1);
    following.end_by("-INT").output();
    let asked = server.heads();
    assert!(!asked.is_empty() && asked.iter().all(|head| head.starts_with("GET /api/v1/pods?")), "{asked:?}");
}

#[test]
fn a_name_that_nothing_has_is_told_with_what_may_be_meant() {
    let server = server();
    let similar = watch(&server, "deploymnets");
    assert_eq!(similar.error(1), "the server has no resource `deploymnets` (did you mean apps/v1/deployments?)");
    let group = watch(&server, "pods.apps");
    assert_eq!(group.error(1), "the server has no resource `pods.apps` (did you mean v1/pods?)");
    let strange = watch(&server, "unicorns");
    assert!(
        strange.error(1).ends_with("`unicorns` (`kubectl api-resources` lists its resources)"),
        "{}",
        strange.stderr
    );
}

#[test]
fn a_full_name_that_the_server_does_not_have_is_told_with_what_may_be_meant() {
    let server = Server::of(|path| match path.split('?').next().unwrap_or(path) {
        "/api" | "/apis" => answer(path),
        _ => refusal(404, "NotFound", "the server could not find the requested resource"),
    });
    for name in ["apps/v2/deployments", "v1/deployments", "apps/v1/deploymens"] {
        let expected = format!("the server has no resource `{name}` (did you mean apps/v1/deployments?)");
        assert_eq!(watch(&server, name).error(1), expected);
    }
    // The server has it, and still answers that it has not.
    let known = watch(&server, "apps/v1/deployments");
    assert!(known.error(1).contains("could not find the requested resource"), "{known:?}");
}

#[test]
fn what_cannot_be_watched_or_has_no_namespace_is_told() {
    let server = server();
    assert!(watch(&server, "bindings").error(1).starts_with("v1/bindings cannot be watched: "));
    assert_eq!(watch(&server, "nodes -n web").error(1), "v1/nodes have no namespace; leave out --namespace");
}

#[test]
fn a_server_that_does_not_say_what_it_has_is_told_with_a_way_around() {
    let refusing = Server::of(|_| refusal(403, "Forbidden", "User me cannot get path"));
    let unknown = Server::of(|_| refusal(401, "Unauthorized", "Unauthorized"));
    let page = Server::of(|_| Answer::Whole(200, "text/html", "<html>Please log in</html>".into()));
    for (url, says) in [
        (&refusing.url, "User me cannot get path"),
        (&unknown.url, "Unauthorized"),
        (&page.url, "the response cannot be decoded"),
        (&Server::nowhere().replace("http:", "ftp:"), "address"),
    ] {
        let run = listwatch(&format!("watch pods --server {url} --for 2m"));
        let error = run.error(if url.starts_with("ftp:") { 2 } else { 1 });
        assert!(error.contains(says), "{error}");
        if !url.starts_with("ftp:") {
            assert!(error.starts_with("cannot discover `pods`: "), "{error}");
            assert!(
                error.ends_with(
                    "; to retry all the same, give --keep-trying; a name such as v1/pods needs no discovery"
                )
            );
        }
    }
}

/// The run reports each failure and the time of the next attempt, ever less often, and at its end that it has no state.
#[track_caller]
fn assert_tried_again(run: &Run, says: &str) {
    assert_eq!((run.status, &*run.stdout), (Some(1), ""), "{}", run.stderr);
    let [first, .., last] = run.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", run.stderr) };
    let first = reported(first);
    assert!(first.starts_with("cannot discover `pods`: ") && first.contains(says), "{first}");
    assert!(first.contains("failing: ") && first.contains(", 1 attempt, next in "), "{first}");
    assert!(last.starts_with("listwatch: ended before the first state was complete: failing"), "{last}");
}

#[test]
fn a_server_that_cannot_be_reached_is_asked_again_for_its_resources() {
    let run = until_it_complains(&format!("watch pods --server {}", Server::nowhere()));
    assert_tried_again(&run, "connection refused");
    let (closing, asked) = telling(|| Answer::Nothing);
    let following = Following::start(["watch", "pods", "--server", &closing.url]);
    // One attempt may take two connections, and the last may still be under way.
    for _ in 0..5 {
        asked.recv_timeout(PATIENCE).unwrap();
    }
    let run = following.end_by("-INT");
    assert_tried_again(&run, "connection broken");
    let last = run.stderr.lines().last().unwrap();
    assert!(!last.contains(" 1 attempt,"), "{last}");
}

/// A server that answers every request alike, and announces each.
fn telling(answer: fn() -> Answer) -> (Server, Receiver<()>) {
    let (sender, asked) = mpsc::channel();
    let server = Server::of(move |_| {
        // A test that has seen enough drops the receiver.
        let _ = sender.send(());
        answer()
    });
    (server, asked)
}

#[test]
fn a_refusal_to_say_what_there_is_is_not_the_end_for_who_keeps_trying() {
    let refusing = Server::of(|_| refusal(403, "Forbidden", "User me cannot get path"));
    let run = until_it_complains(&format!("watch pods --server {} --keep-trying", refusing.url));
    assert_tried_again(&run, "User me cannot get path");
}

/// Twice of each, at most.
#[test]
fn a_server_that_is_too_busy_to_say_what_it_has_is_asked_again() {
    let (url, asked) = (server().url, AtomicU32::new(0));
    let busy = Server::of(move |path| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => refusal(429, "TooManyRequests", "come later"),
        2 => refusal(503, "ServiceUnavailable", "not yet"),
        _ if path.contains("watch=") => Answer::Silence,
        _ => Answer::json(200, fetched(&url, path)),
    });
    let arguments = format!("watch deploy --no-watch-list {EVENTS} --server {}", busy.url);
    let mut following = Following::start(arguments.split_whitespace());
    following.read_lines(1);
    let run = following.end_by("-INT");
    let told: Vec<&str> = run.stderr.lines().collect();
    let [busy, recovered, not_yet, again] = told[..] else { panic!("{told:?}") };
    assert!(busy.contains("come later") && not_yet.contains("not yet"), "{told:?}");
    assert_eq!([recovered, again].map(reported), ["recovered: the server answers"; 2]);
    assert!(Notifications::read(&run.stdout).by_key.contains_key("apis.apps.v1.deployments"));
}

/// A server that starts does not know its custom resources for a while.
#[test]
fn a_resource_that_a_starting_server_lacks_is_looked_for_again() {
    let (url, asked) = (server().url, AtomicU32::new(0));
    let awaking = Server::of(move |path| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => refusal(503, "ServiceUnavailable", "not yet"),
        _ if path.contains("watch=") => Answer::Silence,
        2 => groups(&NAMED[..1]),
        _ => Answer::json(200, fetched(&url, path)),
    });
    let arguments = format!("watch cert --no-watch-list {EVENTS} --server {}", awaking.url);
    let mut following = Following::start(arguments.split_whitespace());
    following.read_lines(1);
    let run = following.end_by("-INT");
    assert!(
        run.stderr.contains("no resource `cert` (") && run.stderr.contains("; the server may have it later"),
        "{}",
        run.stderr
    );
    assert!(Notifications::read(&run.stdout).by_key.contains_key("apis.cert-manager.io.v1.certificates"));
}

#[test]
fn who_keeps_trying_waits_for_a_resource_that_is_not_there_yet() {
    let run = until_it_complains(&format!("watch unicorns --keep-trying --server {}", server().url));
    assert!(
        run.stderr.contains("no resource `unicorns` (") && run.stderr.contains("; the server may have it later"),
        "{}",
        run.stderr
    );
}

/// The answer of another server.
fn fetched(url: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    connection.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    let answer = std::io::read_to_string(connection).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_discovery_at_a_silent_server() {
    let (silent, asked) = telling(|| Answer::Silence);
    let following = Following::start(["watch", "pods", "--server", &silent.url]);
    asked.recv_timeout(PATIENCE).unwrap();
    let run = following.end_by("-INT");
    assert_eq!(run.error(1), "ended before the first state was complete: discovering `pods`");
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "another process keeps its own time")]
fn an_end_during_discovery_ends_the_credential_plugin_too() {
    let number = Scratch::path(".pid");
    let script = format!("echo $$ > '{}'; exec sleep 600 2>/dev/null", number.as_ref().display());
    let exec = format!(
        "{{apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: [-c, \"{script}\"], interactiveMode: Never}}"
    );
    let file = Scratch::new(format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: '{}'}}}}]\nusers: [{{name: u, user: {{exec: {exec}}}}}]\n",
        Server::nowhere()
    ));
    let following =
        Following::start(["watch", "pods", "--credentials-over-http", "--kubeconfig", file.as_ref().to_str().unwrap()]);
    let plugin = (0..600).find_map(|_| {
        std::thread::sleep(Duration::from_millis(200));
        std::fs::read_to_string(&number).ok().filter(|number| number.ends_with('\n'))
    });
    let plugin = plugin.unwrap();
    following.end_by("-INT");
    let is_there =
        || std::process::Command::new("kill").args(["-0", plugin.trim()]).stderr(std::process::Stdio::null()).status();
    let gone = (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(200));
        !is_there().unwrap().success()
    });
    assert!(gone, "process {plugin} goes on");
}

/// A CRD is deleted, and comes back without the version that is followed.
#[test]
fn a_name_is_resolved_anew_once_its_resource_is_not_found() {
    const V1: &[Group] = &[("demo.io", "v1", &[("foos", "foo", "", true, true)])];
    const V2: &[Group] = &[("demo.io", "v2", &[("foos", "foo", "", true, true)])];
    let asked = AtomicU32::new(0);
    let server = Server::of(move |path| {
        let is_back = asked.load(Ordering::SeqCst) > 2;
        match path.split_once('?').unwrap_or((path, "")) {
            ("/api", _) => groups(CORE),
            ("/apis", _) => groups(if is_back { V2 } else { V1 }),
            ("/apis/demo.io/v1/foos", _) if asked.fetch_add(1, Ordering::SeqCst) > 0 => refusal(404, "NotFound", "no"),
            _ => answer(path),
        }
    });
    let arguments = format!("watch foos --no-watch-list {EVENTS} --server {}", server.url);
    let mut following = Following::start(arguments.split_whitespace());
    following.read_lines(3);
    let run = following.end_by("-INT");
    let told = Notifications::read(&run.stdout);
    let keys: Vec<_> = told.by_key.keys().map(String::as_str).collect();
    assert_eq!(keys, ["apis.demo.io.v1.foos", "apis.demo.io.v2.foos"]);
    assert!(run.stderr.contains("the server has it at /apis/demo.io/v2/foos now"), "{}", run.stderr);
}
