//! Conditions in an object that a change is made of.

use listwatch_core::change::{Change, Part, change};
use listwatch_core::object::{Condition, Conditions};
use serde_json::json;
use std::collections::BTreeMap;

#[test]
fn a_change_of_a_condition_keeps_the_fields_that_other_conditions_have() {
    let beat = "2026-11-22T11:34:50Z";
    let pressure = json!({ "type": "DiskPressure", "status": "False", "lastHeartbeatTime": beat });
    let raw = json!({ "status": [pressure, { "type": "Ready", "status": "True", "lastHeartbeatTime": beat }] });
    let before: BTreeMap<&str, Conditions> =
        [("status", serde_json::from_value(raw["status"].clone()).unwrap())].into();
    let mut after = before.clone();
    let stopped = Condition::new("Ready", false, "Stopped", "2026-11-22T11:35:00Z".parse().unwrap());
    assert!(after.get_mut("status").unwrap().set(stopped));
    let Change::NeedsRaw(change) = change(&before, &after, Part::Status).unwrap() else { panic!("a list differs") };
    let ready = json!({
        "type": "Ready", "status": "False", "lastHeartbeatTime": beat,
        "lastTransitionTime": "2026-11-22T11:35:00Z", "reason": "Stopped",
    });
    assert_eq!(change.lay_over(&raw).unwrap(), Some(json!({ "status": [pressure, ready] })));
}
