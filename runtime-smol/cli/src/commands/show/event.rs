//! The Events of Kubernetes, in words.

use serde_json::Value;

/// Whether a collection has Events.
pub(super) fn are_events(collection: &str) -> bool {
    collection == "v1/events" || (collection.starts_with("events.k8s.io/") && collection.ends_with("/events"))
}

/// What an Event says, such as `Warning BackOff of Pod web/a: restarting failed container (7 times, kubelet)`.
pub(super) fn told(event: &Value) -> String {
    let text = |names: &[&str]| names.iter().find_map(|name| event.pointer(name)?.as_str()).unwrap_or_default();
    let of = |field: &str| text(&[&format!("/involvedObject/{field}"), &format!("/regarding/{field}")]).to_owned();
    let (kind, name, namespace) = (of("kind"), of("name"), of("namespace"));
    let key = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
    let note = text(&["/message", "/note"]).trim();
    let program =
        text(&["/reportingComponent", "/reportingController", "/source/component", "/deprecatedSource/component"]);
    let times = match occurrences(event) {
        1 => None,
        times => Some(format!("{times} times")),
    };
    let program = Some(program.to_owned()).filter(|program| !program.is_empty());
    let beside: Vec<String> = times.into_iter().chain(program).collect();
    let beside = if beside.is_empty() { String::new() } else { format!(" ({})", beside.join(", ")) };
    format!("{} {} of {kind} {key}: {note}{beside}", text(&["/type"]), text(&["/reason"]))
}

/// How often an Event occurred, as it says.
pub(super) fn occurrences(event: &Value) -> u64 {
    let counts = [&event["series"]["count"], &event["count"], &event["deprecatedCount"]];
    counts.into_iter().find_map(Value::as_u64).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_of_both_groups_say_what_happened_to_which_object() {
        let core = json!({ "type": "Warning", "reason": "BackOff", "message": "restarting\n", "count": 7,
            "involvedObject": { "kind": "Pod", "namespace": "web", "name": "a" }, "source": { "component": "kubelet" } });
        let own = json!({ "type": "Normal", "reason": "Scheduled", "note": "assigned", "reportingController": "scheduler",
            "regarding": { "kind": "Node", "name": "n1" } });
        assert_eq!(told(&core), "Warning BackOff of Pod web/a: restarting (7 times, kubelet)");
        assert_eq!(told(&own), "Normal Scheduled of Node n1: assigned (scheduler)");
        assert_eq!(
            (are_events("v1/events"), are_events("events.k8s.io/v1/events"), are_events("v1/pods")),
            (true, true, false)
        );
    }
}
