//! The names of lists and watches on a tape.

use listwatch_core::Resource;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Gives each list-and-watch of a world a name: its path and selectors, and a number from the second one on.
#[derive(Default)]
pub(super) struct StreamNames(Mutex<HashMap<String, u64>>);

impl StreamNames {
    pub(super) fn name(&self, resource: &Resource) -> Arc<str> {
        let mut name = resource.path().to_owned();
        let mut separator = '?';
        let selectors = [("labelSelector", resource.label_selector()), ("fieldSelector", resource.field_selector())];
        for (key, selector) in selectors {
            if let Some(selector) = selector {
                name.extend([&*separator.to_string(), key, "=", selector]);
                separator = '&';
            }
        }
        if resource.is_metadata_only() {
            name.push_str(" (metadata)");
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = known.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name.into() } else { format!("{name} #{count}").into() }
    }
}
