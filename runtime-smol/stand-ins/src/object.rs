//! The fields that all stand-ins read and write.

use core::time::Duration;
use listwatch::time::WallTime;
use listwatch::{Found, InformerHandle};
use serde_json::{Value, json};

/// A number; `default` where there is none.
pub(crate) fn count(value: &Value, default: usize) -> usize {
    value.as_u64().map_or(default, |count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// Sets a number of a status, which a server leaves out if it is zero.
pub(crate) fn set_count(status: &mut Value, name: &str, count: usize) {
    status[name] = count.into();
    if count == 0 {
        status.as_object_mut().into_iter().for_each(|status| _ = status.remove(name));
    }
}

/// A time of an object.
pub(crate) fn time(value: &Value) -> Option<WallTime> {
    value.as_str()?.parse().ok()
}

/// A time, as an object has it.
pub(crate) fn text(time: WallTime) -> String {
    time.truncated_to_seconds().to_string()
}

/// What is left of a time after `since`. None if it has passed.
pub(crate) fn left(now: WallTime, since: Option<WallTime>, delay: Duration) -> Option<Duration> {
    let due = since? + delay;
    (due > now).then(|| due.saturating_since(now))
}

/// The condition of this type.
pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == name)
}

pub(crate) fn is_true(object: &Value, name: &str) -> bool {
    condition(object, name).is_some_and(|condition| condition["status"] == "True")
}

/// Sets the condition of its type. The time of its last transition stays as long as its status does.
pub(crate) fn set_condition(object: &mut Value, now: WallTime, name: &str, holds: bool, mut more: Value) {
    let status = if holds { "True" } else { "False" };
    let known = condition(object, name).filter(|known| known["status"] == status);
    let since = known.map_or_else(|| text(now).into(), |known| known["lastTransitionTime"].clone());
    more["type"] = name.into();
    more["status"] = status.into();
    more["lastTransitionTime"] = since;
    let conditions = &mut object["status"]["conditions"];
    if conditions.is_null() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|condition| condition["type"] == name) {
        Some(condition) => *condition = more,
        None => conditions.push(more),
    }
}

/// The objects whose controller `owner` is, oldest first.
pub(crate) fn owned(kind: &InformerHandle<Value>, owner: &Found<Value>) -> Vec<Found<Value>> {
    let all = kind.list_in(owner.key().namespace()).into_iter();
    let mut owned: Vec<_> = all.filter(|object| object.is_controlled_by(owner)).collect();
    owned.sort_by_cached_key(|object| (object["metadata"]["creationTimestamp"].to_string(), object.key().clone()));
    owned
}
