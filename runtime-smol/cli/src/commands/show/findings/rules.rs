//! Changes of roles and bindings, which may take a permission.

use super::super::entry::{Entry, Sort};
use super::super::lines::details;
use crate::output::changes::Held;
use crate::output::seconds::Roughly;
use std::collections::VecDeque;
use std::time::Duration;

/// The most changes that are kept, the newest.
const MOST: usize = 256;
/// A server needs some time to obey a rule, and clocks differ.
const SLACK: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct Rules(VecDeque<Changed>);

struct Changed {
    at: Duration,
    text: String,
    takes: bool,
    /// The users of a binding that is gone.
    bound: Option<Vec<String>>,
}

impl Rules {
    pub(super) fn take(&mut self, entry: &Entry) {
        let is_news = !entry.failed && matches!(entry.what, Sort::Change | Sort::Write);
        let (Some(resource), Some(key), true) = (&entry.resource, &entry.key, entry.is_of_rules() && is_news) else {
            return;
        };
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        let text = format!("{} of {resource} {key}: {}", entry.event, details(entry, true));
        self.0.push_back(Changed { at: entry.at, text, takes: takes(entry), bound: entry.bound.clone() });
    }

    /// The change before a refusal that most probably took the permission: one that names what the refusal does, else the
    /// last that took anything.
    pub(super) fn before(&self, at: Duration, refusal: &str) -> Option<String> {
        let user = refusal.split_once("User \"").and_then(|(_, rest)| rest.split('"').next());
        let is_others = |bound: &[String]| user.is_some_and(|user| bound.iter().all(|name| name != user));
        let may_be = |change: &&Changed| change.takes && !change.bound.as_deref().is_some_and(is_others);
        let earlier = || self.0.iter().rev().filter(may_be).filter(|change| change.at <= at + SLACK);
        let words = || refusal.split(['"', ' ', ':', '/', '.']).filter(|word| word.len() > 3);
        let named =
            |change: &&Changed| (change.bound.is_some(), words().filter(|word| change.text.contains(*word)).count());
        // Of several that name as much, the newest.
        let found = earlier().rev().max_by_key(named)?;
        Some(format!("before it, {} earlier: {}", Roughly(at.saturating_sub(found.at)), found.text))
    }
}

/// Whether a change may take a permission: it deletes, removes or replaces.
fn takes(entry: &Entry) -> bool {
    let is_deletion = matches!(&*entry.event, "DELETE" | "DELETED" | "VANISHED");
    is_deletion || entry.changes.iter().any(|change| !matches!(change.held(), [Held::Nothing, _]))
}
