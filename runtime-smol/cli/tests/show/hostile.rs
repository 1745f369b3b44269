//! Files that are made to do harm.

use crate::inert::{HOSTILE, assert_none, trouble};
use crate::show::recorded::Capture;
use crate::show::show;
use serde_json::{Map, Value, json};

fn map(name: &str, version: u64, data: &Value) -> Value {
    json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": name, "namespace": "web", "uid": "u", "resourceVersion": version.to_string() }, "data": data })
}

#[test]
fn names_values_and_messages_cannot_steer_a_terminal() {
    let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[map(HOSTILE, 1, &json!({}))]);
    capture.event("MODIFIED", &map(HOSTILE, 11, &json!({ HOSTILE: HOSTILE })));
    capture.event("ERROR", &json!({ "code": 500, "message": HOSTILE }));
    let request = json!({ "user": HOSTILE, "from": HOSTILE, "headers": { "User-Agent": HOSTILE }, "body": map(HOSTILE, 0, &json!({ HOSTILE: HOSTILE })) });
    let status = json!({ "kind": "Status", "apiVersion": "v1", "reason": HOSTILE, "message": HOSTILE });
    capture.call("POST", "/api/v1/namespaces/web/configmaps", &request, (422, &status));
    let cases = ["", "--format json", "--at end", "--at end -o yaml", "--at end -o json"];
    assert_none(cases.iter().filter_map(|case| trouble(&show(capture.file(), case), case)));
}

#[test]
fn ten_thousand_fields_are_one_line_of_bounded_length() {
    let fields =
        |value: u64| Value::Object((0..10_000).map(|field| (format!("f{field}"), json!(value))).collect::<Map<_, _>>());
    let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[map("a", 1, &fields(1))]);
    capture.event("MODIFIED", &map("a", 11, &fields(2)));
    let output = show(capture.file(), "changes").output();
    assert!(output.contains("and 9988 more") && output.lines().all(|line| line.len() < 2_000), "{}", output.len());
    let json = show(capture.file(), "changes --format json").output();
    assert!(json.contains(r#""more_changes":9000"#), "{}", json.len());
}

#[test]
fn an_object_that_is_too_deep_is_told_as_unreadable() {
    let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[]);
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let event = map("a", 11, &json!("DEEP")).to_string().replace("\"DEEP\"", &deep);
    capture.raw_event(&format!("{{\"type\":\"ADDED\",\"object\":{event}}}\n"));
    let output = show(capture.file(), "").output();
    assert!(output.contains("unreadable  configmaps  ") && output.contains("recursion limit"), "{output}");
}
