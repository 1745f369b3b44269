//! What the rules of a role are about, which paths such as `rules[0].verbs[2]` do not say.

use crate::output::changes::FieldChange;
use serde_json::Value;
use std::collections::BTreeSet;

/// The rules before a change in which something changed: `rules[0] is about configmaps`.
pub(super) fn told(changes: &[FieldChange], before: &Value) -> Option<String> {
    let place = |change: &FieldChange| change.field.strip_prefix("rules[")?.split(']').next()?.parse::<usize>().ok();
    let places: BTreeSet<usize> = changes.iter().filter_map(place).collect();
    let told: Vec<String> = places.into_iter().filter_map(|place| about(place, &before["rules"][place])).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn about(place: usize, rule: &Value) -> Option<String> {
    let all = ["resources", "nonResourceURLs"].into_iter().filter_map(|name| rule[name].as_array()).flatten();
    let names: Vec<&str> = all.filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| format!("rules[{place}] is about {}", names.join(", ")))
}
