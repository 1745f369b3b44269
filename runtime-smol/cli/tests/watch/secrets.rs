//! Credentials and Secrets, which a recording does not hold.

use crate::command::listwatch;
use crate::watch::errors::kubeconfig;
use crate::watch::following::{EVENTS, Following};
use crate::watch::server::{Answer, Server};
use listwatch_tests::scratch::{Scratch, gunzip};

const TOKEN: &str = "hunter2-the-token";

fn record(resource: &str, file: &Scratch, server: &str) -> String {
    format!("record {resource} --no-watch-list {EVENTS} -o {} {server}", file.as_ref().display())
}

#[test]
fn a_token_is_neither_recorded_nor_told() {
    let server = Server::of_pods(2);
    let config = kubeconfig(&format!("server: '{}'", server.url), &format!("token: {TOKEN}"));
    for ending in [".jsonl", ".jsonl.gz"] {
        let file = Scratch::path(ending);
        let arguments =
            record("v1/pods", &file, &format!("--credentials-over-http --kubeconfig {}", config.as_ref().display()));
        let mut following = Following::start(arguments.split_whitespace());
        following.read_lines(2);
        let run = following.end_by("-INT");
        assert_eq!((run.status, &*run.stderr), (Some(0), ""));
        assert!(!run.stdout.contains(TOKEN));
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes()));
        let text = if ending.ends_with(".gz") { gunzip(file.as_ref()) } else { String::from_utf8(bytes).unwrap() };
        assert!(text.contains("/api/v1/pods") && !text.contains(TOKEN), "{text}");
    }
    let asked = server.heads();
    assert!(!asked.is_empty() && asked.iter().all(|head| head.contains(TOKEN)), "it was not even sent: {asked:?}");
}

#[test]
fn a_token_that_a_refusal_echoes_is_redacted() {
    let page = format!("<html><pre>GET /api/v1/pods\nAuthorization: Bearer {TOKEN}</pre></html>");
    let server = Server::of(move |_| Answer::Whole(401, "text/html", page.clone()));
    let config = kubeconfig(&format!("server: '{}'", server.url), &format!("token: {TOKEN}"));
    let config = format!("--credentials-over-http --kubeconfig {}", config.as_ref().display());
    let file = Scratch::path(".jsonl");
    for arguments in [record("v1/pods", &file, &config), format!("watch v1/pods --no-watch-list {config}")] {
        let run = listwatch(&arguments);
        assert!(run.stderr.contains("[redacted]"), "{}", run.stderr);
        assert!(!run.stderr.contains(TOKEN) && !run.stdout.contains(TOKEN), "{}", run.stderr);
    }
    let recorded = std::fs::read_to_string(&file).unwrap();
    assert!(recorded.contains("Bearer [redacted]") && !recorded.contains(TOKEN), "{recorded}");
}

#[cfg(unix)]
#[test]
fn a_kubeconfig_that_others_may_write_is_used_with_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::of(|_| Answer::json(403, "{}"));
    let config = kubeconfig(&format!("server: '{}'", server.url), &format!("token: {TOKEN}"));
    let watch = || {
        listwatch(&format!("watch v1/pods --credentials-over-http --kubeconfig {}", config.as_ref().display())).stderr
    };
    let permit = |mode| std::fs::set_permissions(&config, std::fs::Permissions::from_mode(mode)).unwrap();
    permit(0o646);
    let told = watch();
    assert_eq!(told.matches("warning: ").count(), 1, "{told}");
    assert!(
        told.starts_with("listwatch: warning: other users can change kubeconfig ") && told.contains("chmod go-w"),
        "{told}"
    );
    permit(0o600);
    assert!(!watch().contains("warning"));
}

#[test]
fn secrets_are_recorded_only_where_that_is_said() {
    let server = Server::of_pods(1);
    let server = format!("--server {}", server.url);
    let file = Scratch::path(".jsonl");
    let run = listwatch(&record("v1/secrets", &file, &format!("{server} --for 2m")));
    assert!(run.error(2).contains("--include-secrets"), "{}", run.stderr);
    assert!(!file.as_ref().exists() && run.stdout.is_empty());
    let arguments = record("v1/secrets", &file, &format!("{server} --include-secrets"));
    let mut following = Following::start(arguments.split_whitespace());
    following.read_lines(1);
    let run = following.end_by("-INT");
    assert!(std::fs::read_to_string(&file).unwrap().contains("/api/v1/secrets"), "{}", run.stderr);
}

#[test]
fn a_credential_in_the_wrong_place_is_never_printed() {
    let server = Server::of(|_| Answer::json(403, "{}"));
    let (password, url) = ("hunter2pw", &server.url);
    let file = Scratch::new("no recording\n");
    for arguments in [
        format!("watch https://tok:{password}@h/ --server {url}"),
        format!("watch tok:{password}@h --server {url}"),
        format!("watch pods tok:{password}@127.0.0.1:1"),
        format!("watch v1/pods --kubeconfig https://tok:{password}@h/x"),
        format!("watch v1/pods --kubeconfig=tok:{password}@h"),
        format!("watch v1/pods --kubeconfig {} --context tok:{password}@h", file.as_ref().display()),
        format!("watch https://{password}@h/ --server {url}"),
        format!("record v1/pods -o https://tok:{password}@h/x/y --server {url}"),
        format!("record v1/pods -otok:{password}@h/y --server {url}"),
        format!("replay https://tok:{password}@h/x"),
        format!("replay tok:{password}@h"),
    ] {
        let run = listwatch(&arguments);
        assert!(run.status != Some(0) && run.stderr.starts_with("listwatch: "), "{arguments}: {}", run.stderr);
        assert!(!run.stderr.contains(password) && !run.stdout.contains(password), "{arguments}: {}", run.stderr);
    }
}
