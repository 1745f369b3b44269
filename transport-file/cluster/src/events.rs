//! The Events of `events.k8s.io/v1`, which are those of `v1` in another version.

use super::refusal::Refusal;
use serde_json::{Value, json};

/// The collection of the Events in the other version.
pub(super) const COLLECTION: &str = "events.k8s.io/v1/events";
/// The collection that has them.
pub(super) const STORED: &str = "v1/events";
pub(super) const VERSION: &str = "events.k8s.io/v1";
pub(super) const GROUP: &str = "events.k8s.io";

/// The fields that have other names: as they are stored, and in the other version.
const FIELDS: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// A stored Event in the other version.
pub(super) fn shown(event: &Value) -> Value {
    renamed(event, VERSION, |field| FIELDS.iter().find(|(stored, _)| *stored == field).map(|(_, shown)| *shown))
}

/// An Event of the other version as it is stored.
pub(super) fn stored(event: &Value) -> Value {
    renamed(event, "v1", |field| FIELDS.iter().find(|(_, shown)| *shown == field).map(|(stored, _)| *stored))
}

/// The stored field that a selector of the other version names.
pub(super) fn selected(field: &str) -> Option<String> {
    let (first, rest) = field.split_once('.').map_or((field, None), |(first, rest)| (first, Some(rest)));
    match (first, rest) {
        ("metadata", _) | ("reason" | "type", None) => Some(field.to_owned()),
        ("regarding", Some(rest)) => Some(format!("involvedObject.{rest}")),
        ("reportingController", None) => Some("reportingComponent".to_owned()),
        _ => None,
    }
}

/// The refusal of a request for the other version, which names its collection.
pub(super) fn refused(mut refusal: Refusal) -> Refusal {
    for status in refusal.status.iter_mut().filter(|status| status["details"]["kind"] == "events") {
        let message = status["message"].as_str().unwrap_or_default();
        status["message"] = json!(message.replacen("events \"", "events.events.k8s.io \"", 1));
        status["details"]["group"] = json!(GROUP);
    }
    refusal
}

fn renamed(event: &Value, version: &str, name: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Some(fields) = event.as_object() else { return event.clone() };
    let mut event: serde_json::Map<String, Value> =
        fields.iter().map(|(field, value)| (name(field).unwrap_or(field).to_owned(), value.clone())).collect();
    event.insert("apiVersion".into(), json!(version));
    Value::Object(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_the_same_in_both_versions() {
        let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "a" }, "count": 2, "message": "m",
            "involvedObject": { "name": "p" }, "reason": "r", "reportingComponent": "c", "source": { "host": "h" } });
        let other = json!({ "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "a" },
            "deprecatedCount": 2, "note": "m", "regarding": { "name": "p" }, "reason": "r", "reportingController": "c",
            "deprecatedSource": { "host": "h" } });
        assert_eq!((shown(&event), stored(&other)), (other, event));
    }
}
