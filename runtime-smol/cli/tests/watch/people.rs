//! What `listwatch watch` prints for people: tables, names and whole objects.

use crate::command::{Run, listwatch, replay};
use crate::inert::{HOSTILE, assert_none, trouble};
use crate::watch::discovery;
use crate::watch::ends::run_for_seconds;
use crate::watch::following::Following;
use crate::watch::server::Server;
use crate::watch::tables::{Row, Tables, pod, server};
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};

/// A run until it has printed so many lines.
#[track_caller]
fn watched(server: &Server, arguments: &str, lines: usize) -> Run {
    let arguments = format!("watch {arguments} --no-watch-list --server {}", server.url);
    let mut following = Following::start(arguments.split_whitespace());
    following.read_lines(lines);
    following.end_by("-INT")
}

/// The lines of a table, each time replaced by `T`.
#[track_caller]
fn lines(run: Run) -> Vec<String> {
    let output = run.output();
    let timeless = |line: &str| match line.split_at_checked(20) {
        Some((time, rest)) if time.starts_with("20") && time.ends_with('Z') => format!("T{rest}"),
        _ => line.to_owned(),
    };
    output.lines().map(timeless).collect()
}

fn web(version: &str, replicas: u32, image: &str) -> Row {
    let (mut object, cells) = pod("web", version, "1/1");
    object["spec"] = json!({ "replicas": replicas, "containers": [{ "name": "c", "image": image }] });
    (object, cells)
}

/// Two pods, of which one is changed and deleted.
fn rollout(tables: Tables) -> Server {
    let events =
        vec![("MODIFIED", web("10", 4, "b")), ("ADDED", pod("größe", "11", "0/1")), ("DELETED", web("12", 4, "b"))];
    server(tables, vec![web("7", 2, "a"), pod("db", "8", "1/1")], events)
}

#[test]
fn a_table_has_the_cells_of_the_server_and_what_changed() {
    let server = rollout(Tables::Sent);
    let printed = lines(watched(&server, "v1/pods -o table", 6));
    let expected = [
        "TIME                  EVENT      NAMESPACE  NAME   READY  AGE  CHANGES",
        "T  added      n          web    1/1    5d",
        "T  added      n          db     1/1    5d",
        "T  updated    n          web    1/1    5d   spec.containers[c].image a → b, spec.replicas 2 → 4",
        "T  added      n          größe  0/1    5d",
        "T  deleted    n          web    1/1    5d",
    ];
    assert_eq!(squeezed(&printed), squeezed(&expected.map(str::to_owned)));
    assert!(server.heads().iter().all(|head| head.contains("as=Table") && head.contains("includeObject=Object")));
}

#[test]
fn a_wide_table_has_all_columns_and_one_namespace_needs_none_of_its_own() {
    let server = rollout(Tables::Sent);
    let printed = lines(watched(&server, "v1/pods -n n -o wide", 6));
    assert_eq!(
        printed[0],
        "TIME                  EVENT      NAME  READY  AGE  NODE  CHANGES".replace("NODE  ", "NODE    ")
    );
    assert!(printed[1].ends_with("web   1/1    5d   node-1"), "{printed:#?}");
}

#[test]
fn the_labels_are_the_last_column_of_the_cells() {
    let (mut labelled, cells) = pod("web", "7", "1/1");
    labelled["metadata"]["labels"] = json!({ "app": "shop", "tier": "front" });
    let server = server(Tables::Sent, vec![(labelled, cells), pod("db", "8", "1/1")], Vec::new());
    let printed = squeezed(&lines(watched(&server, "v1/pods -A -w --show-labels", 3)));
    assert_eq!(printed[0], "TIME EVENT NAMESPACE NAME READY AGE LABELS CHANGES");
    assert!(printed[1..].contains(&"T added n web 1/1 5d app=shop,tier=front".to_owned()), "{printed:#?}");
    assert!(printed[1..].contains(&"T added n db 1/1 5d <none>".to_owned()), "{printed:#?}");
}

#[test]
fn custom_columns_have_what_their_paths_lead_to() {
    let server = rollout(Tables::Sent);
    let columns = "custom-columns=NAME:.metadata.name,IMAGES:.spec.containers[*].image";
    let printed = squeezed(&lines(watched(&server, &format!("v1/pods -o {columns}"), 6)));
    assert_eq!(printed[0], "TIME EVENT NAME IMAGES CHANGES");
    assert!(printed.contains(&"T added db <none>".to_owned()), "{printed:#?}");
    assert!(printed[3].starts_with("T updated web b spec.containers[c].image a → b"), "{printed:#?}");
    let secret = json!({ "kind": "Secret", "apiVersion": "v1", "data": { "p": "aHVudGVyMg==" },
        "metadata": { "name": "s", "namespace": "n", "resourceVersion": "7" } });
    let server = self::server(Tables::Unknown, vec![(secret, json!([]))], Vec::new());
    let hidden = watched(&server, "v1/secrets -o custom-columns=NAME:.metadata.name,P:.data.p", 2);
    assert!(hidden.stdout.contains("(secret)") && !hidden.stdout.contains("aHVudGVyMg"), "{}", hidden.stdout);
    let run = listwatch("watch v1/pods -o custom-columns=NAME --server http://127.0.0.1:1");
    assert!(run.error(2).contains("HEADER:PATH"), "{}", run.stderr);
}

#[test]
fn who_asks_is_said_by_the_options_that_kubectl_has() {
    let server = rollout(Tables::Unknown);
    watched(&server, "v1/pods --as jane --as-group a --as-group b --token t --credentials-over-http -o name", 1);
    let head = server.heads()[0].to_lowercase();
    for line in ["impersonate-user: jane", "impersonate-group: a", "impersonate-group: b", "authorization: bearer t"] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{head}");
    }
}

/// The lines with one space between words.
fn squeezed(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Whether it answers with objects, as it should, or with 406.
#[test]
fn a_server_without_tables_has_names_and_ages() {
    for tables in [Tables::Unknown, Tables::Refused] {
        let server = rollout(tables);
        let printed = lines(watched(&server, "v1/pods -o table", 6));
        // How wide a column is depends on the rows that have come by then.
        let printed = squeezed(&printed);
        assert_eq!(printed[0], "TIME EVENT NAMESPACE NAME AGE CHANGES");
        assert!(printed[1].starts_with("T added n web 2") && printed[1].ends_with('y'), "{printed:#?}");
        assert!(printed[3].ends_with("spec.containers[c].image a → b, spec.replicas 2 → 4"), "{printed:#?}");
    }
}

#[test]
fn a_cache_is_printed_as_kubectl_get_prints_it() {
    let server = server(Tables::Sent, vec![pod("größe", "7", "0/1"), pod("db", "8", "1/1")], Vec::new());
    let printed = |output: &str| {
        let arguments = format!("watch v1/pods --no-watch-list --server {} --print store -o {output}", server.url);
        run_for_seconds(|time| listwatch(&format!("{arguments} {time}"))).output()
    };
    assert_eq!(
        printed("table"),
        "NAMESPACE  NAME   READY  AGE\nn          db     1/1    5d\nn          größe  0/1    5d\n"
    );
    assert_eq!(printed("name"), "pod/db\npod/größe\n");
    let objects: Vec<Value> = printed("json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects, [pod("db", "8", "1/1").0, pod("größe", "7", "0/1").0]);
}

#[test]
fn names_are_those_of_kubectl() {
    let printed = watched(&rollout(Tables::Sent), "v1/pods -o name", 5).output();
    assert_eq!(printed, "pod/web\npod/db\npod/web\npod/größe\npod/web\n");
}

#[test]
fn lines_of_json_are_the_events_of_a_watch_which_replay_plays() {
    let server = rollout(Tables::Sent);
    let printed = watched(&server, "v1/pods -o json", 5).output();
    let events: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["ADDED", "ADDED", "MODIFIED", "ADDED", "DELETED"]);
    assert_eq!(events[2]["object"], web("10", 4, "b").0);
    assert!(server.heads().iter().all(|head| !head.contains("as=Table")), "a table is of no use");
    let file = Scratch::new(&printed);
    let replayed = replay(&file, "--print store --format json").output();
    assert_eq!(replayed, "{\"store\":[\"n/db 8\",\"n/größe 11\"]}\n");
}

#[test]
fn documents_of_yaml_have_the_same_events() {
    let printed = watched(&rollout(Tables::Sent), "v1/pods -o yaml", 80).output();
    let first = printed.strip_prefix("---\n").unwrap().split("---\n").next().unwrap();
    assert_eq!(
        first,
        "object:\n  apiVersion: v1\n  kind: Pod\n  metadata:\n    creationTimestamp: \"2001-01-01T00:00:00Z\"\n    name: web\n    \
         namespace: \"n\"\n    resourceVersion: \"7\"\n    uid: web\n  spec:\n    containers:\n      - image: a\n        name: c\n    \
         replicas: 2\n  status:\n    ready: \"1/1\"\ntype: ADDED\n"
    );
    assert_eq!(printed.matches("---\n").count(), 5, "{printed}");
}

#[test]
fn of_several_resources_each_has_its_header_once_and_names_tell_the_kind() {
    let server = Server::of(discovery::answer);
    let printed = lines(watched(&server, "pods deploy -o table", 4));
    let headers = printed.iter().filter(|line| line.starts_with("TIME")).count();
    assert_eq!((headers, printed.len()), (2, 4), "{printed:#?}");
    let server = rollout(Tables::Sent);
    let printed = lines(watched(&server, "v1/pods v1/services -o table -n n", 12));
    assert_eq!(printed.iter().filter(|line| line.starts_with("TIME")).count(), 2, "{printed:#?}");
    assert!(printed[1].contains("  pod/web  "), "{printed:#?}");
}

/// A Secret, its annotations, and an update of both. `kubectl apply` keeps the data in an annotation.
fn secrets() -> Server {
    let secret = |version: &str, value: &str| {
        let (mut object, cells) = pod("s", version, "Opaque");
        object["kind"] = "Secret".into();
        object["metadata"]["annotations"] = json!({ "kubectl.kubernetes.io/last-applied-configuration": value });
        object["data"] = json!({ "password": value });
        object["stringData"] = json!({ "password": value });
        (object, cells)
    };
    server(Tables::Sent, vec![secret("7", "hunter1")], vec![("MODIFIED", secret("10", "hunter2"))])
}

#[test]
fn values_of_secrets_are_printed_in_no_form() {
    let server = secrets();
    let forms = [("table", 3), ("wide", 3), ("name", 2), ("json", 2), ("yaml", 34), ("json --type meta", 2)];
    for (form, count) in forms {
        for resource in ["v1/secrets", "v1/whatever"] {
            // A server that sends metadata alone says no kind but that of metadata.
            let run = watched(&server, &format!("{resource} -o {form}"), count);
            assert!(run.stdout.contains("s") && !run.stdout.contains("hunter"), "{resource} {form}: {}", run.stdout);
        }
    }
    let printed = watched(&server, "v1/secrets -o table", 3).output();
    assert!(printed.contains("data.password changed, stringData.password changed"), "{printed}");
    for form in ["json", "yaml"] {
        let shown = watched(&server, &format!("v1/secrets -o {form} --show-secrets"), 2).output();
        assert!(shown.contains("hunter1"), "{shown}");
    }
}

#[test]
fn annotations_of_secrets_as_metadata_are_printed_in_no_form() {
    let metadata = |version: &str, value: &str| {
        let (mut object, cells) = pod("s", version, "");
        object["kind"] = "PartialObjectMetadata".into();
        object["apiVersion"] = "meta.k8s.io/v1".into();
        object["metadata"]["annotations"] = json!({ "applied": value });
        (object, cells)
    };
    let events = vec![("MODIFIED", metadata("10", "hunter2"))];
    let server = server(Tables::Sent, vec![metadata("7", "hunter1")], events);
    for (form, count) in [("json", 2), ("yaml", 12), ("table", 3)] {
        let run = watched(&server, &format!("v1/secrets --type meta -o {form}"), count);
        assert!(!run.stdout.contains("hunter"), "{form}: {}", run.stdout);
    }
    let names = watched(&server, "v1/secrets --type meta -o name", 2).output();
    assert_eq!(names, "secrets/s\nsecrets/s\n", "metadata tell no kind");
}

#[test]
fn cells_and_changes_of_a_server_never_reach_the_terminal_raw() {
    let hostile = |version: &str, value: &str| {
        let (mut object, _) = pod("x", version, "");
        object["metadata"]["name"] = HOSTILE.into();
        object["metadata"]["namespace"] = HOSTILE.into();
        object["kind"] = HOSTILE.into();
        object["spec"] = json!({ HOSTILE: value, "x": format!("{HOSTILE}{value}") });
        (object, json!([HOSTILE, format!("{HOSTILE}{value}"), { HOSTILE: [value] }, 7]))
    };
    let server = server(Tables::Sent, vec![hostile("7", "a")], vec![("MODIFIED", hostile("10", "b"))]);
    for (form, count) in [("table", 3), ("wide", 3), ("name", 2), ("json", 2), ("yaml", 20)] {
        assert_none(trouble(&watched(&server, &format!("v1/pods -o {form}"), count), form));
        assert_none(trouble(&watched(&server, &format!("v1/pods v1/services -o {form}"), 2 * count), form));
    }
}

#[test]
fn rows_that_do_not_fit_their_columns_are_printed_as_far_as_they_do() {
    let (object, _) = pod("web", "7", "");
    let (other, _) = pod("db", "8", "");
    let many: Vec<u32> = (0..20_000).collect();
    let rows = vec![(object, json!(["only one"])), (other, json!(many)), pod("huge", "9", &"x".repeat(1 << 20))];
    let printed = lines(watched(&server(Tables::Sent, rows, Vec::new()), "v1/pods -o table", 4));
    assert!(printed[1].contains("web") && printed[1].contains("<unknown>"), "{printed:#?}");
    assert!(printed[2].contains("db") && printed.iter().all(|line| line.chars().count() < 1_500), "{printed:#?}");
}

#[test]
fn a_row_without_its_object_is_reported_and_the_others_are_printed() {
    let rows = vec![(Value::Null, json!(["gone", "", "", ""])), pod("web", "7", "1/1")];
    let run = watched(&server(Tables::Sent, rows, Vec::new()), "v1/pods -o table", 2);
    assert!(run.stdout.contains("  web  ") && run.stderr.contains("a row of a Table has no object"), "{run:?}");
}
