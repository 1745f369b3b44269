use crate::time::WallTime;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Deref;
use serde::{Deserialize, Deserializer, Serialize};

/// One aspect of an object's state, as its controller observes it (apimachinery `metav1.Condition`).
///
/// The server checks what its schema says of `metav1.Condition`: a reason of one CamelCase word at the least, for
/// example. This type does not. It reads the older conditions too, such as those of `Node` and
/// `CustomResourceDefinition`, in which all but type and status may be absent or null. It ignores their own fields,
/// such as `lastHeartbeatTime`; a [change](crate::change) keeps those in the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Condition {
    /// The aspect, in CamelCase, such as `Ready`. An object has one condition of each type.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// The `metadata.generation` that the controller had seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The time at which the status became what it is; in JSON, to the second. `metav1.Condition` requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<WallTime>,
    /// The reason for programs, one word in CamelCase. `metav1.Condition` requires it.
    #[serde(default, deserialize_with = "text_or_null")]
    pub reason: String,
    /// The reason for people.
    #[serde(default, deserialize_with = "text_or_null")]
    pub message: String,
}

impl Condition {
    /// A condition that is observed at `now`, with its type and its reason. It has no message yet.
    ///
    /// The reason is one word for programs. `metav1.Condition` requires one.
    pub fn new(
        type_: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
        now: WallTime,
    ) -> Self {
        Self {
            type_: type_.into(),
            status: status.into(),
            observed_generation: None,
            last_transition_time: Some(now.truncated_to_seconds()),
            reason: reason.into(),
            message: String::new(),
        }
    }

    /// Sets the reason for people.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Sets the `metadata.generation` that the controller has seen ([`Meta::generation`](crate::Meta::generation)). A
    /// reader that sees a greater one there knows that the condition is out of date.
    pub fn with_observed_generation(mut self, generation: i64) -> Self {
        self.observed_generation = Some(generation);
        self
    }

    /// Whether the condition holds.
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }
}

/// A text; empty for a null.
fn text_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Whether a condition holds (apimachinery `metav1.ConditionStatus`). `true` and `false` convert to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// The controller cannot tell.
    Unknown,
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// The conditions of an object, one of each type, in the order in which they were first set. In JSON it is a list.
///
/// [`set`](Self::set) follows apimachinery's `meta.SetStatusCondition`. The list can be a field of any status:
///
/// ```
/// use listwatch_core::object::{Condition, Conditions};
/// use listwatch_core::time::WallTime;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct FooStatus {
///     #[serde(default)]
///     conditions: Conditions,
/// }
///
/// let (mut status, now) = (FooStatus::default(), "2026-11-22T11:34:48Z".parse::<WallTime>()?);
/// let ready = Condition::new("Ready", true, "Available", now).with_message("3 of 3 replicas are available");
/// assert!(status.conditions.set(ready.clone()));
/// assert!(!status.conditions.set(ready), "nothing has changed, so there is nothing to write");
/// assert!(status.conditions.is_true("Ready"));
/// # Ok::<(), listwatch_core::time::ParseWallTimeError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conditions(Vec<Condition>);

impl Conditions {
    /// Sets the condition of this type, and returns whether it has changed (`meta.SetStatusCondition`).
    ///
    /// The transition time moves only if the status changes, or if it was absent. Then it is the one of `condition`.
    #[doc(alias = "SetStatusCondition")]
    pub fn set(&mut self, condition: Condition) -> bool {
        let Some(known) = self.0.iter_mut().find(|known| known.type_ == condition.type_) else {
            self.0.push(condition);
            return true;
        };
        let last_transition_time = match known.status == condition.status {
            true => known.last_transition_time.or(condition.last_transition_time),
            false => condition.last_transition_time,
        };
        let new = Condition { last_transition_time, ..condition };
        let changes = *known != new;
        *known = new;
        changes
    }

    /// Removes the conditions of this type, and returns whether there were any (`meta.RemoveStatusCondition`).
    #[doc(alias = "RemoveStatusCondition")]
    pub fn remove(&mut self, type_: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|condition| condition.type_ != type_);
        self.0.len() < before
    }

    /// The condition of this type (`meta.FindStatusCondition`).
    #[doc(alias = "FindStatusCondition")]
    pub fn find(&self, type_: &str) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.type_ == type_)
    }

    /// Whether there is a condition of this type, and it is true (`meta.IsStatusConditionTrue`).
    #[doc(alias = "IsStatusConditionTrue")]
    pub fn is_true(&self, type_: &str) -> bool {
        self.find(type_).is_some_and(Condition::is_true)
    }
}

impl Deref for Conditions {
    type Target = [Condition];

    fn deref(&self) -> &[Condition] {
        &self.0
    }
}

impl From<Vec<Condition>> for Conditions {
    fn from(conditions: Vec<Condition>) -> Self {
        Self(conditions)
    }
}

impl From<Conditions> for Vec<Condition> {
    fn from(conditions: Conditions) -> Self {
        conditions.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::time::Duration;
    use serde_json::json;

    const BEGUN: WallTime = WallTime::from_unix_seconds(1_795_347_288);
    const LATER: WallTime = WallTime::from_unix_seconds(1_795_347_300);

    fn ready(status: impl Into<ConditionStatus>, now: WallTime) -> Condition {
        Condition::new("Ready", status, "Reason", now).with_message("message")
    }

    fn set(conditions: &mut Conditions, condition: Condition) -> (bool, Condition) {
        let changed = conditions.set(condition);
        (changed, conditions.find("Ready").unwrap().clone())
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let mut conditions = Conditions::default();
        assert_eq!(set(&mut conditions, ready(true, BEGUN)), (true, ready(true, BEGUN)));
        assert_eq!(set(&mut conditions, ready(true, LATER)), (false, ready(true, BEGUN)));
        for new in [
            Condition { reason: "Other".into(), ..ready(true, LATER) },
            Condition { message: "other".into(), ..ready(true, LATER) },
            ready(true, LATER).with_observed_generation(7),
            ready(true, LATER),
        ] {
            let expected = Condition { last_transition_time: Some(BEGUN), ..new.clone() };
            assert_eq!(set(&mut conditions, new), (true, expected));
        }
        assert_eq!(set(&mut conditions, ready(false, LATER)), (true, ready(false, LATER)));
        assert_eq!(set(&mut conditions, ready(ConditionStatus::Unknown, BEGUN)).1.last_transition_time, Some(BEGUN));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn types_keep_their_order_and_say_nothing_of_each_other() {
        let mut conditions = Conditions::from(vec![ready(true, BEGUN)]);
        assert!(conditions.set(Condition { type_: "Degraded".into(), ..ready(false, BEGUN) }));
        assert!(conditions.set(ready(false, LATER)));
        let types: Vec<&str> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(types, ["Ready", "Degraded"]);
        assert_eq!(conditions.find("Degraded").unwrap().last_transition_time, Some(BEGUN));
        assert!(conditions.remove("Ready") && !conditions.remove("Ready"));
        assert_eq!((conditions.len(), conditions.find("Ready")), (1, None));
        assert!(!conditions.is_true("Ready"));
    }

    #[test]
    fn a_condition_that_is_written_and_read_keeps_its_time() {
        let condition = ready(true, BEGUN + Duration::from_micros(250));
        let text = serde_json::to_string(&condition).unwrap();
        assert_eq!(serde_json::from_str::<Condition>(&text).unwrap(), condition);
    }

    #[test]
    fn the_json_is_that_of_apimachinery() {
        let conditions = Conditions::from(vec![ready(true, BEGUN).with_observed_generation(3), ready(false, LATER)]);
        let expected = json!([
            { "type": "Ready", "status": "True", "observedGeneration": 3,
              "lastTransitionTime": "2026-11-22T11:34:48Z", "reason": "Reason", "message": "message" },
            { "type": "Ready", "status": "False",
              "lastTransitionTime": "2026-11-22T11:35:00Z", "reason": "Reason", "message": "message" },
        ]);
        assert_eq!(serde_json::to_value(&conditions).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Conditions>(expected).unwrap(), conditions);
    }

    #[test]
    fn a_condition_without_a_transition_time_is_decoded() {
        // `NodeCondition` and `CustomResourceDefinitionCondition` require a type and a status alone. Go writes the zero
        // time as null.
        let node = json!([
            { "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-22T11:34:50Z",
              "lastTransitionTime": "2026-11-22T11:34:48Z", "reason": "KubeletReady",
              "message": "kubelet is posting ready status" },
            { "type": "NetworkUnavailable", "status": "False", "lastHeartbeatTime": null, "lastTransitionTime": null },
            { "type": "DiskPressure", "status": "Unknown", "reason": null, "message": null },
        ]);
        let definition = json!([
            { "type": "NonStructuralSchema", "status": "True", "lastTransitionTime": null, "reason": "Violations",
              "message": "spec.versions[0].schema: Required value" },
            { "type": "Established", "status": "True" },
        ]);
        let read = |value| serde_json::from_value::<Conditions>(value).unwrap();
        let parts = |it: &Condition| (it.last_transition_time, it.reason.clone(), it.message.is_empty());
        let (node, definition) = (read(node), read(definition));
        assert_eq!(parts(&node[0]), (Some(BEGUN), "KubeletReady".into(), false));
        assert_eq!(parts(&node[1]), (None, String::new(), true));
        assert_eq!(parts(&node[2]), (None, String::new(), true));
        assert_eq!(parts(&definition[0]), (None, "Violations".into(), false));
        assert_eq!(parts(&definition[1]), (None, String::new(), true));
        assert!(definition.is_true("Established") && !node.is_true("NetworkUnavailable"));
    }

    #[test]
    fn a_condition_that_had_no_transition_time_gets_one_when_it_is_set() {
        let bare: Condition = serde_json::from_value(json!({ "type": "Ready", "status": "True" })).unwrap();
        let mut conditions = Conditions::from(vec![bare.clone()]);
        assert_eq!(set(&mut conditions, ready(true, LATER)), (true, ready(true, LATER)));
        let timeless = Condition { last_transition_time: None, ..ready(true, BEGUN) };
        assert_eq!(set(&mut conditions, timeless), (false, ready(true, LATER)));
        let written = serde_json::to_value(&bare).unwrap();
        assert_eq!(written, json!({ "type": "Ready", "status": "True", "reason": "", "message": "" }));
    }
}
