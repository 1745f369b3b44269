//! The things that rules of roles are about, which paths such as `rules[0].verbs[2]` do not say, and the users of bindings.

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

/// The users of a binding by their full names; `None` for another object, and for a binding of groups.
pub(super) fn bound(binding: &Value) -> Option<Vec<String>> {
    let user = |subject: &Value| {
        let [kind, namespace, name] =
            ["kind", "namespace", "name"].map(|field| subject[field].as_str().unwrap_or_default());
        match kind {
            "User" => Some(name.to_owned()),
            "ServiceAccount" => Some(format!("system:serviceaccount:{namespace}:{name}")),
            _ => None,
        }
    };
    binding["subjects"].as_array()?.iter().map(user).collect()
}

fn about(place: usize, rule: &Value) -> Option<String> {
    let all = ["resources", "nonResourceURLs"].into_iter().filter_map(|name| rule[name].as_array()).flatten();
    let names: Vec<&str> = all.filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| format!("rules[{place}] is about {}", names.join(", ")))
}
