//! The output of `--print events --format json`.

use crate::command::bundled;
use serde_json::Value;
use std::collections::BTreeMap;

/// Notifications by key, each with all of its fields, and the cache at the end.
///
/// The order between keys of one list is client-go's own; the order within a key is law.
#[derive(Debug, PartialEq)]
pub(crate) struct Notifications {
    pub(crate) by_key: BTreeMap<String, Vec<Value>>,
    pub(crate) store: Value,
}

/// The notifications of client-go's handlers for a bundled capture.
pub(crate) fn client_go(capture: &str) -> Notifications {
    Notifications::read(&std::fs::read_to_string(bundled(&format!("{capture}.client-go.jsonl"))).unwrap())
}

impl Notifications {
    /// Reads lines of which the last one, and it alone, is the cache.
    #[track_caller]
    pub(crate) fn read(lines: &str) -> Self {
        let mut lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let store = lines.pop().unwrap();
        assert!(store["store"].is_array() && store.as_object().unwrap().len() == 1, "{store}");
        Self::from_parts(lines, store)
    }

    pub(crate) fn from_parts(notifications: impl IntoIterator<Item = Value>, store: Value) -> Self {
        let mut by_key = BTreeMap::<String, Vec<Value>>::new();
        for notification in notifications {
            by_key.entry(notification["key"].as_str().unwrap().to_owned()).or_default().push(notification);
        }
        Self { by_key, store }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Value> {
        self.by_key.values().flatten()
    }

    /// Fails where one is missing, too many, or another one; and tells the first of each key.
    #[track_caller]
    pub(crate) fn assert_same(&self, expected: &Self, case: &str) {
        for (key, expected) in &expected.by_key {
            let told = self.by_key.get(key);
            assert_eq!(told, Some(expected), "{case}: {key}");
        }
        assert_eq!(self.by_key.len(), expected.by_key.len(), "{case}: a key that client-go did not tell of");
        assert_eq!(self.store, expected.store, "{case}");
    }

    /// Fails where a key's notifications are not the first ones of the same key in `whole`.
    #[track_caller]
    pub(crate) fn assert_beginning_of(&self, whole: &Self) {
        assert!(!self.by_key.is_empty(), "nothing was told");
        for (key, told) in &self.by_key {
            assert!(whole.by_key[key].starts_with(told), "{key}: {told:#?}");
        }
    }
}
