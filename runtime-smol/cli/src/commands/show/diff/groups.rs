//! Equal differences, together.

use super::inquiry::Cause;
use crate::arguments::Format;
use crate::commands::show::entry::Sort;
use crate::commands::show::lines::shown;
use crate::output::changes::Held;
use listwatch::text::Printable;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// The groups that are kept.
const MOST_GROUPS: usize = 10_000;
/// The keys that a group names, for people and for programs.
const NAMED: [usize; 2] = [3, 1000];
/// The characters of a value, for people and for programs.
const VALUE: [usize; 2] = [80, 1024];

/// A difference without its object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Difference {
    pub(super) what: What,
    /// The field, or those of the write.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) field: String,
    #[serde(flatten)]
    pub(super) how: How,
    /// Such as `PATCH`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) event: String,
    pub(super) resource: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum What {
    Object,
    #[serde(untagged)]
    Step(Sort),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase", tag = "difference")]
pub(super) enum How {
    #[serde(rename = "onlyA")]
    OnlyA,
    #[serde(rename = "onlyB")]
    OnlyB,
    Values {
        a: Told,
        b: Told,
    },
    Order,
}

/// A value as far as it is shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub(super) enum Told {
    Value(String),
    Some(NotShown),
    None(()),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) enum NotShown {
    #[serde(rename = "(not shown)")]
    It,
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
    a: Option<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<Cause>,
}

/// All differences.
pub(super) struct Groups {
    form: usize,
    groups: HashMap<Difference, Group>,
    /// Differences that have no place in a group.
    pub(super) others: u64,
}

/// A group as a line of JSON.
#[derive(Serialize)]
pub(super) struct Line<'g> {
    #[serde(flatten)]
    pub(super) difference: &'g Difference,
    #[serde(flatten)]
    pub(super) group: &'g Group,
}

impl Groups {
    pub(super) fn new(format: Format) -> Self {
        Self { form: usize::from(format == Format::Json), groups: HashMap::new(), others: 0 }
    }

    /// A value of this length, for people or for programs.
    pub(super) fn told(&self, held: Option<&Held>) -> Told {
        match held {
            None | Some(Held::Nothing) => Told::None(()),
            Some(Held::Value(text)) if text.chars().count() <= VALUE[self.form] => {
                Told::Value(Printable::new(text).to_string())
            }
            Some(_) => Told::Some(NotShown::It),
        }
    }

    pub(super) fn value(&self) -> usize {
        VALUE[self.form]
    }

    /// Adds a difference of an object.
    pub(super) fn add(&mut self, difference: Difference, key: &str, causes: impl FnOnce() -> [Option<Cause>; 2]) {
        if self.groups.len() >= MOST_GROUPS && !self.groups.contains_key(&difference) {
            self.others += 1;
            return;
        }
        let group = self.groups.entry(difference).or_default();
        if group.times == 0 {
            let [a, b] = causes();
            group.causes = Causes { a, b };
        }
        group.times += 1;
        // Those of an object come one after the other.
        if group.objects == 0 || group.last != key {
            group.objects += 1;
            key.clone_into(&mut group.last);
            if group.keys.len() < NAMED[self.form] {
                group.keys.push(key.to_owned());
            }
        }
    }

    /// The differences of objects, then those of steps; the most frequent first.
    pub(super) fn sorted(&self) -> Vec<(&Difference, &Group)> {
        let mut all: Vec<_> = self.groups.iter().collect();
        all.sort_unstable_by(|(one, a), (other, b)| {
            one.what.cmp(&other.what).then(b.objects.cmp(&a.objects)).then_with(|| one.cmp(other))
        });
        all
    }
}

impl What {
    /// What stands above its groups.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Object => "objects at the end:",
            Self::Step(Sort::Change) => "changes:",
            Self::Step(Sort::Reconcile) => "reconciles:",
            Self::Step(Sort::Write) => "writes:",
            Self::Step(Sort::Failure) => "failures:",
            Self::Step(Sort::Lease) => "leases:",
        }
    }
}

/// The lines of a group for people.
pub(super) fn lines(difference: &Difference, group: &Group) -> Vec<String> {
    let Difference { field, how, event, resource, .. } = difference;
    let head = match how {
        How::Values { a: Told::Some(_), b: Told::Some(_) } => format!("{field}: differs"),
        How::Values { a, b } => format!("{field}: {a} in A, {b} in B"),
        How::OnlyA | How::OnlyB | How::Order => {
            let field = if field.is_empty() { String::new() } else { format!("{field}: ") };
            let words = match how {
                How::OnlyA => "only in A",
                How::OnlyB => "only in B",
                _ => "in another order",
            };
            field + words
        }
    };
    let mut keys: Vec<String> = group.keys.iter().map(|key| shown(key)).collect();
    let more = group.objects - keys.len() as u64;
    keys.extend((more > 0).then(|| format!("and {more} more")));
    let times = if group.times > group.objects { format!("{} times, ", group.times) } else { String::new() };
    let event = if event.is_empty() { String::new() } else { format!("{} of ", shown(event)) };
    let mut lines =
        vec![format!("  {head}  ({times}{event}{} {}: {})", group.objects, shown(resource), keys.join(", "))];
    let causes = [("A", &group.causes.a), ("B", &group.causes.b)];
    lines.extend(causes.into_iter().filter_map(|(side, cause)| Some(format!("      {side}: {}", cause.as_ref()?))));
    lines
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(text) => f.write_str(text),
            Self::Some(_) => f.write_str("a value that is not shown"),
            Self::None(()) => f.write_str("none"),
        }
    }
}
