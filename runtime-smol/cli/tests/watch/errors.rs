//! Errors before and while a resource is followed: one line names the place and the remedy.

use crate::command::{Run, command, listwatch, reported, run};
use crate::watch::following::until_it_complains;
use crate::watch::server::{Answer, Server, refusal};
use listwatch_tests::scratch::Scratch;

/// A credential that no error may show.
const TOKEN: &str = "hunter2";

/// A kubeconfig of one context, `here`, with these entries of its cluster and its user.
pub(crate) fn kubeconfig(cluster: &str, user: &str) -> Scratch {
    Scratch::new(format!(
        "{{current-context: here, clusters: [{{name: c, cluster: {{{cluster}}}}}], users: [{{name: u, user: {{{user}}}}}], \
         contexts: [{{name: here, context: {{cluster: c, user: u}}}}]}}\n"
    ))
}

fn arguments(kubeconfig: &Scratch, options: &str) -> String {
    format!("watch v1/pods --credentials-over-http --kubeconfig {} {options}", kubeconfig.as_ref().display())
}

fn watch_with(kubeconfig: &Scratch, options: &str) -> Run {
    listwatch(&arguments(kubeconfig, options))
}

/// The one line of a run that failed, with all of these words in it.
#[track_caller]
fn assert_refused(run: &Run, says: &[&str]) {
    assert_refused_with(1, run, says);
}

#[track_caller]
fn assert_refused_with(status: i32, run: &Run, says: &[&str]) {
    let error = run.error(status);
    assert!(says.iter().all(|word| error.contains(word)), "{error}");
    assert!(!error.contains(TOKEN), "{error}");
    assert_eq!(run.stdout, "");
}

#[test]
fn what_is_wrong_with_a_kubeconfig_is_said_in_one_line() {
    let good = format!("server: '{}'", Server::nowhere());
    let token = format!("token: {TOKEN}");
    let garbled = Scratch::new(format!("clusters:\n- name: c\n  cluster: {{server: 'http://x'\nusers: [{{{token}\n"));
    assert_refused(&watch_with(&garbled, ""), &[garbled.as_ref().to_str().unwrap()]);
    let not_yaml = Scratch::new(format!("{{\"token\": \"{TOKEN}\", \u{0}"));
    assert_refused(&watch_with(&not_yaml, ""), &[not_yaml.as_ref().to_str().unwrap()]);
    let whole = kubeconfig(&good, &token);
    assert_refused(&watch_with(&whole, "--context there"), &["there", "here"]);
    let no_key = kubeconfig(&good.replace("http:", "https:"), "client-certificate: /none/c, client-key: /none/key");
    assert_refused(&watch_with(&no_key, ""), &["/none/"]);
    let no_token = kubeconfig(&good, "tokenFile: /none/token");
    assert_refused(&watch_with(&no_token, "--for 2m"), &["token file /none/token"]);
    let missing = Scratch::path(".yaml");
    assert_refused(&watch_with(&missing, ""), &[missing.as_ref().to_str().unwrap()]);
}

/// The error names the places that were searched, and the ways to give a server.
#[test]
fn without_any_cluster_what_was_looked_for_and_how_to_give_one_is_said() {
    let home = Scratch::path("");
    let mut command = command(["watch", "v1/pods"]);
    command.env("HOME", home.as_ref()).env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    let config = home.as_ref().join(".kube/config");
    let says = [config.to_str().unwrap(), "service account", "KUBECONFIG", "--kubeconfig FILE", "--server URL"];
    assert_refused(&run(command), &says);
}

#[test]
fn what_names_no_resource_is_refused_before_anybody_is_asked() {
    for name in ["v1/pods/x", "deploy/", "v1/", "/", "v1/../pods"] {
        let run = listwatch(&format!("watch {name} --server {}", Server::nowhere()));
        assert_refused_with(2, &run, &[name, "v1/pods", "apps/v1/deployments"]);
    }
}

#[test]
fn an_address_that_is_none_is_refused_without_its_password() {
    for url in ["ftp://x", &format!("http://me:{TOKEN}@127.0.0.1:1"), "http://"] {
        assert_refused_with(2, &listwatch(&format!("watch v1/pods --server {url}")), &["address"]);
    }
}

type Refusal = fn() -> Answer;

/// A retry is in vain, so the run ends, unless its options ask to keep trying.
#[test]
fn a_server_that_will_not_serve_ends_it_with_what_it_says() {
    let forbidden = || refusal(403, "Forbidden", "pods is forbidden: User me cannot list resource pods");
    let unauthorized = || refusal(401, "Unauthorized", "Unauthorized");
    let not_found = || refusal(404, "NotFound", "the server could not find the requested resource");
    let cases: [(Refusal, &str); 3] =
        [(forbidden, "User me cannot list"), (unauthorized, "Unauthorized"), (not_found, "could not find")];
    for (answer, says) in cases {
        let server = Server::of(move |_| answer());
        let config = kubeconfig(&format!("server: '{}'", server.url), &format!("token: {TOKEN}"));
        assert_refused(&watch_with(&config, "--for 2m"), &[says, "--keep-trying"]);
        let run = until_it_complains(&arguments(&config, "--keep-trying"));
        assert_eq!((run.status, &*run.stdout), (Some(1), ""));
        assert!(run.stderr.lines().next().unwrap().contains(says), "{}", run.stderr);
        assert!(
            run.stderr.contains("ended before the first state was complete") && !run.stderr.contains(TOKEN),
            "{}",
            run.stderr
        );
    }
}

/// Each line says it once, and when there will be another attempt.
#[test]
fn a_server_that_cannot_be_reached_is_tried_again_and_that_is_said() {
    let run = until_it_complains(&format!("watch v1/pods --server {}", Server::nowhere()));
    assert_eq!(run.status, Some(1));
    let first = reported(run.stderr.lines().next().unwrap());
    assert!(first.starts_with("connection refused in the watch-list: 127.0.0.1:"), "{first}");
    assert!(
        (first.contains("; failing: ") || first.contains("; failing for ")) && first.contains("1 attempt, next in "),
        "{first}"
    );
}

/// The same text comes with each list, and is printed once.
#[test]
fn what_a_server_warns_of_is_printed_as_kubectl_prints_it() {
    const TYPE: &str = "application/json\r\nwarning: 299 - \"v1 pods are \\\"old\\\" \u{202e}\", 299 - \"soon gone\"";
    let list = r#"{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[]}"#;
    let server = Server::of(move |path| match path.contains("watch=") {
        true => Answer::json(500, "{}"),
        false => Answer::Whole(200, TYPE, list.into()),
    });
    let run = until_it_complains(&format!("watch v1/pods --no-watch-list --server {}", server.url));
    let warnings: Vec<_> = run.stderr.lines().filter(|line| line.contains("Warning")).collect();
    assert_eq!(warnings, [r#"Warning: v1 pods are "old" \u202e"#, "Warning: soon gone"], "{}", run.stderr);
}

#[test]
fn a_page_for_people_is_no_list_and_that_is_said() {
    let page = || Answer::Whole(200, "text/html", "<html><body>Please log in\n</body></html>".into());
    let server = Server::of(move |_| page());
    let run = until_it_complains(&format!("watch v1/pods --no-watch-list --server {}", server.url));
    assert_eq!((run.status, &*run.stdout), (Some(1), ""));
    assert!(run.stderr.lines().next().unwrap().contains("the response is not a list (in the list)"), "{}", run.stderr);
}

#[test]
fn a_recording_never_takes_the_place_of_a_file_and_makes_no_folder() {
    let nowhere = Server::nowhere();
    let existing = Scratch::new("precious");
    let in_no_folder = existing.as_ref().with_file_name("none").join("x.jsonl");
    for (path, says) in [(existing.as_ref(), "exists already"), (&in_no_folder, "; make it first")] {
        let path = path.to_str().unwrap();
        let run = listwatch(&format!("record v1/pods -o {path} --server {nowhere}"));
        assert_refused(&run, &[path, says]);
    }
    assert_eq!(std::fs::read(existing.as_ref()).unwrap(), b"precious");
}

/// The folder `/proc` exists, and no file can be created in it.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_made_in_its_folder_is_refused() {
    let run = listwatch(&format!("record v1/pods --for 1s -o /proc/x --server {}", Server::nowhere()));
    assert_refused(&run, &["/proc/x: cannot be made", "give a name in a folder that you may write to"]);
}

#[test]
fn a_recording_to_standard_output_is_refused() {
    let run = listwatch(&format!("record v1/pods --for 1s -o - --server {}", Server::nowhere()));
    assert_refused_with(2, &run, &["standard output", "-o FILE"]);
}

/// The null device of Python and of Node is open for reading too. So is the one that Rust opens where standard output is
/// closed, and nothing tells them apart.
#[cfg(unix)]
#[test]
fn a_null_device_that_can_be_read_too_is_written_to() {
    let server = Server::of_pods(1);
    let watch = format!("watch v1/pods --no-watch-list --for 1s --server {}", server.url);
    let file = Scratch::path(".jsonl");
    let record = format!("{} --print events -o {}", watch.replacen("watch", "record", 1), file.as_ref().display());
    for arguments in [&*watch, &record, "--help", "--version", "completions bash"] {
        let null = std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
        let mut quiet = command(arguments.split_whitespace());
        quiet.stdout(null);
        let run = run(quiet);
        assert_eq!(
            (run.status, run.stderr.contains("standard output")),
            (Some(0), false),
            "{arguments}: {}",
            run.stderr
        );
    }
}

#[test]
fn wrong_usage_is_told_in_one_line() {
    for arguments in [
        "watch",
        "watch a,",
        "watch a -o x",
        "watch a --include-secrets",
        "watch a --server http://x --context c",
        "watch a --server http://x --kubeconfig c",
        "watch a --for ever",
        "watch a --speed 1",
        "watch a --type pod",
        "record a",
        "record a -o",
        "record -o x",
    ] {
        let run = listwatch(arguments);
        assert!(run.error(2).ends_with(" --help`"), "{}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments}");
    }
}
