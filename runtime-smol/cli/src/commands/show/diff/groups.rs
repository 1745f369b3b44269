//! Equal differences, together.

use crate::arguments::Format;
use crate::commands::show::entry::Entry;
use crate::commands::show::lines::{author, shown};
use crate::output::changes::Held;
use listwatch::text::Printable;
use serde::Serialize;
use std::collections::HashMap;

/// The groups that are kept.
const MOST_GROUPS: usize = 1000;
/// The keys that a group names, for people and for programs.
const NAMED: [usize; 2] = [3, 1000];
/// The characters of a value, for people and for programs.
const VALUE: [usize; 2] = [80, 1024];
/// What stands for a value that is too long or a secret.
const NOT_SHOWN: &str = "(not shown)";

/// What differences of objects are called.
pub(super) const OBJECTS: &str = "objects";

/// A difference without its object.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) struct Difference {
    /// Objects, or a part of the time line.
    pub(super) what: &'static str,
    /// The field, or those of the write.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) field: String,
    pub(super) difference: How,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) a: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) b: Option<String>,
    /// Such as `PATCH`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) event: String,
    pub(super) resource: String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum How {
    OnlyA,
    OnlyB,
    #[default]
    Value,
    Order,
}

/// The objects with a difference.
#[derive(Default, Serialize)]
pub(super) struct Group {
    /// How often it is there.
    times: u64,
    objects: u64,
    keys: Vec<String>,
    causes: Causes,
    #[serde(skip)]
    last: String,
}

/// Those of the first object.
#[derive(Default, Serialize)]
struct Causes {
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<Entry>,
}

/// A group as a line of JSON.
#[derive(Serialize)]
pub(super) struct Line<'g> {
    #[serde(flatten)]
    pub(super) difference: &'g Difference,
    #[serde(flatten)]
    pub(super) group: &'g Group,
}

/// All differences.
pub(super) struct Groups {
    form: usize,
    groups: HashMap<Difference, Group>,
    /// Differences that have no place in a group.
    pub(super) others: u64,
}

impl Groups {
    pub(super) fn new(format: Format) -> Self {
        Self { form: usize::from(format == Format::Json), groups: HashMap::new(), others: 0 }
    }

    /// The characters of a value that is shown.
    pub(super) fn value(&self) -> usize {
        VALUE[self.form]
    }

    /// A value as far as it is shown.
    pub(super) fn told(&self, held: Option<&Held>) -> Option<String> {
        match held? {
            Held::Nothing => None,
            Held::Value(text) if text.chars().count() <= self.value() => Some(Printable::new(text).to_string()),
            _ => Some(NOT_SHOWN.to_owned()),
        }
    }

    /// Adds a difference of an object.
    pub(super) fn add(&mut self, difference: Difference, key: &str, causes: [Option<&Entry>; 2]) {
        if self.groups.len() >= MOST_GROUPS && !self.groups.contains_key(&difference) {
            self.others += 1;
            return;
        }
        let group = self.groups.entry(difference).or_default();
        if group.times == 0 {
            let [a, b] =
                causes.map(|cause| Some(Entry { changes: Vec::new(), answered: Vec::new(), ..cause?.clone() }));
            group.causes = Causes { a, b };
        }
        // Those of an object come one after the other.
        if group.times == 0 || group.last != key {
            group.objects += 1;
            key.clone_into(&mut group.last);
            group.keys.extend((group.keys.len() < NAMED[self.form]).then(|| key.to_owned()));
        }
        group.times += 1;
    }

    /// The differences of objects, then those of the time line; the most frequent first.
    pub(super) fn sorted(&self) -> Vec<Line<'_>> {
        let mut all: Vec<_> = self.groups.iter().map(|(difference, group)| Line { difference, group }).collect();
        let rank =
            |line: &Line<'_>| (line.difference.what != OBJECTS, line.difference.what, u64::MAX - line.group.objects);
        all.sort_unstable_by(|one, other| {
            rank(one).cmp(&rank(other)).then_with(|| one.difference.cmp(other.difference))
        });
        all
    }
}

impl Line<'_> {
    /// The lines for people: the field first, the causes last.
    pub(super) fn lines(&self) -> Vec<String> {
        let Group { times, objects, keys, causes, .. } = self.group;
        let Difference { event, resource, .. } = self.difference;
        let mut names: Vec<String> = keys.iter().map(|key| shown(key)).collect();
        let more = objects - keys.len() as u64;
        names.extend((more > 0).then(|| format!("and {more} more")));
        let times = if times > objects { format!("{times} times, ") } else { String::new() };
        let event = if event.is_empty() { String::new() } else { format!("{} of ", shown(event)) };
        let (resource, names) = (shown(resource), names.join(", "));
        let mut lines = vec![format!("  {}  ({times}{event}{objects} {resource}: {names})", self.head())];
        let causes = [("A", &causes.a), ("B", &causes.b)];
        lines
            .extend(causes.iter().filter_map(|(side, cause)| Some(format!("      {side}: {}", made(cause.as_ref()?)))));
        lines
    }

    fn head(&self) -> String {
        let Difference { field, difference, a, b, .. } = self.difference;
        let words = match (difference, a.as_deref(), b.as_deref()) {
            (How::OnlyA, ..) => "only in A".to_owned(),
            (How::OnlyB, ..) => "only in B".to_owned(),
            (How::Order, ..) => "in another order".to_owned(),
            (How::Value, Some(NOT_SHOWN), Some(NOT_SHOWN)) => "differs".to_owned(),
            (How::Value, a, b) => format!("{} in A, {} in B", a.unwrap_or("none"), b.unwrap_or("none")),
        };
        if field.is_empty() { words } else { format!("{field}: {words}") }
    }
}

/// What made a value, and when.
fn made(cause: &Entry) -> String {
    let time = cause.time.clone().unwrap_or_else(|| format!("{:.3}s", cause.after));
    let what = [&cause.event, cause.key.as_deref().unwrap_or_default()].map(shown).join(" ");
    let message = cause.message.as_deref().map(shown);
    [time, what].into_iter().chain(author(&cause.by)).chain(message).collect::<Vec<_>>().join("  ")
}
