//! Which entries are shown.

use super::entry::{By, Entry, Sort};
use super::resource::{is_named, meant};
use crate::arguments::{SelectionOptions, What};
use listwatch::file::Target;
use listwatch::object::LabelSelector;
use serde_json::Value;
use std::time::Duration;

/// What the options select.
pub(super) struct Filter {
    whats: Vec<What>,
    keys: Vec<String>,
    kinds: Vec<String>,
    namespace: Option<String>,
    pub(super) labels: Option<LabelSelector>,
    user: Option<String>,
    program: Option<String>,
    version: Option<String>,
    pub(super) since: Duration,
    pub(super) until: Duration,
}

impl Filter {
    pub(super) fn of(options: &SelectionOptions, since: Duration, until: Duration) -> Self {
        Self {
            whats: options.whats(),
            keys: options.keys().into_iter().map(str::to_owned).collect(),
            kinds: options.kinds.iter().map(|name| meant(name)).collect(),
            namespace: options.namespace.clone(),
            labels: options.labels.clone(),
            user: options.user.clone(),
            program: options.program.clone(),
            version: options.version.clone(),
            since,
            until,
        }
    }

    /// A text that each object with one of the keys has, if there is one.
    pub(super) fn text_of_keys(&self) -> Option<&str> {
        let [key] = &self.keys[..] else { return None };
        let (_, name) = key.rsplit_once('/').unwrap_or(("", key));
        name.split(['*', '?']).max_by_key(|part| part.len()).filter(|part| !part.is_empty())
    }

    /// Whether the parts of this kind are shown.
    fn shows(&self, what: What) -> bool {
        self.whats.is_empty() || self.whats.contains(&what)
    }

    /// Whether changes are shown that come at this time.
    pub(super) fn shows_changes_at(&self, at: Duration) -> bool {
        self.shows(What::Changes) && (self.since..=self.until).contains(&at)
    }

    /// Whether an object is selected by its collection and its key.
    pub(super) fn selects(&self, collection: &str, key: &str) -> bool {
        self.selects_kind(Some(collection)) && self.selects_key(Some(key))
    }

    /// Whether the kind is asked for by its name.
    pub(super) fn names(&self, collection: &str) -> bool {
        !self.kinds.is_empty() && self.selects_kind(Some(collection))
    }

    /// Whether labels are asked for.
    pub(super) fn has_labels(&self) -> bool {
        self.labels.is_some()
    }

    /// Whether an object has the labels that are asked for.
    pub(super) fn is_labelled(&self, object: &Value) -> bool {
        let Some(labels) = &self.labels else { return true };
        labels.matches(|name| object["metadata"]["labels"][name].as_str())
    }

    /// The entry as far as it is selected: it, or those of its writes that are.
    pub(super) fn selected(&self, entry: Entry) -> Vec<Entry> {
        if entry.what != Sort::Reconcile {
            return if self.is_selected(&entry) { vec![entry] } else { Vec::new() };
        }
        let whole = self.is_shown(&entry) && self.selects_reconcile(&entry);
        if whole {
            return vec![entry];
        }
        entry.writes.into_iter().filter(|write| self.is_selected(write)).collect()
    }

    /// Marks what of an entry is selected.
    pub(super) fn mark(&self, entry: &mut Entry) {
        entry.is_selected = match entry.what {
            Sort::Reconcile => self.is_shown(entry) && self.selects_reconcile(entry),
            _ => self.is_selected(entry),
        };
        let whole = entry.is_selected;
        entry.writes.iter_mut().for_each(|write| write.is_selected = whole || self.is_selected(write));
    }

    fn is_selected(&self, entry: &Entry) -> bool {
        self.is_shown(entry) && self.selects_object(entry) && self.selects_author(&entry.by)
    }

    /// Whether it is of a part, a time and a version that are shown.
    fn is_shown(&self, entry: &Entry) -> bool {
        let is_part = self.shows(entry.what()) || (entry.failed && self.shows(What::Failures));
        is_part && entry.until() >= self.since && entry.at <= self.until && self.selects_version(entry)
    }

    /// A reconcile concerns its key, and the objects that it writes.
    fn selects_reconcile(&self, entry: &Entry) -> bool {
        let own = self.selects_key(entry.key.as_deref()) && (self.labels.is_none() || entry.is_labelled);
        let of_kind = self.kinds.is_empty() || entry.reconcile.as_ref().is_some_and(|own| self.is_of_kind(&own.causes));
        let controller = entry.reconcile.as_ref().map(|own| own.of.clone());
        let author = self.selects_author(&By { controller, ..By::default() });
        (own && of_kind && author) || entry.writes.iter().any(|write| self.is_written(write))
    }

    fn is_written(&self, write: &Entry) -> bool {
        self.selects_object(write) && self.selects_author(&write.by)
    }

    /// Whether one of the causes is an object of the kind.
    fn is_of_kind(&self, causes: &[String]) -> bool {
        let paths = causes.iter().filter_map(|cause| cause.split_whitespace().find(|word| word.starts_with('/')));
        paths.filter_map(Target::parse).any(|target| self.selects_kind(Some(target.collection())))
    }

    fn selects_object(&self, entry: &Entry) -> bool {
        self.selects_kind(entry.collection.as_deref())
            && self.selects_key(entry.key.as_deref())
            && (self.labels.is_none() || entry.is_labelled)
    }

    fn selects_kind(&self, collection: Option<&str>) -> bool {
        self.kinds.is_empty()
            || collection.is_some_and(|collection| self.kinds.iter().any(|name| is_named(collection, name)))
    }

    fn selects_key(&self, key: Option<&str>) -> bool {
        let in_namespace = self.namespace.is_none() || key.and_then(namespace_of) == self.namespace.as_deref();
        in_namespace
            && (self.keys.is_empty() || key.is_some_and(|key| self.keys.iter().any(|wanted| is_key(wanted, key))))
    }

    fn selects_author(&self, by: &By) -> bool {
        self.user.as_ref().is_none_or(|user| is_user(user, by))
            && self.program.as_ref().is_none_or(|program| is_program(program, by))
    }

    fn selects_version(&self, entry: &Entry) -> bool {
        let Some(version) = &self.version else { return true };
        let reads = entry.reconcile.iter().flat_map(|own| &own.read).filter_map(|read| read.version.as_ref());
        let own = entry.version.iter().chain(entry.writes.iter().filter_map(|write| write.version.as_ref()));
        own.chain(reads).any(|own| own == version)
    }
}

/// Whether it is the doing of a user, under the own name or another's: `jane (impersonated by admin)`.
pub(super) fn is_user(wanted: &str, by: &By) -> bool {
    let Some(user) = &by.user else { return false };
    let both = user.strip_suffix(')').and_then(|user| user.split_once(" (impersonated by "));
    is_like(wanted, user) || both.is_some_and(|(user, by)| is_like(wanted, user) || is_like(wanted, by))
}

/// Whether it is the doing of a program, whose version may be left out.
pub(super) fn is_program(wanted: &str, by: &By) -> bool {
    let mut names = by.programs().flat_map(|name| [Some(name), name.split_once('/').map(|(name, _)| name)]).flatten();
    names.any(|name| is_like(wanted, name))
}

pub(super) fn namespace_of(key: &str) -> Option<&str> {
    key.split_once('/').map(|(namespace, _)| namespace)
}

/// Whether a key is wanted. A pattern without a namespace is of any.
pub(super) fn is_key(wanted: &str, key: &str) -> bool {
    let name = || key.rsplit_once('/').map_or(key, |(_, name)| name);
    if wanted.contains('/') { is_like(wanted, key) } else { is_like(wanted, name()) }
}

/// Whether a text is like a pattern, in which `*` stands for any characters, and `?` for one.
fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen, mut back) = (0, 0, None);
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                back = Some((at + 1, seen));
                at += 1;
            }
            Some(c) if *c == '?' || *c == text[seen] => (at, seen) = (at + 1, seen + 1),
            // The last `*` takes one character more.
            _ => match back {
                Some((behind, from)) => {
                    (at, seen) = (behind, from + 1);
                    back = Some((behind, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("web/c500", "web/c500", true),
            ("web/c5*", "web/c500", true),
            ("*", "", true),
            ("*/c5?0", "web/c500", true),
            ("*a*b", "xaybxb", true),
            ("web/c500", "web/c5000", false),
            ("?", "", false),
            ("*a*b", "xaybx", false),
        ] {
            assert_eq!(is_like(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!is_like(&"*a".repeat(1_000), &"a".repeat(999)), "it takes no time to say so");
    }
}
