//! Requests that took the cluster down, or would have.

use super::*;

#[test]
fn a_write_overflowed_at_the_largest_recorded_version() {
    let cluster = SimulatedCluster::new();
    record(&cluster, RecordedKind::Present, "a", u64::MAX);
    record(&cluster, RecordedKind::Present, "b", 7);
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("c")).0, 201);
    let (_, list) = send(&cluster, "GET /api/v1/pods", &Value::Null);
    let version = u64::MAX.to_string();
    assert_eq!(
        (list["items"].as_array().map(Vec::len), &list["metadata"]["resourceVersion"]),
        (Some(3), &json!(version))
    );
}

#[test]
fn a_generation_overflowed_by_a_deletion() {
    let cluster = SimulatedCluster::new();
    let metadata = json!({ "name": "a", "generation": u64::MAX, "finalizers": ["example.com/wait"] });
    assert_eq!(send(&cluster, &format!("POST {MAPS}"), &json!({ "metadata": metadata })).0, 201);
    let (code, map) = send(&cluster, &format!("DELETE {MAPS}/a"), &Value::Null);
    assert_eq!((code, &map["metadata"]["generation"]), (200, &json!(u64::MAX)));
}
