//! What is the same in any two runs: values without their dates, uids and made-up names.

use crate::arguments::SelectionOptions;
use crate::commands::show::entry::Entry;
use crate::output::changes::{FieldChange, Held};
use listwatch::time::WallTime;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The fields that a server counts or notes, wherever they stand.
const NOTED: &[&str] = &[
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "observedGeneration",
    "selfLink",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// How values are made comparable.
#[derive(Clone, Default)]
pub(super) struct Stable {
    /// Whether all fields are compared.
    all: bool,
    /// What stands for a name.
    names: HashMap<String, String>,
}

impl Stable {
    pub(super) fn of(options: &SelectionOptions) -> Self {
        Self { all: options.all_fields, names: HashMap::new() }
    }

    /// The same, with other names in place of these.
    pub(super) fn renaming(self, names: HashMap<String, String>) -> Self {
        Self { names, ..self }
    }

    /// The same, for an object whose own name may be made up.
    pub(super) fn without_name(&self, name: &str) -> Self {
        self.clone().renaming(HashMap::from([(name.to_owned(), String::new())]))
    }

    /// The fields that are left out.
    pub(super) fn left_out(&self) -> &'static [&'static str] {
        if self.all { &[] } else { NOTED }
    }

    /// An object. The items of a list do not say their type.
    pub(super) fn object(&self, mut object: Value) -> Value {
        if let Some(fields) = object.as_object_mut() {
            ["kind", "apiVersion"].iter().for_each(|name| _ = fields.remove(*name));
        }
        self.make(&mut object);
        object
    }

    fn make(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !self.left_out().contains(&name.as_str()));
                fields.values_mut().for_each(|value| self.make(value));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.make(item)),
            Value::String(text) => {
                if let Cow::Owned(other) = self.text(text) {
                    *text = other;
                }
            }
            _ => {}
        }
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.names.get(text) {
            Some(name) => Cow::Owned(name.clone()),
            None if self.all => Cow::Borrowed(text),
            None if text.parse::<WallTime>().is_ok() => Cow::Owned("(date)".to_owned()),
            None if is_uid(text) => Cow::Owned("(uid)".to_owned()),
            None => Cow::Borrowed(text),
        }
    }

    /// The fields of an entry behind its changes, and what came of it.
    pub(super) fn fields(&self, entry: &Entry) -> BTreeMap<String, Held> {
        let changes = entry.changes.iter().map(|change| (change.field.clone(), self.held(change)));
        let status = entry.status.map(|status| status.to_string());
        let words = [
            ("(status)", status.or_else(|| entry.failed.then(|| "failed".to_owned()))),
            ("(outcome)", entry.reconcile.as_ref().and_then(|own| own.outcome.clone())),
            ("(more fields)", (entry.more_changes > 0).then(|| entry.more_changes.to_string())),
        ];
        let words = words.into_iter().filter_map(|(name, word)| Some((name.to_owned(), Held::Value(word?))));
        changes.chain(words).collect()
    }

    fn held(&self, change: &FieldChange) -> Held {
        let [_, held] = change.held();
        let Held::Value(text) = held else { return held };
        let value = text.starts_with(['{', '[']).then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
        Held::Value(value.map_or_else(
            || self.text(&text).into_owned(),
            |mut value| {
                self.make(&mut value);
                value.to_string()
            },
        ))
    }
}

fn is_uid(text: &str) -> bool {
    let is_part = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates_uids_and_made_up_names_are_the_same_in_any_two_runs() {
        let object = |name: &str, uid: &str, time: &str| {
            json!({ "kind": "Pod", "metadata": { "name": name, "uid": "u", "labels": { "of": uid } },
                "spec": { "at": time, "names": [name, "other"] }, "status": { "observedGeneration": 4 } })
        };
        let names = HashMap::from([("web-b".to_owned(), "web-a".to_owned())]);
        let stable = Stable { names, ..Stable::default() };
        let one = object("web-a", "00000000-0000-4000-8000-000000000001", "2026-11-20T02:00:00Z");
        let two = object("web-b", "00000000-0000-4000-8000-00000000000f", "2026-11-20T02:00:00.123456Z");
        assert_eq!(stable.object(one.clone()), stable.object(two.clone()));
        assert_ne!(Stable { all: true, ..stable.clone() }.object(one), Stable { all: true, ..stable }.object(two));
    }
}
