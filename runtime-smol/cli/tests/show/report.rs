//! `listwatch report`.

use crate::command::{Run, bundled, command, run};
use crate::inert::HOSTILE;
use crate::show::recorded::Capture;
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::path::Path;

/// The page of a recording, with what was said.
fn page(file: impl AsRef<Path>, options: &str) -> (String, Run) {
    let page = Scratch::path("");
    let mut command = command(["report"]);
    command.arg(file.as_ref()).arg("-o").arg(page.as_ref()).args(options.split_whitespace());
    let run = run(command);
    (std::fs::read_to_string(&page).unwrap_or_default(), run)
}

fn map(name: &str, version: u64, value: &str) -> Value {
    json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": name, "namespace": "web", "uid": name, "resourceVersion": version.to_string() }, "data": { "k": value } })
}

#[test]
fn a_page_has_plots_and_lanes_and_neither_scripts_nor_links() {
    let (page, run) = page(bundled("chaos.jsonl.gz"), "");
    assert_eq!(run.status, Some(0), "{run:?}");
    for part in ["<h2>Over time</h2>", "<h2>Objects</h2>", "<h2>Streams</h2>", "<polyline", "<rect x="] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("default-src 'none'"));
    for part in ["<script", "http://", "https://", "src=", "url("] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn names_and_messages_of_a_recording_are_no_markup() {
    let hostile = format!("</td></svg><script>alert(1)</script><img src=x onerror=alert(1)>\"'{HOSTILE}");
    let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[map(&hostile, 1, "")]);
    capture.event("MODIFIED", &map(&hostile, 11, &hostile));
    capture.event("ERROR", &json!({ "code": 500, "message": hostile }));
    let request = json!({ "user": hostile, "headers": { "User-Agent": hostile }, "body": map(&hostile, 0, &hostile) });
    let status = json!({ "kind": "Status", "apiVersion": "v1", "reason": hostile, "message": hostile });
    capture.call("POST", "/api/v1/namespaces/web/configmaps", &request, (409, &status));
    let (page, run) = page(capture.file(), "");
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(page.contains("&lt;script&gt;"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{1b}'), "{page}");
}

#[test]
fn objects_that_go_back_and_forth_conflicts_and_writers_are_told() {
    let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[map("a", 1, "on")]);
    for version in 11..31 {
        capture.event("MODIFIED", &map("a", version, if version % 2 == 0 { "on" } else { "off" }));
    }
    let request = json!({ "user": "jane", "body": map("a", 5, "x") });
    let status = json!({ "kind": "Status", "apiVersion": "v1", "reason": "Conflict", "code": 409 });
    capture.call("PUT", "/api/v1/namespaces/web/configmaps/a", &request, (409, &status));
    let (page, _) = page(capture.file(), "");
    assert!(
        page.contains("<h2>Findings</h2>") && page.contains("loop: configmaps web/a: goes back to an earlier state")
    );
    let row = |title: &str| page.split(title).nth(1).unwrap_or_default().split("</table>").next().unwrap().to_owned();
    assert!(
        row("<h2>Loops</h2>").contains("<td>configmaps web/a</td><td class=\"n\">20</td><td class=\"n\">19</td>"),
        "{}",
        row("<h2>Loops</h2>")
    );
    assert!(row("<h2>Conflicts</h2>").contains("<td>configmaps web/a</td><td class=\"n\">1</td>"), "{page}");
    assert!(row("<h2>Writers</h2>").contains("<td>jane</td><td>PUT</td><td>configmaps</td>"), "{page}");
}

#[test]
fn the_options_choose_what_is_on_the_page_and_a_page_that_cannot_be_written_is_an_error() {
    let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[]);
    capture.event("ADDED", &map("chosen", 11, ""));
    capture.event("ADDED", &map("other", 12, ""));
    let (page, _) = page(capture.file(), "--key web/chosen");
    assert!(page.contains("web/chosen") && !page.contains("web/other"), "{page}");
    let mut command = command(["report", "-o", "/nowhere/page.html"]);
    command.arg(bundled("chaos.jsonl.gz"));
    assert!(run(command).error(1).starts_with("/nowhere/page.html: cannot be written: "));
}

#[test]
fn a_file_that_is_no_page_is_not_replaced() {
    let recording = Scratch::new(std::fs::read(bundled("chaos.jsonl.gz")).unwrap());
    let report = |page: &Path| {
        let mut command = command(["report"]);
        command.arg(recording.as_ref()).arg("-o").arg(page);
        run(command)
    };
    let before = std::fs::read(&recording).unwrap();
    assert!(report(recording.as_ref()).error(1).contains("is there, and is no page"));
    assert_eq!(std::fs::read(&recording).unwrap(), before);
    let page = Scratch::path("");
    (0..2).for_each(|_| assert_eq!(report(page.as_ref()).status, Some(0)));
}
