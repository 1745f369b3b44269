#[path = "../../examples/inside-tokio.rs"]
pub(crate) mod example;

use crate::examples::process::Example;
use crate::examples::stage::Stage;
use serde_json::{Value, json};

const NODES: &str = "/api/v1/nodes";
const NODE: &str = "/api/v1/nodes/edge-1";

fn ready(status: &str, beat: u32) -> Value {
    let (since, beat) = ("2026-11-22T11:34:48Z", beat.to_string());
    let ready =
        json!({ "type": "Ready", "status": status, "lastTransitionTime": since, "reason": "R", "message": beat });
    json!({ "status": { "conditions": [ready] } })
}

#[test]
fn a_controller_inside_of_tokio_tells_what_turns_and_ends_well_by_sigterm() {
    let stage = Stage::new(&[NODES]);
    // As a kubelet registers it.
    stage.apply(NODE, json!({ "status": { "capacity": {} } }));
    let mut example = Example::start("inside-tokio", &stage.server);
    example.read_to("edge-1 is not ready");
    stage.apply(NODE, ready("True", 1));
    assert_eq!(example.next_line(), "edge-1 is ready");
    stage.apply(NODE, ready("True", 2));
    stage.apply(NODE, ready("False", 3));
    // The heartbeat is no news.
    assert_eq!(example.next_line(), "edge-1 is not ready");
    stage.delete(NODE);
    assert_eq!(example.next_line(), "edge-1 is gone");
    let (status, errors) = example.terminate();
    assert_eq!(status, Some(0), "{errors}");
}
