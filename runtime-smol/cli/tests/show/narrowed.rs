//! What options select of the findings of a recording, and what they name that is not there.

use crate::command;
use crate::show::recorded::{Capture, deployment};
use crate::show::show;
use crate::show::summary::{Log, OPERATOR, definition_deleted, findings, has, lagging, object, permission_taken, text};
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};

fn kinds(file: &Scratch, options: &str) -> Vec<String> {
    findings(file, options).0.iter().map(|it| text(it, "kind").to_owned()).collect()
}

/// Writes of a map by two users in turn.
fn fight(log: &mut Log) {
    for version in 20..60 {
        let user = if version % 2 == 0 { "reds" } else { "blues" };
        let map = object("ConfigMap", "v1", "a", version, &json!({ "data": { "x": user } }));
        log.request(user, "update", "/api/v1/namespaces/other/configmaps/a", &map, (200, map.clone()));
    }
}

fn merge_patch() -> Value {
    json!({ "headers": { "Content-Type": "application/merge-patch+json", "User-Agent": "reds/v1" }, "body": {} })
}

#[test]
fn a_refusal_has_its_cause_whatever_the_options_select() {
    let file = permission_taken().file();
    for options in ["-n web", "--user system:*", "--kind pods --since 02:00:02", "failures", "--key web/a"] {
        let (found, _) = findings(&file, options);
        assert!(found.len() == 1 && has(&found[0], "notes", "before it, 500 ms earlier"), "{options}: {found:?}");
        assert!(has(&found[0], "notes", "by jane"), "{options}: {found:?}");
    }
}

#[test]
fn a_definition_that_was_deleted_concerns_whoever_selects_one_of_its_objects() {
    let file = definition_deleted().file();
    for options in ["-n web", "--kind widgets", "--user joe", "--key web/w", "--kind crd", "--until 02:00:02"] {
        assert_eq!(kinds(&file, options), ["definition_deleted"], "{options}");
    }
    let (page, mut report) = (Scratch::path(".html"), command::command(["report"]));
    report.arg(file.as_ref()).args(["-n", "web", "-o"]).arg(page.as_ref());
    assert_eq!(command::run(report).status, Some(0));
    assert!(std::fs::read_to_string(&page).unwrap().contains("definition deleted: customresource"));
}

#[test]
fn findings_that_the_options_leave_out_are_named_and_there_is_no_all_clear() {
    let mut log = definition_deleted();
    fight(&mut log);
    let output = show(log.file(), "--summary -n other --user jane").stdout;
    assert!(output.contains("\nnothing that the options select stands out\n"), "{output}");
    assert!(
        output.ends_with("\nleft out by the options: definition deleted, two writers undo each other\n"),
        "{output}"
    );
}

#[test]
fn what_goes_on_comes_before_what_has_ended() {
    let mut log = permission_taken();
    fight(&mut log);
    assert_eq!(kinds(&log.file(), ""), ["fight", "refused"]);
}

#[test]
fn a_finding_is_decided_by_the_whole_recording_and_told_if_its_time_is_selected() {
    let file = lagging();
    for options in ["--until 6s", "changes", "changes --since 6s --until 9s"] {
        let (found, _) = findings(&file, options);
        assert!(found.len() == 1 && text(&found[0], "kind") == "lag", "{options}: {found:?}");
        assert_eq!(found[0]["count"], 4, "that behind the first list is one, too");
    }
    let part = show(&file, "--summary --until 6s").stdout;
    assert!(part.contains("; the options select a part of it\n"), "{part}");
}

#[test]
fn a_user_has_the_own_name_and_that_of_the_impersonator() {
    let mut log = permission_taken();
    let user = format!(r#""user":{{"username":"{OPERATOR}"}}"#);
    let both = r#""impersonatedUser":{"username":"writer"},"user":{"username":"admin"}"#;
    log.lines = log.lines.replace(&user, both);
    let file = log.file();
    for name in ["writer", "admin", "writer*", "writer?(impersonated?by?admin)"] {
        let output = show(&file, &format!("writes --user {name}")).stdout;
        assert!(output.contains("shown: 5 writes"), "{name}: {output}");
    }
}

#[test]
fn a_name_that_is_not_there_is_told_with_those_that_are() {
    let file = permission_taken().file();
    for (options, told) in [
        ("--user jan", "user \"jan\"; there are: jane, system:serviceaccount:ops:operator"),
        ("--program progam", "program \"progam\"; there are: program/v1"),
        ("web/b", "key \"web/b\"; there are: web/a, operator"),
        ("-n wab", "namespace \"wab\"; there are: web"),
        ("--kind po --kind Role", "kind \"Role\"; there are: pods, clusterroles.rbac.authorization.k8s.io"),
    ] {
        let output = show(&file, &format!("--summary {options}")).stdout;
        assert!(output.contains(&format!("\nno {told}\n")) && !output.contains("nothing stands out"), "{output}");
    }
    let calm = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]).file();
    let output = show(&calm, "--summary --key c500 --kind deploy").stdout;
    assert!(output.contains("nothing stands out: "), "an object of a list is there: {output}");
    assert!(show(&calm, "--summary --user jane").stdout.contains("no user \"jane\"; there are: none\n"));
}

#[test]
fn a_second_recording_is_an_error() {
    let file = permission_taken().file();
    for word in [&*file.as_ref().display().to_string(), "night/audit.log", "./tape.jsonl.zst"] {
        let run = show(&file, &format!("{word} --summary"));
        assert!(run.error(2).contains("one recording is read at a time"), "{}", run.stderr);
    }
}

#[test]
fn a_change_in_the_same_second_is_of_the_manager_that_owns_its_fields() {
    let state = |version: u64| {
        let color = if version.is_multiple_of(2) { "reds" } else { "blues" };
        let mut map = object("ConfigMap", "v1", "a", version, &json!({ "data": { "x": color } }));
        let of = |manager: &str, fields: Value| json!({ "manager": manager, "fieldsV1": { "f:data": fields } });
        let managed = [of("other", json!({ ".": {}, "f:y": {} })), of("blues", json!({ "f:x": {} }))];
        map["metadata"]["managedFields"] = json!(managed);
        map
    };
    let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[state(9)]);
    for version in 12..32 {
        if version % 2 == 0 {
            let path = "/api/v1/namespaces/web/configmaps/a";
            capture.call("PATCH", path, &merge_patch(), (200, &state(version)));
        }
        capture.event("MODIFIED", &state(version));
    }
    let (found, _) = findings(&capture.file(), "");
    assert_eq!((found.len(), text(&found[0], "kind"), &found[0]["count"]), (1, "fight", &json!(19)), "{found:?}");
    assert!(has(&found[0], "culprits", "reds") && has(&found[0], "culprits", "blues (a field manager)"), "{found:?}");
    assert!(has(&found[0], "notes", "an audit log of this time would name the user"), "{found:?}");
}

#[test]
fn a_loop_and_a_lag_tell_what_keeps_them_going() {
    let widget = |version: u64| object("Widget", "x.io/v1", "w", version, &json!({ "status": { "seen": version } }));
    let mut capture = Capture::new().watched("/apis/x.io/v1/widgets", "Widget", &[widget(9)]);
    for version in 12..40_u64 {
        let (t, id) = (version * 10_000, 100 + version);
        let cause = format!("Updated /apis/x.io/v1/widgets/web/w at version {} after 12ms", version - 1);
        let path = "/apis/x.io/v1/namespaces/web/widgets/w/status";
        let request = json!({ "method": "PATCH", "path": path, "headers": merge_patch()["headers"], "body": {} });
        let event = format!("{}\n", json!({ "type": "MODIFIED", "object": widget(version) }));
        for (after, mut line) in [
            (
                0,
                json!({ "reconcile": version, "of": "counter", "note": 2 * version, "key": "web/w", "attempt": 1, "causes": [cause] }),
            ),
            (0, json!({ "id": id, "by": version, "request": request })),
            (7, json!({ "id": id, "response": { "status": 200 } })),
            (7, json!({ "id": id, "data": widget(version).to_string() })),
            (7, json!({ "id": id, "end": "eof" })),
            (50, json!({ "reconcile": version, "of": "counter", "note": 2 * version + 1, "outcome": "done" })),
            (2_000, json!({ "id": 2, "data": event })),
        ] {
            line["t"] = (t + after).into();
            capture.line(line);
        }
    }
    let (found, _) = findings(&capture.file(), "");
    for (finding, note) in [
        (0, "about once each 10 s"),
        (0, "the status alone changes: the spec and its generation stay"),
        (0, "the program wakes itself: its own writes of it caused 27 reconciles"),
        (1, "not the reason: writes took up to 7 ms, reconciles 50 ms, and keys waited for 12 ms"),
    ] {
        assert!(has(&found[finding], "notes", note), "{note}: {found:?}");
    }
}
