//! Several resources beside each other, and one object by its name.

use crate::command::{listwatch, reported};
use crate::watch::discovery;
use crate::watch::following::{EVENTS, Following};
use crate::watch::server::{Server, refusal};
use listwatch::Resource;
use listwatch::file::Playback;
use listwatch_tests::scratch::Scratch;
use std::collections::BTreeSet;

/// A server that has one object of each resource, and refuses nodes.
fn server() -> Server {
    Server::of(|path| match path.starts_with("/api/v1/nodes") {
        true => refusal(403, "Forbidden", "nodes is forbidden: User me cannot list resource nodes"),
        false => discovery::answer(path),
    })
}

fn follow(server: &Server, arguments: &str) -> Following {
    Following::start(format!("watch {arguments} --no-watch-list --server {}", server.url).split_whitespace())
}

#[test]
fn several_resources_are_followed_and_each_line_names_its_own() {
    let server = server();
    let mut following = follow(&server, &format!("po,deploy v1/services {EVENTS}"));
    following.read_lines(3);
    let told: BTreeSet<_> =
        following.told().map(|line| (line["resource"].to_string(), line["key"].to_string())).collect();
    let expected = [
        ("\"deploy\"", "\"apis.apps.v1.deployments\""),
        ("\"po\"", "\"api.v1.pods\""),
        ("\"v1/services\"", "\"api.v1.services\""),
    ];
    assert_eq!(told, expected.map(|(resource, key)| (resource.to_owned(), key.to_owned())).into());
    let run = following.end_by("-INT");
    assert_eq!((run.status, &*run.stderr), (Some(0), ""));
    assert_eq!(run.stdout.lines().filter(|line| line.contains(r#""store":["#)).count(), 3, "{}", run.stdout);
}

#[test]
fn several_resources_are_recorded_in_one_file() {
    let server = server();
    for ending in [".jsonl", ".jsonl.gz", ".jsonl.zst"] {
        let file = Scratch::path(ending);
        let arguments = format!(
            "record po,deploy v1/services {EVENTS} --no-watch-list -o {} --server {}",
            file.as_ref().display(),
            server.url
        );
        let mut following = Following::start(arguments.split_whitespace());
        following.read_lines(3);
        let run = following.end_by("-INT");
        assert_eq!((run.status, &*run.stderr), (Some(0), ""));
        let playback = Playback::from_file(file.as_ref()).unwrap();
        let paths: BTreeSet<&str> = playback.resources().iter().map(Resource::path).collect();
        assert_eq!(paths, ["/api/v1/pods", "/api/v1/services", "/apis/apps/v1/deployments"].into());
        assert_eq!(playback.start().unwrap().server.as_deref(), Some(&*server.url));
    }
}

#[test]
fn a_resource_that_is_refused_leaves_the_others_and_fails_the_command_at_its_end() {
    let server = server();
    let mut following = follow(&server, &format!("pods nodes deploy {EVENTS}"));
    following.read_lines(2);
    following.read_complaint();
    let run = following.end_by("-INT");
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    let [refused, end] = run.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", run.stderr) };
    assert_eq!(
        reported(refused),
        "nodes: 403 Forbidden in the list: nodes is forbidden: User me cannot list resource nodes; if it \
         has namespaces, -n NAMESPACE follows one; the other resources are followed all the same"
    );
    assert_eq!(end, "listwatch: not followed, because the server refused: nodes");
    assert_eq!(run.stdout.matches("\"store\"").count(), 2, "{}", run.stdout);
}

#[test]
fn resources_that_are_all_refused_end_the_command() {
    let server = Server::of(|_| refusal(403, "Forbidden", "forbidden"));
    let run = listwatch(&format!("watch v1/pods v1/nodes --no-watch-list --for 2m --server {}", server.url));
    assert_eq!((run.status, run.stderr.lines().count()), (Some(1), 2), "{}", run.stderr);
    assert!(run.stderr.ends_with("; to retry all the same, give --keep-trying\n"), "{}", run.stderr);
}

#[test]
fn a_name_behind_a_resource_selects_one_object() {
    let server = server();
    let mut following = follow(&server, &format!("deploy/web -n n --field-selector spec.x=1 {EVENTS}"));
    following.read_lines(1);
    following.end_by("-INT").output();
    let selected = "/apis/apps/v1/namespaces/n/deployments?fieldSelector=spec.x%3D1%2Cmetadata.name%3Dweb&";
    let lists = server.heads().into_iter().filter(|head| head.contains("/deployments"));
    lists.for_each(|head| assert!(head.contains(selected), "{head}"));
}

#[test]
fn a_name_that_is_typed_as_for_kubectl_is_reported_with_the_way_to_write_it() {
    let server = server();
    let run = listwatch(&format!("watch pods web-1 --server {} --for 2m", server.url));
    assert_eq!(run.error(1), "the server has no resource `web-1` (for one object, give pods/web-1)");
}

#[test]
fn a_resource_that_is_given_twice_is_followed_once() {
    let server = server();
    let mut following = follow(&server, &format!("pods po v1/pods {EVENTS}"));
    following.read_lines(1);
    let run = following.end_by("-INT");
    assert!(!run.stdout.contains("\"resource\""), "{}", run.stdout);
    assert_eq!(server.heads().iter().filter(|head| head.contains("/pods?limit")).count(), 1);
}
